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
	Clock, Random, Hooks *struct{} `json:",omitempty"`
}

type plainQuorum quorum.Config

// MarshalJSON writes the Config's fields by their names, and times in nanoseconds. It leaves
// out what is no plain data: Locker, Scripts, and Quorum's Clock, Random and Hooks.
func (c Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(writtenConfig{plainConfig(c), writtenQuorum{plainQuorum: plainQuorum(c.Quorum)}})
}

// UnmarshalJSON reads the output of MarshalJSON. Fields that are not in it keep their
// values.
func (c *Config) UnmarshalJSON(text []byte) error {
	w := writtenConfig{plainConfig(*c), writtenQuorum{plainQuorum: plainQuorum(c.Quorum)}}
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*c = Config(w.plainConfig)
	c.Quorum = quorum.Config(w.Quorum.plainQuorum)
	return nil
}
