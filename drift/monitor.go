package drift

import (
	"fmt"
	"time"
)

// Monitor detects steps of one server's wall clock from the client. Redis expires
// keys by its wall clock: after a step forward it forgets votes (scenario S4).
//
// Each Observation bounds the offset between the server's clock and the local
// monotonic clock: the server read its clock at some moment between sending and
// receiving, or up to Tolerance earlier. The bounds widen with time, at MaxRate.
// If the bounds of a new observation do not overlap the widened ones, the clock
// was stepped or runs faster or slower than MaxRate allows, which is as bad.
// Steps within Tolerance add up: many small steps in quick succession are
// detected like one large step.
//
// The local reference is the monotonic clock alone. After a suspension of this
// machine, all servers are therefore reported as having jumped. The local wall
// clock could excuse them, but it would also excuse a wrong time source that
// stepped the servers and this machine alike, and that case breaks locks.
//
// A Monitor isn't safe for concurrent use.
type Monitor struct {
	// MaxRate is the largest believable difference of rates in millionths, 0 to
	// 1 000 000.
	MaxRate int64
	// Tolerance is the largest age of a server's reading, because some servers
	// answer with a cached time. A step of at most Tolerance may go undetected.
	// 0 to an hour.
	Tolerance time.Duration

	seen   bool
	bounds bounds
	at     time.Duration // local monotonic time that bounds refers to
	anchor bounds        // the first bounds since the last jump, for Rate
	since  time.Duration // local monotonic time that anchor refers to
	jumped time.Duration // when the last jump was detected, 0 if there was none
}

// bounds holds an offset: server clock minus local monotonic clock, in
// nanoseconds since the Unix epoch. Invariants: low <= high, and the true offset
// lies between them as long as the clock was not stepped.
type bounds struct{ low, high int64 }

// Observation is one reading of a server's clock.
type Observation struct {
	// Sent and Received are local monotonic times (Instant.Mono): before the
	// request was sent, and after the reply was received.
	Sent, Received time.Duration
	// Server is the server's clock at some moment between the two.
	Server time.Time
}

// Jump is a step of a server's clock.
type Jump struct {
	// By is the smallest step that explains the observations: positive forward,
	// negative back.
	By time.Duration
	// Within is the time since the last observation before the step.
	Within time.Duration
}

// String describes the jump in words.
func (j Jump) String() string {
	way := "forward"
	by := j.By
	if by < 0 {
		way, by = "back", -by
	}
	return fmt.Sprintf("its clock went %s by %v within the last %v", way, by.Round(time.Millisecond), j.Within.Round(time.Millisecond))
}

// Observe adds one observation and reports a jump. Observations may overlap.
// Observe ignores an observation received before the newest one, because it adds
// nothing. It also ignores an observation sent before the last jump was detected:
// its reading may predate the jump and would look like a second jump back.
func (m *Monitor) Observe(o Observation) (Jump, bool) {
	if o.Received < o.Sent || o.Sent < m.jumped || m.seen && o.Received < m.at {
		return Jump{}, false
	}
	fresh := m.read(o)
	if !m.seen {
		m.reset(fresh, o.Received)
		return Jump{}, false
	}
	age := o.Received - m.at
	aged := m.bounds.widen(m.driftIn(age))
	if gap := aged.gap(fresh); gap != 0 {
		m.reset(fresh, o.Received)
		m.jumped = o.Received
		return Jump{By: time.Duration(gap), Within: age}, true
	}
	// Both contain the true offset, so their intersection does too. The fresh
	// bounds must not simply replace the aged ones: a clock that runs too fast
	// would gain a little in each observation, and never enough in one.
	//guard:small-jumps-add-up  many small steps of a clock are detected like one large step
	m.bounds = bounds{low: max(aged.low, fresh.low), high: min(aged.high, fresh.high)}
	m.at = o.Received
	return Jump{}, false
}

// read returns the bounds of one observation at the moment it was received.
func (m *Monitor) read(o Observation) bounds {
	server := o.Server.UnixNano()
	oldest := o.Sent - m.Tolerance // the server read its clock between here and Received
	return bounds{
		// If the reading was taken at Received. If it was taken earlier, the clock
		// has advanced since, so the offset is no lower.
		low: server - int64(o.Received),
		// If the reading was taken at the oldest moment. The clock rounds down to
		// whole microseconds and may have gained since.
		high: server - int64(oldest) + int64(time.Microsecond) + m.driftIn(o.Received-oldest),
	}
}

// driftIn returns how far the offset may drift in a time, rounded up.
func (m *Monitor) driftIn(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64(Allowance{PPM: m.MaxRate}.Of(d))
}

func (m *Monitor) reset(b bounds, at time.Duration) {
	m.seen, m.bounds, m.at, m.anchor, m.since = true, b, at, b, at
}

// Offset returns the server's clock minus the local wall clock at the local Instant
// now, and the largest error of that value. ok is false before the first
// observation.
func (m *Monitor) Offset(now Instant) (offset, uncertainty time.Duration, ok bool) {
	if !m.seen {
		return 0, 0, false
	}
	aged := m.bounds.widen(m.driftIn(max(now.Mono-m.at, m.at-now.Mono)))
	local := now.Wall.UnixNano() - int64(now.Mono) // the local wall clock's own offset
	middle := aged.low + (aged.high-aged.low)/2
	return time.Duration(middle - local), time.Duration(aged.high - middle), true
}

// Rate returns bounds of the rate difference since the last jump, in millionths,
// positive for a server clock that gains. ok is false until the observations
// cover at least one second.
func (m *Monitor) Rate() (low, high int64, ok bool) {
	span := int64(m.at - m.since)
	if !m.seen || span < int64(time.Second) {
		return 0, 0, false
	}
	// A millionth of the span, rounded down and up. Each bound is divided by the
	// value that widens it.
	short, long := span/1_000_000, span/1_000_000+1
	low, high = m.bounds.low-m.anchor.high, m.bounds.high-m.anchor.low
	if low < 0 {
		low = low/short - 1
	} else {
		low /= long
	}
	if high > 0 {
		high = high/short + 1
	} else {
		high /= long
	}
	return low, high, true
}

func (b bounds) widen(by int64) bounds { return bounds{low: b.low - by, high: b.high + by} }

// gap returns how far other lies above b (positive) or below it (negative), or 0
// if they overlap.
func (b bounds) gap(other bounds) int64 {
	switch {
	case other.low > b.high:
		return other.low - b.high
	case other.high < b.low:
		return other.high - b.low
	default:
		return 0
	}
}
