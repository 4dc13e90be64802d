package drift

import "time"

// Clock is the little that is needed of a clock: github.com/benbjohnson/clock's
// Clock has it, and so has any other one.
type Clock interface {
	Now() time.Time
	Since(t time.Time) time.Duration
}

// Instant is one moment, read from two clocks: the monotonic one, which nobody
// can step but which stands still while a virtual machine is suspended, and the
// wall clock, which anybody can step but which knows of the suspension.
type Instant struct {
	// Mono is the monotonic time since the Reader was made.
	Mono time.Duration
	// Wall is the wall clock, without a monotonic reading.
	Wall time.Time
}

// Reader reads Instants. All Instants that are compared must come from one.
type Reader struct {
	clock Clock // nil for the machine's own clocks
	base  time.Time
}

// NewReader makes a Reader on a clock.
func NewReader(clock Clock) *Reader { return &Reader{clock: clock, base: clock.Now()} }

// SystemReader makes a Reader on the machine's own clocks. It takes both readings from
// one time.Now, which costs a third less than the two calls to a Clock.
func SystemReader() *Reader { return &Reader{base: time.Now()} }

// Now reads both clocks. They are read one after the other, so a pause may fall
// between the two: a caller that measures from an Instant must read it before
// what it measures begins, and one that measures to an Instant after it ended;
// then each reading alone errs to the safe side.
func (r *Reader) Now() Instant {
	if r.clock == nil {
		return r.split(time.Now())
	}
	// Since, not Now().Sub: Since is monotonic on a real clock, and an injected
	// one can tell its two clocks apart by it. Round(0) as in split.
	return Instant{Mono: r.clock.Since(r.base), Wall: r.clock.Now().Round(0)}
}

// split gives both readings of one time of the machine's. Round(0) strips the monotonic
// one, without which Sub would compare that and never the wall clock.
func (r *Reader) split(now time.Time) Instant {
	//guard:wall-clock-alone  the wall clock is read without its monotonic part, so that a step of it shows
	return Instant{Mono: now.Sub(r.base), Wall: now.Round(0)}
}

// Elapsed is the time from one Instant to a later one: the larger of what the
// two clocks say, and never negative. The larger is the safe one for everything
// that is counted down: a suspended machine stops the first clock, a step back
// stops the second, and only both at once would hide the time that passed.
func Elapsed(from, to Instant) time.Duration {
	//guard:larger-of-two-clocks  elapsed time is the larger of what the monotonic clock and the wall clock say
	return max(0, to.Mono-from.Mono, to.Wall.Sub(from.Wall))
}

// AtLeast is the smaller of what the two clocks say, and never negative: the safe one for
// what must have been over for a while.
func AtLeast(from, to Instant) time.Duration {
	return max(0, min(to.Mono-from.Mono, to.Wall.Sub(from.Wall)))
}
