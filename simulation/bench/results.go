package main

import "github.com/redquorum/redlock/simulation/internal/origin"

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
