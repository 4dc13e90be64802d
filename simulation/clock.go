package simulation

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// span is an interval of true time in which a process's clocks ran at constant rates.
type span struct {
	mono, wall linear
	before     *span // nil for the first one
}

// processClock is one process's monotonic clock and wall clock, each a linear function of true
// time. The code under test reads the time from it. Only the driver changes it, and only
// while the process's goroutines are blocked.
//
// Timer, Ticker and AfterFunc return concrete types that work only in real time. A process
// that calls them is reported (see Violation), and their timers never fire.
type processClock struct {
	p *process
	// start and started are what the clocks showed when the process started.
	start   time.Time
	started int64
	// latest is the present. It is atomic only for the race detector, which doesn't see
	// that a goroutine is blocked in WaitGroup.Wait.
	latest atomic.Pointer[span]
	// future is the span at the moment to which the process runs ahead; nil before it
	// ever did.
	future atomic.Pointer[span]

	ppm    int64 // the rate while it runs
	asleep bool  // the monotonic clock is stopped
	frozen bool  // and the wall clock too
}

var _ clock.Clock = (*processClock)(nil)

func newClock(p *process, now int64) *processClock {
	c := &processClock{p: p}
	c.latest.Store(&span{mono: linear{from: now}, wall: linear{from: now, value: epoch + now}})
	c.start, c.started = c.now(), c.mono()
	return c
}

// continueFrom continues the machine's clock in a new process.
func (c *processClock) continueFrom(from *processClock, now int64) {
	c.ppm = from.ppm
	s := from.present()
	c.latest.Store(&span{mono: s.mono.turn(now, c.ppm), wall: s.wall.turn(now, c.ppm)})
	c.start, c.started = c.now(), c.mono()
}

func (c *processClock) present() *span { return c.latest.Load() }

// shows is the span that the process reads from, and the true time at which it does.
func (c *processClock) shows() (*span, int64) {
	at := c.p.present()
	if s := c.future.Load(); s != nil && at > c.p.w.now.Load() {
		return s, at
	}
	return c.present(), at
}

// foresee shows the process its clocks as they will be at a moment to which it runs ahead.
// All changes until then come from the schedule or from the suspension itself.
func (c *processClock) foresee(until int64, suspended, frozen bool) {
	s, now := c.shows()
	ppm := c.ppm
	turn := func(at int64) {
		mono, wall := ppm, ppm
		if suspended && at < until {
			mono = -million
			if frozen {
				wall = -million
			}
		}
		s = &span{mono: s.mono.turn(at, mono), wall: s.wall.turn(at, wall), before: s}
	}
	turn(now)
	for _, f := range c.p.w.ofClocks {
		if at := int64(f.At); at > now && at <= until && fault.Matches(f.Process, c.p.name) {
			if f.Kind == fault.Rate {
				ppm = f.PPM
			}
			turn(at)
			if f.Kind == fault.Step {
				s = &span{mono: s.mono, wall: s.wall.step(at, int64(f.By)), before: s.before}
			}
		}
	}
	turn(until)
	c.future.Store(s)
}

// sleep stops the monotonic clock at the true time now, and with frozen the wall
// clock.
func (c *processClock) sleep(now int64, frozen bool) {
	c.asleep, c.frozen = true, c.frozen || frozen
	c.tune(now)
}

func (c *processClock) wake(now int64) {
	c.asleep, c.frozen = false, false
	c.tune(now)
}

func (c *processClock) setRate(now, ppm int64) {
	c.ppm = ppm
	c.tune(now)
}

// tune begins a new span at the rates that apply now.
func (c *processClock) tune(now int64) {
	mono, wall := c.ppm, c.ppm
	if c.asleep {
		mono = -million
		if c.frozen {
			wall = -million
		}
	}
	s := c.present()
	c.latest.Store(&span{mono: s.mono.turn(now, mono), wall: s.wall.turn(now, wall), before: s})
}

func (c *processClock) stepWall(now, by int64) {
	s := c.present()
	c.latest.Store(&span{mono: s.mono.turn(now, s.mono.ppm), wall: s.wall.step(now, by), before: s})
}

func (c *processClock) mono() int64 {
	s, at := c.shows()
	return s.mono.at(at)
}

// Now reads the wall clock. Like Since it is a reading at which a Pause or a Suspend can
// happen, see Fault.Op.
func (c *processClock) Now() time.Time {
	t := c.now()
	if c.p.stopsAtReading() {
		t = c.now()
	}
	return t
}

// Since is the monotonic time since t, which must be a reading of Now.
func (c *processClock) Since(t time.Time) time.Duration {
	d := c.since(t)
	if c.p.stopsAtReading() {
		d = c.since(t)
	}
	return d
}

func (c *processClock) now() time.Time {
	s, at := c.shows()
	return time.Unix(0, s.wall.at(at)).UTC()
}

func (c *processClock) since(t time.Time) time.Duration { return time.Duration(c.mono() - c.monoAt(t)) }

// monoAt is the monotonic clock's reading when the wall clock showed t. A real time.Time
// carries both readings; here it is looked up. After a step back, the wall clock has
// shown some times twice: then t means the start of the process if it matches, and
// otherwise the later moment.
func (c *processClock) monoAt(t time.Time) int64 {
	if t.Equal(c.start) {
		return c.started
	}
	wall := t.UnixNano()
	latest, end := c.shows()
	for s := latest; s != nil; s = s.before {
		if wall >= s.wall.value && wall <= s.wall.at(end) {
			return s.mono.at(s.wall.when(wall))
		}
		end = s.wall.from
	}
	return latest.mono.value + wall - latest.wall.value
}

// Until is the wall time until t.
func (c *processClock) Until(t time.Time) time.Duration { return t.Sub(c.now()) }

// After sends the time once d has passed on the monotonic clock.
func (c *processClock) After(d time.Duration) <-chan time.Time {
	ch := make(chan time.Time, 1)
	c.p.set(&timer{p: c.p, due: c.mono() + int64(max(0, d)), ch: ch})
	return ch
}

// Tick sends the time after every d until the process ends.
func (c *processClock) Tick(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	ch := make(chan time.Time, 1)
	c.p.set(&timer{p: c.p, due: c.mono() + int64(d), ch: ch, every: int64(d)})
	return ch
}

// Sleep returns once d has passed on the monotonic clock.
func (c *processClock) Sleep(d time.Duration) { <-c.After(d) }

// WithDeadline is context.WithDeadline on this clock.
func (c *processClock) WithDeadline(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	return c.with(parent, deadline, c.Until(deadline))
}

// WithTimeout is context.WithTimeout on this clock.
func (c *processClock) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return c.with(parent, c.now().Add(d), d)
}

func (c *processClock) with(parent context.Context, deadline time.Time, d time.Duration) (context.Context, context.CancelFunc) {
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
	case d <= 0 || c.p.dead.Load():
		ctx.expire()
	default:
		ctx.timer = timer{p: c.p, due: c.mono() + int64(d), ends: ctx}
		c.p.set(&ctx.timer)
	}
	return ctx, func() { ctx.end(context.Canceled) }
}

// The rest of clock.Clock.

// AfterFunc is not simulated, see Clock.
func (c *processClock) AfterFunc(time.Duration, func()) *clock.Timer {
	return c.unusable("AfterFunc").AfterFunc(time.Hour, func() {})
}

// Timer is not simulated, see Clock.
func (c *processClock) Timer(time.Duration) *clock.Timer { return c.unusable("Timer").Timer(time.Hour) }

// Ticker is not simulated, see Clock.
func (c *processClock) Ticker(time.Duration) *clock.Ticker {
	return c.unusable("Ticker").Ticker(time.Hour)
}

func (c *processClock) unusable(method string) clock.Clock {
	c.p.report(record.Unsimulated, fmt.Sprintf("%s calls Clock.%s, which can't be simulated; use After or WithTimeout", c.p.name, method))
	return clock.NewMock()
}

// clockReadings is what a process's clocks show, as it sees them.
type clockReadings struct{ mono, wall int64 }

func (c *processClock) readingsAt(now int64) clockReadings {
	s := c.present()
	return clockReadings{s.mono.at(now), s.wall.at(now)}
}
