// Package stats has the arithmetic of the measurements.
package stats

import (
	"reflect"
	"slices"
	"time"
)

// Quantile returns the q-quantile of sorted times, q from 0 to 1; 0 if there are none.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// Median returns the median, which is between the two middle values if there is no middle one;
// 0 if there are no values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Join combines the measurements of several rounds, field by field. A tag says how:
// join:"median", "max" or "sum". Other fields are those of the first measurement.
func Join[T any](all []T) T {
	joined := all[0]
	to := reflect.ValueOf(&joined).Elem()
	for i, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		how := field.Tag.Get("join")
		if how == "" {
			continue
		}
		values := Each(all, func(one T) float64 { return number(reflect.ValueOf(one).Field(i)) })
		value := Median(values)
		switch how {
		case "max":
			value = slices.Max(values)
		case "sum":
			value = 0
			for _, v := range values {
				value += v
			}
		}
		if to.Field(i).CanInt() {
			to.Field(i).SetInt(int64(value))
		} else {
			to.Field(i).SetFloat(value)
		}
	}
	return joined
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// Each returns a figure of each measurement.
func Each[T any](all []T, of func(T) float64) []float64 {
	values := make([]float64, len(all))
	for i, one := range all {
		values[i] = of(one)
	}
	return values
}

// Ratio is how one is to the other: the median of the ratios of each round, the smallest and the largest.
type Ratio struct {
	Ratio float64 `json:"ratio,omitempty"`
	Low   float64 `json:"ratio_low,omitempty"`
	High  float64 `json:"ratio_high,omitempty"`
}

// RatioOf divides the values of one by those of the other, round by round. A round in which the
// other has 0 has no ratio.
func RatioOf(one, other []float64) (r Ratio) {
	var ratios []float64
	for i := range min(len(one), len(other)) {
		if other[i] != 0 {
			ratios = append(ratios, one[i]/other[i])
		}
	}
	if len(ratios) > 0 {
		r = Ratio{Median(ratios), slices.Min(ratios), slices.Max(ratios)}
	}
	return r
}

// Micros returns a time in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Millis returns a time in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
