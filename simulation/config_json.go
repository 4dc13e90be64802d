package simulation

import (
	"encoding/json"

	"github.com/redquorum/redlock/quorum"
)

// writtenConfig is a Config as JSON: field by field, with what is no plain data
// covered up.
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

// MarshalJSON writes the Config's fields by their names, times in nanoseconds.
// Locker isn't plain data and is left out, as are Quorum's Clock, Random and Hooks.
func (c Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(writtenConfig{plainConfig(c), writtenQuorum{plainQuorum: plainQuorum(c.Quorum)}})
}

// UnmarshalJSON reads what MarshalJSON wrote. What isn't named there keeps its
// value, Locker among it.
func (c *Config) UnmarshalJSON(text []byte) error {
	w := writtenConfig{plainConfig(*c), writtenQuorum{plainQuorum: plainQuorum(c.Quorum)}}
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*c = Config(w.plainConfig)
	c.Quorum = quorum.Config(w.Quorum.plainQuorum)
	return nil
}
