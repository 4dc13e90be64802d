package timeline

import (
	"time"

	"github.com/redquorum/redlock/simulation/fault"
)

// clock simulates a process's monotonic and wall clock from the faults in the log, because a
// belief ends by the holder's own clocks.
type clock struct {
	now        time.Duration // the true time of the readings
	mono, wall time.Duration
	ppm        int64 // the rate of both while they run

	wake   time.Duration // the monotonic clock stands still until then
	frozen bool          // so does the wall clock
}

// gained returns by how much a clock advances in d.
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

// suffer applies a fault.
func (c *clock) suffer(f *fault.Fault) {
	switch f.Kind {
	case fault.Step:
		c.wall += f.By
	case fault.Rate:
		c.ppm = min(500_000, max(-500_000, f.PPM))
	case fault.Suspend:
		c.wake = max(c.wake, plus(c.now, f.For))
		c.frozen = c.frozen || f.Frozen
	}
}

// grant is a validity, and the readings of the clocks at which it began.
type grant struct{ validity, mono, wall time.Duration }

// end returns the true time at which the grant has expired by either clock.
func (c *clock) end(t grant) time.Duration {
	awake := max(c.now, c.wake)
	wallFrom := c.now
	if c.frozen {
		wallFrom = awake
	}
	return min(c.reached(awake, t.mono+t.validity-c.mono), c.reached(wallFrom, t.wall+t.validity-c.wall))
}

// reached returns when a clock that runs from a moment on has advanced by so much.
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
