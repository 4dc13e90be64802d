package main

import (
	"context"

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

func scale(ctx context.Context, p program, f fleet, o options, progress func(string)) ([]Scale, error) {
	cases := scaleCases(o)
	all, err := measureCases(ctx, p, f, "scale", cases, progress)
	if err != nil {
		return nil, err
	}
	result := make([]Scale, len(cases))
	var base []float64
	for i, c := range cases {
		result[i] = Scale{Servers: c.servers, Keys: c.task.Keys, Workers: c.task.Workers}
		result[i].Cycles, result[i].Rounds = joined(all[i], func(r client.Result) client.Cycles { return *r.Cycles })
		if c.servers == servers && c.task.Keys == 0 {
			base = result[i].Rounds["cycles_per_second"]
		}
	}
	for i := range result {
		ratios := stats.Ratios(result[i].Rounds["cycles_per_second"], base)
		result[i].Ratio = stats.Median(ratios)
		result[i].RatioLow, result[i].RatioHigh = stats.Interval(ratios)
	}
	return result, nil
}

// joined combines the rounds of one case.
func joined[T any](results []client.Result, of func(client.Result) T) (T, stats.Rounds) {
	all := make([]T, len(results))
	for i, r := range results {
		all[i] = of(r)
	}
	return stats.Join(all), stats.RoundsOf(all)
}

// Waiters is the cost of handing one lock from waiter to waiter in one process.
type Waiters struct {
	Waiting int `json:"waiters"`
	client.Waiters
	Low    float64      `json:"handoffs_low"` // the interval of the hand-offs per second
	High   float64      `json:"handoffs_high"`
	Rounds stats.Rounds `json:"rounds,omitempty"`
}

func waiting(ctx context.Context, p program, f fleet, o options, progress func(string)) ([]Waiters, error) {
	cases := waitersCases(o)
	all, err := measureCases(ctx, p, f, "waiters", cases, progress)
	if err != nil {
		return nil, err
	}
	result := make([]Waiters, len(cases))
	for i, c := range cases {
		result[i].Waiters, result[i].Rounds = joined(all[i], func(r client.Result) client.Waiters { return *r.Waiters })
		result[i].Waiting = c.task.Workers
		result[i].Low, result[i].High = stats.Interval(result[i].Rounds["handoffs_per_second"])
	}
	return result, nil
}

// Held is the cost of leases that are kept alive.
type Held struct {
	client.Held
	Rounds stats.Rounds `json:"rounds,omitempty"`
}

func held(ctx context.Context, p program, f fleet, o options, progress func(string)) ([]Held, error) {
	cases := heldCases(o)
	all, err := measureCases(ctx, p, f, "held", cases, progress)
	if err != nil {
		return nil, err
	}
	result := make([]Held, len(cases))
	for i := range cases {
		result[i].Held, result[i].Rounds = joined(all[i], func(r client.Result) client.Held { return *r.Held })
	}
	return result, nil
}
