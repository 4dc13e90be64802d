package kernel

import "math"

// Linear is a clock's reading as a linear function of true time, with a rate of one plus
// ppm millionths. It uses integer nanoseconds, because floating point differs between
// machines.
//
// Invariant: -million <= ppm. It never decreases; at -million it is constant.
type Linear struct {
	from  int64 // true time
	Value int64 // the reading then
	PPM   int64
}

const (
	Million = 1_000_000
	// Never is later than every moment.
	Never = math.MaxInt64
)

// At is the reading at the true time t, which is not before l.from.
func (l Linear) At(t int64) int64 {
	d := t - l.from
	// Split, because d*ppm overflows after a few hours. Rounded down, so that a slow
	// clock never shows a time too early.
	rest := d % Million * l.PPM
	if rest < 0 {
		rest -= Million - 1
	}
	return l.Value + d + d/Million*l.PPM + rest/Million
}

// When is the first true time, not before l.from, at which the reading is at least
// v, or never.
func (l Linear) When(v int64) int64 {
	missing := v - l.Value
	if missing <= 0 {
		return l.from
	}
	rate := Million + l.PPM
	if rate <= 0 || missing/rate >= Never/Million/2 {
		return Never
	}
	t := l.from + missing/rate*Million + missing%rate*Million/rate
	// The division may round either way; at most a few steps correct it.
	for t > l.from && l.At(t-1) >= v {
		t--
	}
	for l.At(t) < v {
		t++
	}
	return t
}

// Turn returns the function with another rate from the true time t on.
func (l Linear) Turn(t, ppm int64) Linear { return Linear{from: t, Value: l.At(t), PPM: ppm} }

// Step returns the function shifted by d from the true time t on.
func (l Linear) Step(t, d int64) Linear { return Linear{from: t, Value: l.At(t) + d, PPM: l.PPM} }
