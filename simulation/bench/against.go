package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation/bench/client"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Against is a comparison of two checkouts of this library.
type Against struct {
	This    string       `json:"this"` // the commits
	Other   string       `json:"other"`
	Counter string       `json:"instructions_counted_by,omitempty"`
	Omitted string       `json:"omitted,omitempty"` // why something was not measured
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
	"waiters": {
		{"handoffs_per_second", "hand-offs/s"}, {"client_cpu_us_per_handoff", "client CPU µs/hand-off"},
		{"server_cpu_us_per_handoff", "servers' CPU µs/hand-off"}, {"failed", "failed"},
	},
	"held": {
		{"heap_bytes_per_lease", "heap bytes/lease"}, {"stack_bytes_per_lease", "stack bytes/lease"}, {"goroutines_most", "most goroutines"},
		{"client_cpu_cores", "client CPU, cores"}, {"server_cpu_cores", "servers' CPU, cores"}, {"leases_lost", "leases lost"},
	},
	"instructions": {{"instructions_per_cycle", "instructions/cycle"}},
}

var cycleFigures = []figure{
	{"cycles_per_second", "cycles/s"}, {"p50_us", "p50 µs"}, {"p99_us", "p99 µs"}, {"client_cpu_us_per_cycle", "client CPU µs/cycle"},
	{"client_user_cpu_us_per_cycle", "of it in user mode"}, {"server_cpu_us_per_cycle", "servers' CPU µs/cycle"}, {"allocs_per_cycle", "allocations/cycle"}, {"failed", "failed"},
}

// against measures two programs. The other is measured right before or after this one, so that
// both have the same load on the machine beside them.
func against(ctx context.Context, this, other program, f fleet, o options, progress func(string)) (*Against, error) {
	result := &Against{This: this.version, Other: other.version}
	both := []program{this, other}
	for _, part := range ownParts {
		if !slices.Contains(o.parts, part.name) {
			continue
		}
		for _, c := range part.cases(o) {
			all, err := inTurns(c.rounds, len(both), func(round, i int) (client.Result, error) {
				progress(fmt.Sprintf("%s, %s, round %d of %d: %s", part.name, c.what, round+1, c.rounds, both[i].version))
				return measureOwn(ctx, both[i], f, c)
			})
			if err != nil {
				return nil, err
			}
			result.compare(part.name, c.what, roundsOf(all[0]), roundsOf(all[1]))
		}
	}
	if !slices.Contains(o.parts, "instructions") {
		return result, nil
	}
	tool, err := findCounter(ctx)
	if errors.Is(err, errNoCounter) {
		result.Omitted = err.Error()
		return result, nil
	} else if err != nil {
		return nil, err
	}
	result.Counter = tool.name
	for _, workers := range o.counted {
		all, err := inTurns(o.times, len(both), func(round, i int) (Instructions, error) {
			progress(fmt.Sprintf("instructions, %d workers, round %d of %d: %s", workers, round+1, o.times, both[i].version))
			n, err := tool.instructionsPerCycle(ctx, both[i], f[:servers], workers, o.quick)
			return Instructions{Workers: workers, PerCycle: n}, err
		})
		if err != nil {
			return nil, err
		}
		result.compare("instructions", count(workers, "worker"), stats.RoundsOf(all[0]), stats.RoundsOf(all[1]))
	}
	return result, nil
}

// roundsOf returns the figures of whatever was measured.
func roundsOf(all []client.Result) stats.Rounds {
	var rounds stats.Rounds
	switch {
	case all[0].Cycles != nil:
		_, rounds = joined(all, func(r client.Result) client.Cycles { return *r.Cycles })
	case all[0].Waiters != nil:
		_, rounds = joined(all, func(r client.Result) client.Waiters { return *r.Waiters })
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
