package main

import (
	"slices"
	"time"
)

// quantile gives the q-th part of sorted times, q from 0 to 1; 0 if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// median gives the middle one of some values; 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// medianOf gives the median of one field over several measurements.
func medianOf[T any](all []T, field func(T) float64) float64 {
	values := make([]float64, len(all))
	for i, one := range all {
		values[i] = field(one)
	}
	return median(values)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
