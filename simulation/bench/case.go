package main

import "encoding/json"

// Case is something to measure.
type Case struct {
	Contender string `json:"contender"`
	Servers   int    `json:"servers"`
	// State is that of one server: "healthy", "slow", "hung" or "killed". Empty: healthy.
	State     string `json:"state,omitempty"`
	Processes int    `json:"processes"`
	// Workers of each process acquire and release, each the key of its own, or one of so many Keys.
	Workers int `json:"workers,omitempty"`
	Keys    int `json:"keys,omitempty"`
	// Or Leases are kept alive.
	Leases int `json:"leases,omitempty"`

	once bool // it is measured in the first round alone
}

// What a faulty server is.
const (
	slow   = "slow"
	hung   = "hung"
	killed = "killed"
)

func (c Case) String() string {
	text, _ := json.Marshal(c) // it has texts and numbers alone
	return string(text)
}
