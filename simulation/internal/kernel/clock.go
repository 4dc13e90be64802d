package kernel

import (
	"sync/atomic"
	"time"
)

// span is an interval of true time in which a process's clocks ran at constant rates.
type span struct {
	Mono, Wall Linear
	before     *span // nil for the first one
}

// Clock is one process's monotonic clock and wall clock, each a linear function of true
// time. The code under test reads the time from it. Only the driver changes it, and only
// while the process's goroutines are blocked.
type Clock struct {
	now *atomic.Int64 // true time
	// start and started are what the clocks showed when the process started.
	start   time.Time
	started int64
	// latest is the present. It is atomic only for the race detector, which doesn't see
	// that a goroutine is blocked in WaitGroup.Wait.
	latest atomic.Pointer[span]

	ppm    int64 // the rate while it runs
	asleep bool  // the monotonic clock is stopped
	frozen bool  // and the wall clock too
}

// begin starts the clocks of a process, or continues those of the machine that it runs on.
func (c *Clock) begin(former *Clock) {
	at := c.now.Load()
	s := &span{Mono: Linear{from: at}, Wall: Linear{from: at, Value: Epoch + at}}
	if former != nil {
		was := former.Present()
		c.ppm = former.ppm
		s = &span{Mono: was.Mono.Turn(at, c.ppm), Wall: was.Wall.Turn(at, c.ppm)}
	}
	c.latest.Store(s)
	c.start, c.started = c.Now(), c.Mono()
}

func (c *Clock) Present() *span { return c.latest.Load() }

// Suspend stops the monotonic clock, and with frozen the wall clock.
func (c *Clock) Suspend(frozen bool) {
	c.asleep, c.frozen = true, c.frozen || frozen
	c.turn(0)
}

func (c *Clock) Wake() {
	c.asleep, c.frozen = false, false
	c.turn(0)
}

func (c *Clock) SetRate(ppm int64) {
	c.ppm = ppm
	c.turn(0)
}

// StepWall moves the wall clock.
func (c *Clock) StepWall(by int64) { c.turn(by) }

// turn begins a new span at the rates that apply now, and moves the wall clock.
func (c *Clock) turn(by int64) {
	mono, wall := c.ppm, c.ppm
	if c.asleep {
		mono = -Million
		if c.frozen {
			wall = -Million
		}
	}
	s, now := c.Present(), c.now.Load()
	c.latest.Store(&span{Mono: s.Mono.Turn(now, mono), Wall: s.Wall.Turn(now, wall).Step(now, by), before: s})
}

// Mono reads the monotonic clock.
func (c *Clock) Mono() int64 { return c.Present().Mono.At(c.now.Load()) }

// Wall reads the wall clock, in nanoseconds from 1970.
func (c *Clock) Wall() int64 { return c.Present().Wall.At(c.now.Load()) }

// Now reads the wall clock.
func (c *Clock) Now() time.Time { return time.Unix(0, c.Wall()).UTC() }

// Since is the monotonic time since t, which must be a reading of Now.
func (c *Clock) Since(t time.Time) time.Duration { return time.Duration(c.Mono() - c.monoAt(t)) }

// monoAt is the monotonic clock's reading when the wall clock showed t. A real time.Time
// carries both readings; here it is looked up. After a step back, the wall clock has
// shown some times twice: then t means the start of the process if it matches, and
// otherwise the later moment.
func (c *Clock) monoAt(t time.Time) int64 {
	if t.Equal(c.start) {
		return c.started
	}
	wall := t.UnixNano()
	latest, end := c.Present(), c.now.Load()
	for s := latest; s != nil; s = s.before {
		if wall >= s.Wall.Value && wall <= s.Wall.At(end) {
			return s.Mono.At(s.Wall.When(wall))
		}
		end = s.Wall.from
	}
	return latest.Mono.Value + wall - latest.Wall.Value
}

// SinceStart is how long the process has run, by the monotonic clock.
func (c *Clock) SinceStart() time.Duration { return time.Duration(c.Mono() - c.started) }

// Until is the wall time until t.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Epoch is the wall clocks' reading at the start of a run: a time at which tokens
// that start from a clock look realistic.
const Epoch = 1_767_225_600 * int64(time.Second) // 2026-01-01
