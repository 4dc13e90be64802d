package simulation

import (
	"encoding/json"

	"github.com/redquorum/redlock/quorum"
)

// writtenConfig is a Config as JSON. It hides the fields that are no plain data.
type writtenConfig struct {
	plainConfig
	Quorum writtenQuorum
}

type plainConfig Config

type writtenQuorum struct {
	plainQuorum
	Hooks *struct{} `json:",omitempty"`
	Lab   writtenLab
}

type plainQuorum quorum.Config

type writtenLab struct {
	plainLab
	Clock, Random *struct{} `json:",omitempty"`
}

type plainLab quorum.Lab

func written(c Config) writtenConfig {
	return writtenConfig{plainConfig(c), writtenQuorum{plainQuorum: plainQuorum(c.Quorum), Lab: writtenLab{plainLab: plainLab(c.Quorum.Lab)}}}
}

// MarshalJSON writes the Config's fields by their names, and times in nanoseconds. It leaves
// out what is no plain data: Locker, Scripts, and Quorum's Hooks, Lab.Clock and Lab.Random.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(written(c)) }

// UnmarshalJSON reads the output of MarshalJSON. Fields that are not in it keep their
// values.
func (c *Config) UnmarshalJSON(text []byte) error {
	w := written(*c)
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*c = Config(w.plainConfig)
	c.Quorum = quorum.Config(w.Quorum.plainQuorum)
	c.Quorum.Lab = quorum.Lab(w.Quorum.Lab.plainLab)
	return nil
}
