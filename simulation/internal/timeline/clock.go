package timeline

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// clock is a process's monotonic and wall clock, as far as the faults in the log
// tell: a belief lasts for as long as its holder's own clocks say, not for as long
// as it was told.
type clock struct {
	now        time.Duration // the true time of the readings
	mono, wall time.Duration
	ppm        int64 // what both gain while they go

	wake   time.Duration // the monotonic clock stands until then
	frozen bool          // and the wall clock, too
}

// gained is what a clock shows more after d.
func (c *clock) gained(d time.Duration) time.Duration {
	return d + d/million*time.Duration(c.ppm) + d%million*time.Duration(c.ppm)/million
}

const million = 1_000_000

// advance moves the readings to a later true time.
func (c *clock) advance(now time.Duration) {
	if now <= c.now {
		return
	}
	asleep := min(now, max(c.now, c.wake)) - c.now
	awake := now - c.now - asleep
	c.mono += c.gained(awake)
	if c.frozen {
		c.wall += c.gained(awake)
	} else {
		c.wall += c.gained(awake + asleep)
	}
	c.now = now
	if now >= c.wake {
		c.frozen = false
	}
}

// suffer changes the clocks as a fault does.
func (c *clock) suffer(f *simulation.Fault) {
	switch f.Kind {
	case simulation.Step:
		c.wall += f.By
	case simulation.Rate:
		c.ppm = min(500_000, max(-500_000, f.PPM))
	case simulation.Suspend:
		c.wake = max(c.wake, plus(c.now, f.For))
		c.frozen = c.frozen || f.Frozen
	}
}

// told is what a holder was told, and at what readings of its clocks.
type told struct{ validity, mono, wall time.Duration }

// over is the true time at which either clock says that it is over.
func (c *clock) over(t told) time.Duration {
	awake := max(c.now, c.wake)
	wallFrom := c.now
	if c.frozen {
		wallFrom = awake
	}
	return min(c.reached(awake, t.mono+t.validity-c.mono), c.reached(wallFrom, t.wall+t.validity-c.wall))
}

// reached is when a clock that goes from a moment on has gained so much.
func (c *clock) reached(from, missing time.Duration) time.Duration {
	if missing <= 0 {
		return c.now
	}
	if missing > forever/4 {
		return forever
	}
	rate := time.Duration(million + c.ppm)
	return plus(from, missing/rate*million+missing%rate*million/rate)
}
