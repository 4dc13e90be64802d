package main

import (
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation/bench/client"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Against is a comparison of two checkouts of this library.
type Against struct {
	This    string       `json:"this"` // the commits
	Other   string       `json:"other"`
	Figures []Comparison `json:"figures"`
}

// Comparison is one figure of both.
type Comparison struct {
	Part   string  `json:"part"`
	What   string  `json:"what"`
	Figure string  `json:"figure"`
	This   float64 `json:"this"` // medians
	Other  float64 `json:"other"`
	// Ratio is This over Other: the median of the ratios of each round. Low and High are its
	// interval. There is none if Other is 0 in all rounds, and none of failures.
	Ratio       float64   `json:"ratio,omitempty"`
	Low         float64   `json:"ratio_low,omitempty"`
	High        float64   `json:"ratio_high,omitempty"`
	RoundsThis  []float64 `json:"rounds_this"`
	RoundsOther []float64 `json:"rounds_other"`
}

// figure is one figure of a measurement: its key in the results, and its name.
type figure struct{ key, name string }

// figures are the figures to compare of each part.
var figures = map[string][]figure{
	"throughput": cycleFigures,
	"scale":      cycleFigures,
	"held": {
		{"heap_bytes_per_lease", "heap bytes/lease"}, {"stack_bytes_per_lease", "stack bytes/lease"}, {"goroutines_most", "most goroutines"},
		{"client_cpu_cores", "client CPU, cores"}, {"server_cpu_cores", "servers' CPU, cores"}, {"leases_lost", "leases lost"},
	},
}

var cycleFigures = []figure{
	{"cycles_per_second", "cycles/s"}, {"p50_us", "p50 µs"}, {"p99_us", "p99 µs"}, {"client_cpu_us_per_cycle", "client CPU µs/cycle"},
	{"server_cpu_us_per_cycle", "servers' CPU µs/cycle"}, {"allocs_per_cycle", "allocations/cycle"}, {"failed", "failed"},
}

// against measures two programs. The other is measured right before or after this one, so that
// both have the same load on the machine beside them.
func against(m measurement, other program) (*Against, error) {
	result := &Against{This: m.client.version, Other: other.version}
	both := []program{m.client, other}
	for _, part := range ownParts {
		if !slices.Contains(m.options.parts, part.name) {
			continue
		}
		for _, c := range part.cases(m.options) {
			all, err := inTurns(c.rounds, len(both), func(round, i int) (client.Result, error) {
				m.progress(fmt.Sprintf("%s, %s, round %d of %d: %s", part.name, c.what, round+1, c.rounds, both[i].version))
				return measureOwn(m.ctx, both[i], m.fleet, c)
			})
			if err != nil {
				return nil, err
			}
			result.compare(part.name, c.what, roundsOf(all[0]), roundsOf(all[1]))
		}
	}
	return result, nil
}

// roundsOf returns the figures of whatever was measured.
func roundsOf(all []client.Result) stats.Rounds {
	var rounds stats.Rounds
	switch {
	case all[0].Cycles != nil:
		_, rounds = joined(all, func(r client.Result) client.Cycles { return *r.Cycles })
	case all[0].Held != nil:
		_, rounds = joined(all, func(r client.Result) client.Held { return *r.Held })
	}
	return rounds
}

func (a *Against) compare(part, what string, this, other stats.Rounds) {
	for _, f := range figures[part] {
		one := Comparison{
			Part: part, What: what, Figure: f.name, RoundsThis: this[f.key], RoundsOther: other[f.key],
			This: stats.Median(this[f.key]), Other: stats.Median(other[f.key]),
		}
		if f.key != "failed" && f.key != "leases_lost" { // the ratio of accidents says nothing
			ratios := stats.Ratios(one.RoundsThis, one.RoundsOther)
			one.Ratio = stats.Median(ratios)
			one.Low, one.High = stats.Interval(ratios)
		}
		a.Figures = append(a.Figures, one)
	}
}
