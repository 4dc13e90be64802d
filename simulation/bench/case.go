package main

import (
	"encoding/json"
	"time"

	"github.com/redquorum/redlock/simulation/internal/origin"
)

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

	Long time.Duration `json:"-"` // how long the measurement takes; also the TTL of Leases
	Hold time.Duration `json:"-"` // how long a holder keeps the lock

	once bool // it is measured only in the first round
}

// What a faulty server is.
const (
	slow   = "slow"
	hung   = "hung"
	killed = "killed"
)

func (c Case) String() string {
	text, _ := json.Marshal(c) // it has only texts and numbers
	return string(text)
}

// Results are the results of all measurements, and how they were measured.
type Results struct {
	origin.Origin
	Server  string           `json:"server"`
	Go      string           `json:"go"`
	Rounds  int              `json:"rounds"`
	Seconds float64          `json:"seconds"` // of a measurement; leases are held for a TTL
	Parts   map[string][]Row `json:"parts"`
}

// Row is what was measured of a case.
type Row struct {
	Case
	Figures figures `json:"figures"` // medians of the rounds
	// Ratios are those to the first case of its group, by the figure.
	Ratios map[string]Ratio `json:"ratios"`
}
