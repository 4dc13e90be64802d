package simulation

import "math"

// linear is a clock's reading as a linear function of true time, with a rate of one plus
// ppm millionths. It uses integer nanoseconds, because floating point differs between
// machines.
//
// Invariant: -million <= ppm. It never decreases; at -million it is constant.
type linear struct {
	from  int64 // true time
	value int64 // the reading then
	ppm   int64
}

const (
	million = 1_000_000
	// never is later than every moment.
	never = math.MaxInt64
)

// at is the reading at the true time t, which is not before l.from.
func (l linear) at(t int64) int64 {
	d := t - l.from
	// Split, because d*ppm overflows after a few hours. Rounded down, so that a slow
	// clock never shows a time too early.
	rest := d % million * l.ppm
	if rest < 0 {
		rest -= million - 1
	}
	return l.value + d + d/million*l.ppm + rest/million
}

// when is the first true time, not before l.from, at which the reading is at least
// v, or never.
func (l linear) when(v int64) int64 {
	missing := v - l.value
	if missing <= 0 {
		return l.from
	}
	rate := million + l.ppm
	if rate <= 0 || missing/rate >= never/million/2 {
		return never
	}
	t := l.from + missing/rate*million + missing%rate*million/rate
	// The division may round either way; at most a few steps correct it.
	for t > l.from && l.at(t-1) >= v {
		t--
	}
	for l.at(t) < v {
		t++
	}
	return t
}

// turn returns the function with another rate from the true time t on.
func (l linear) turn(t, ppm int64) linear { return linear{from: t, value: l.at(t), ppm: ppm} }

// step returns the function shifted by d from the true time t on.
func (l linear) step(t, d int64) linear { return linear{from: t, value: l.at(t) + d, ppm: l.ppm} }
