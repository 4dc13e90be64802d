package main

import (
	"github.com/redquorum/redlock/simulation/bench/client"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Scale is the throughput of many workers with a number of servers, and of keys.
type Scale struct {
	Servers int `json:"servers"`
	Keys    int `json:"keys"` // 0: a key for each worker, otherwise each acquisition takes a random one
	Workers int `json:"workers"`
	client.Cycles
	// Ratio is the cycles per second divided by those of five servers and a key for each
	// worker, in the same round.
	Ratio     float64      `json:"ratio"`
	RatioLow  float64      `json:"ratio_low"`
	RatioHigh float64      `json:"ratio_high"`
	Rounds    stats.Rounds `json:"rounds,omitempty"`
}

func measuredScale(m measurement, results *Results) error {
	cases := scaleCases(m.options)
	all, err := m.cases("scale", cases)
	if err != nil {
		return err
	}
	var base []float64
	for i, c := range cases {
		one := Scale{Servers: c.servers, Keys: c.task.Keys, Workers: c.task.Workers}
		one.Cycles, one.Rounds = joined(all[i], func(r client.Result) client.Cycles { return *r.Cycles })
		if c.servers == servers && c.task.Keys == 0 {
			base = one.Rounds["cycles_per_second"]
		}
		results.Scale = append(results.Scale, one)
	}
	for i := range results.Scale {
		one := &results.Scale[i]
		ratios := stats.Ratios(one.Rounds["cycles_per_second"], base)
		one.Ratio = stats.Median(ratios)
		one.RatioLow, one.RatioHigh = stats.Interval(ratios)
	}
	return nil
}

// joined combines the rounds of one case.
func joined[T any](results []client.Result, of func(client.Result) T) (T, stats.Rounds) {
	all := make([]T, len(results))
	for i, r := range results {
		all[i] = of(r)
	}
	return stats.Join(all), stats.RoundsOf(all)
}

// Held is the cost of leases that are kept alive.
type Held struct {
	client.Held
	Rounds stats.Rounds `json:"rounds,omitempty"`
}

func measuredHeld(m measurement, results *Results) error {
	all, err := m.cases("held", heldCases(m.options))
	for _, of := range all {
		var one Held
		one.Held, one.Rounds = joined(of, func(r client.Result) client.Held { return *r.Held })
		results.Held = append(results.Held, one)
	}
	return err
}
