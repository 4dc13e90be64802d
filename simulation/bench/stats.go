package main

import (
	"reflect"
	"slices"
	"time"
)

// quantile returns the q-quantile of sorted times, q from 0 to 1; 0 if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// median returns the upper median; 0 if there are no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// join combines several measurements, field by field. A tag says how: join:"median", "max" or
// "sum". Other fields are those of the first measurement.
func join[T any](all []T) T {
	joined := all[0]
	for i, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		how := field.Tag.Get("join")
		if how == "" {
			continue
		}
		values := make([]float64, len(all))
		for n := range all {
			of := reflect.ValueOf(all[n]).Field(i)
			if of.CanInt() {
				values[n] = float64(of.Int())
			} else {
				values[n] = of.Float()
			}
		}
		value := median(values)
		switch how {
		case "max":
			value = slices.Max(values)
		case "sum":
			value = 0
			for _, v := range values {
				value += v
			}
		}
		if to := reflect.ValueOf(&joined).Elem().Field(i); to.CanInt() {
			to.SetInt(int64(value))
		} else {
			to.SetFloat(value)
		}
	}
	return joined
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
