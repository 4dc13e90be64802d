package drift

import (
	"fmt"
	"time"
)

// Monitor watches the wall clock of one instance from afar and notices when it
// jumps. Redis expires keys by its wall clock: stepped forward, it forgets
// votes that it gave (scenario S4).
//
// Each Observation bounds the offset between the instance's clock and the local
// monotonic one: the server's reading was taken at some moment between sending
// and receiving, or up to Tolerance earlier. Bounds age: they widen by MaxRate
// for each unit of time. An observation whose bounds don't meet the aged ones
// can only come from a step of the clock, or from a rate above MaxRate, which is
// as bad. Steps within Tolerance add up: many small ones in quick succession
// are noticed as one large one is.
//
// Which way it errs: the local reference is the monotonic clock alone. After a
// suspension of this machine all instances seem to have jumped, and are
// reported; using the local wall clock to excuse them would also excuse a wrong
// time source that stepped them and this machine alike, and that is the case
// which breaks locks.
//
// A Monitor isn't safe for concurrent use.
type Monitor struct {
	// MaxRate is the largest believable difference of rates in millionths, 0 to
	// 1 000 000.
	MaxRate int64
	// Tolerance is how old a server's reading may be: some answer with one that
	// they cached a little earlier. A step that is no larger may pass unnoticed.
	// 0 to an hour.
	Tolerance time.Duration

	seen   bool
	bounds bounds
	at     time.Duration // local monotonic time that bounds refers to
	anchor bounds        // the first bounds since the last jump, for Rate
	since  time.Duration // local monotonic time that anchor refers to
	jumped time.Duration // when the last jump was noticed, 0 if there was none
}

// bounds holds an offset: server clock minus local monotonic clock, in
// nanoseconds since the Unix epoch. Invariants: low <= high, and the truth lies
// between them as long as the clock wasn't stepped.
type bounds struct{ low, high int64 }

// Observation is one reading of an instance's clock.
type Observation struct {
	// Sent and Received are local monotonic times (Instant.Mono) before the
	// question was sent and after the answer came.
	Sent, Received time.Duration
	// Server is the instance's clock at some moment between the two.
	Server time.Time
}

// Jump is a step of an instance's clock.
type Jump struct {
	// By is how far it went at the least: positive forward, negative back.
	By time.Duration
	// Within is how long ago the last observation was made that didn't show it.
	Within time.Duration
}

// String says it in words.
func (j Jump) String() string {
	way := "forward"
	by := j.By
	if by < 0 {
		way, by = "back", -by
	}
	return fmt.Sprintf("its clock went %s by %v within the last %v", way, by.Round(time.Millisecond), j.Within.Round(time.Millisecond))
}

// Observe takes one observation and reports a jump. Observations may overlap;
// one that was received before the newest says nothing new and is passed over,
// and so is one that was sent before a jump was noticed: its reading may be from
// before the jump, and would look like another one, back again.
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
	// Both hold the truth, so what they have in common does. The fresh ones must
	// not just replace the aged ones: a clock that runs too fast would gain a
	// little in each observation, and never enough in one.
	//guard:small-jumps-add-up  many small steps of a clock are noticed as one large step is
	m.bounds = bounds{low: max(aged.low, fresh.low), high: min(aged.high, fresh.high)}
	m.at = o.Received
	return Jump{}, false
}

// read gives the bounds that one observation sets at the moment it was received.
func (m *Monitor) read(o Observation) bounds {
	server := o.Server.UnixNano()
	oldest := o.Sent - m.Tolerance // the reading was taken at some moment from here to Received
	return bounds{
		// Taken at Received. Taken earlier, the clock has gone on since, however
		// slow it is: the offset is no lower than this.
		low: server - int64(o.Received),
		// Taken at the oldest moment, by a clock with whole microseconds, rounded
		// down, that gained since.
		high: server - int64(oldest) + int64(time.Microsecond) + m.driftIn(o.Received-oldest),
	}
}

// driftIn is how far the offset may wander in a time, rounded up.
func (m *Monitor) driftIn(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64(Allowance{PPM: m.MaxRate}.Of(d))
}

func (m *Monitor) reset(b bounds, at time.Duration) {
	m.seen, m.bounds, m.at, m.anchor, m.since = true, b, at, b, at
}

// Offset is the instance's clock minus the local wall clock at the local Instant
// now, and how far the truth may be from that. ok is false before the first
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

// Rate bounds the difference of rates since the last jump, in millionths: a
// clock that gains has positive ones. ok is false until a second observation
// came at least a second after the first.
func (m *Monitor) Rate() (low, high int64, ok bool) {
	span := int64(m.at - m.since)
	if !m.seen || span < int64(time.Second) {
		return 0, 0, false
	}
	// A millionth of the span, rounded down and up: each bound is divided by the
	// one that takes it away from the truth.
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

// gap is how far other lies above b (positive) or below it (negative), 0 where
// they meet.
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
