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
		values := figure(all, i)
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

// Comparison is one figure of two things that were measured in the same rounds.
type Comparison struct {
	Figure string  `json:"figure"` // its name in JSON
	This   float64 `json:"this"`   // medians
	Other  float64 `json:"other"`
	// Ratio is This over Other. There is none if Other is 0 in all rounds, and none of failures.
	Ratio
}

// Compare compares the fields with a tag as for Join. Those that Join adds up count failures.
func Compare[T any](this, other []T) (all []Comparison) {
	for i, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		how := field.Tag.Get("join")
		if how == "" {
			continue
		}
		one, two := figure(this, i), figure(other, i)
		c := Comparison{Figure: field.Tag.Get("json"), This: Median(one), Other: Median(two)}
		if how != "sum" {
			c.Ratio = RatioOf(one, two)
		}
		all = append(all, c)
	}
	return all
}

// figure is a field of each measurement.
func figure[T any](all []T, field int) []float64 {
	return Each(all, func(one T) float64 { return number(reflect.ValueOf(one).Field(field)) })
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// Each returns something of each measurement.
func Each[T, V any](all []T, of func(T) V) []V {
	values := make([]V, len(all))
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
