package kernel

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
)

// span is an interval of true time in which a process's clocks ran at constant rates.
type span struct {
	Mono, Wall Linear
	before     *span // nil for the first one
}

// Clock is one process's monotonic clock and wall clock, each a linear function of true
// time. The code under test reads the time from it. Only the driver changes it, and only
// while the process's goroutines are blocked.
//
// Timer, Ticker and AfterFunc return concrete types that work only in real time, and nothing
// calls Tick. A process that calls them is reported (see Violation), and their timers never fire.
type Clock struct {
	p *Process
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

var _ clock.Clock = (*Clock)(nil)

func newClock(p *Process, now int64) *Clock {
	c := &Clock{p: p}
	c.latest.Store(&span{Mono: Linear{from: now}, Wall: Linear{from: now, Value: Epoch + now}})
	c.start, c.started = c.Now(), c.Mono()
	return c
}

// continueFrom continues the machine's clock in a new process.
func (c *Clock) continueFrom(from *Clock, now int64) {
	c.ppm = from.ppm
	s := from.Present()
	c.latest.Store(&span{Mono: s.Mono.Turn(now, c.ppm), Wall: s.Wall.Turn(now, c.ppm)})
	c.start, c.started = c.Now(), c.Mono()
}

func (c *Clock) Present() *span { return c.latest.Load() }

// Suspend stops the monotonic clock at the true time now, and with frozen the wall
// clock.
func (c *Clock) Suspend(now int64, frozen bool) {
	c.asleep, c.frozen = true, c.frozen || frozen
	c.tune(now)
}

func (c *Clock) Wake(now int64) {
	c.asleep, c.frozen = false, false
	c.tune(now)
}

func (c *Clock) SetRate(now, ppm int64) {
	c.ppm = ppm
	c.tune(now)
}

// tune begins a new span at the rates that apply now.
func (c *Clock) tune(now int64) {
	mono, wall := c.ppm, c.ppm
	if c.asleep {
		mono = -Million
		if c.frozen {
			wall = -Million
		}
	}
	s := c.Present()
	c.latest.Store(&span{Mono: s.Mono.Turn(now, mono), Wall: s.Wall.Turn(now, wall), before: s})
}

func (c *Clock) StepWall(now, by int64) {
	s := c.Present()
	c.latest.Store(&span{Mono: s.Mono.Turn(now, s.Mono.PPM), Wall: s.Wall.Step(now, by), before: s})
}

func (c *Clock) Mono() int64 { return c.Present().Mono.At(c.p.kernel.Now.Load()) }

// Now reads the wall clock.
func (c *Clock) Now() time.Time {
	return time.Unix(0, c.Present().Wall.At(c.p.kernel.Now.Load())).UTC()
}

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
	latest, end := c.Present(), c.p.kernel.Now.Load()
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

// After sends the time once d has passed on the monotonic clock.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	ch := make(chan time.Time, 1)
	c.p.set(&Timer{p: c.p, due: c.Mono() + int64(max(0, d)), ch: ch})
	return ch
}

// Sleep returns once d has passed on the monotonic clock.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// WithDeadline is context.WithDeadline on this clock.
func (c *Clock) WithDeadline(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	return c.with(parent, deadline, c.Until(deadline))
}

// WithTimeout is context.WithTimeout on this clock.
func (c *Clock) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return c.with(parent, c.Now().Add(d), d)
}

func (c *Clock) with(parent context.Context, deadline time.Time, d time.Duration) (context.Context, context.CancelFunc) {
	ctx := &timeout{parent: parent, deadline: deadline}
	if outer, ok := parent.Deadline(); ok && outer.Before(deadline) {
		ctx.deadline = outer
	}
	if parent.Done() != nil {
		ctx.mu.Lock() // end may come at once, on another goroutine
		ctx.stop = context.AfterFunc(parent, func() { ctx.end(parent.Err()) })
		ctx.mu.Unlock()
	}
	switch {
	case parent.Err() != nil:
		ctx.end(parent.Err())
	case d <= 0 || c.p.Dead.Load():
		ctx.Expire()
	default:
		ctx.timer = Timer{p: c.p, due: c.Mono() + int64(d), ends: ctx}
		c.p.set(&ctx.timer)
	}
	return ctx, func() { ctx.end(context.Canceled) }
}

// The rest of clock.Clock.

// AfterFunc is not simulated, see Clock.
func (c *Clock) AfterFunc(time.Duration, func()) *clock.Timer {
	return c.unusable("AfterFunc").AfterFunc(time.Hour, func() {})
}

// Timer is not simulated, see Clock.
func (c *Clock) Timer(time.Duration) *clock.Timer { return c.unusable("Timer").Timer(time.Hour) }

// Ticker is not simulated, see Clock.
func (c *Clock) Ticker(time.Duration) *clock.Ticker {
	return c.unusable("Ticker").Ticker(time.Hour)
}

// Tick is not simulated, see Clock.
func (c *Clock) Tick(time.Duration) <-chan time.Time { return c.unusable("Tick").Tick(time.Hour) }

func (c *Clock) unusable(method string) clock.Clock {
	c.p.unsimulated(method)
	return clock.NewMock()
}

// ClockReadings is what a process's clocks show, as it sees them.
type ClockReadings struct{ Mono, Wall int64 }

func (c *Clock) ReadingsAt(now int64) ClockReadings {
	s := c.Present()
	return ClockReadings{s.Mono.At(now), s.Wall.At(now)}
}

// Epoch is the wall clocks' reading at the start of a run: a time at which tokens
// that start from a clock look realistic.
const Epoch = 1_767_225_600 * int64(time.Second) // 2026-01-01
