package main

import (
	"maps"
	"math"
	"slices"
	"time"
)

// figures are what was measured, by their names in the output.
type figures map[string]float64

// figuresOf computes the figures of a case from what its processes return, and the processor time of its servers while
// some time elapsed.
func figuresOf(c Case, results []Result, serverCPU, elapsed time.Duration) figures {
	if c.Leases > 0 {
		r := results[0]
		return figures{
			"heap_bytes_per_lease": r.Heap / float64(c.Leases),
			"client_cpu_cores":     r.CPU.Seconds() / r.Elapsed.Seconds(),
			"server_cpu_cores":     serverCPU.Seconds() / elapsed.Seconds(),
			"acquired_in_seconds":  r.Acquired.Seconds(),
			"leases_lost":          float64(r.Lost),
		}
	}
	var cycles []time.Duration
	var took, longest, clientCPU time.Duration
	var mallocs uint64
	failed, goroutines := 0, 0
	fewest, most := math.MaxInt, 0
	for _, r := range results {
		for _, worker := range r.Cycles {
			cycles = append(cycles, worker...)
			fewest, most = min(fewest, len(worker)), max(most, len(worker))
		}
		took, longest, goroutines = max(took, r.Elapsed), max(longest, r.Longest), max(goroutines, r.Goroutines)
		clientCPU, mallocs, failed = clientCPU+r.CPU, mallocs+r.Mallocs, failed+r.Failed
	}
	slices.Sort(cycles)
	n := float64(max(1, len(cycles)))
	return figures{
		"cycles_per_second":       float64(len(cycles)) / took.Seconds(),
		"p50_us":                  micros(quantile(cycles, 0.5)),
		"p99_us":                  micros(quantile(cycles, 0.99)),
		"wait_longest_ms":         micros(longest) / 1000,
		"fewest_turns":            float64(fewest),
		"most_turns":              float64(most),
		"client_cpu_us_per_cycle": micros(clientCPU) / n,
		"server_cpu_us_per_cycle": micros(serverCPU) / n,
		"allocs_per_cycle":        float64(mallocs) / n,
		"goroutines":              float64(goroutines),
		"failed":                  float64(failed),
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// quantile returns the q-quantile of sorted times, q from 0 to 1; 0 if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// joined has the medians of all rounds, but the sum of failures, and the largest number of goroutines.
func joined(rounds []figures) figures {
	all := figures{}
	for name := range rounds[0] {
		values := each(rounds, name)
		switch name {
		case "failed", "leases_lost":
			for _, v := range values {
				all[name] += v
			}
		case "goroutines":
			all[name] = slices.Max(values)
		default:
			all[name] = median(values)
		}
	}
	return all
}

// Ratio is how one figure is to another: the median of the ratios of each round, the smallest and the largest.
type Ratio struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// ratios divides the figures of one case by those of another, round by round. A figure of which the other
// has 0 in all rounds has no ratio.
func ratios(rounds, others []figures) map[string]Ratio {
	all := map[string]Ratio{}
	for name := range maps.Keys(rounds[0]) {
		var of []float64
		for i, value := range each(rounds, name)[:min(len(rounds), len(others))] {
			if other := others[i][name]; other != 0 {
				of = append(of, value/other)
			}
		}
		if len(of) > 0 {
			all[name] = Ratio{median(of), slices.Min(of), slices.Max(of)}
		}
	}
	return all
}

// each is a figure of each round.
func each(rounds []figures, name string) (values []float64) {
	for _, f := range rounds {
		values = append(values, f[name])
	}
	return values
}

// median is between the two middle values if there is no middle one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
