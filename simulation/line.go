package simulation

import "math"

// line is a clock's reading as a function of true time: straight, with a rate
// that is one plus ppm millionths. All in whole nanoseconds and integers, since
// floating point gives other results on other machines.
//
// Invariant: -million <= ppm. It never runs backwards; at -million it stands still.
type line struct {
	from  int64 // true time
	value int64 // the reading then
	ppm   int64
}

const (
	million = 1_000_000
	// never is a moment that doesn't come.
	never = math.MaxInt64
)

// at is the reading at the true time t, which is not before l.from.
func (l line) at(t int64) int64 {
	d := t - l.from
	// In two parts, because d*ppm overflows after a few hours. Rounded down: a clock
	// that is slow shows nothing before its time.
	rest := d % million * l.ppm
	if rest < 0 {
		rest -= million - 1
	}
	return l.value + d + d/million*l.ppm + rest/million
}

// when is the first true time, not before l.from, at which the reading is at least
// v; never if it doesn't get there.
func (l line) when(v int64) int64 {
	missing := v - l.value
	if missing <= 0 {
		return l.from
	}
	rate := million + l.ppm
	if rate <= 0 || missing/rate >= never/million/2 {
		return never
	}
	t := l.from + missing/rate*million + missing%rate*million/rate
	// The division rounds either way; at most a few steps put it right.
	for t > l.from && l.at(t-1) >= v {
		t--
	}
	for l.at(t) < v {
		t++
	}
	return t
}

// turn gives a line that goes on from the true time t at another rate.
func (l line) turn(t, ppm int64) line { return line{from: t, value: l.at(t), ppm: ppm} }

// step gives a line that is moved by d from the true time t on.
func (l line) step(t, d int64) line { return line{from: t, value: l.at(t) + d, ppm: l.ppm} }
