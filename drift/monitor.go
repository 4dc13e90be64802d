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
// and receiving. Bounds age: they widen by MaxRate for each unit of time. An
// observation whose bounds don't meet the aged ones, by more than Tolerance, can
// only come from a step of the clock, or from a rate above MaxRate, which is as
// bad.
//
// Which way it errs: the local reference is the monotonic clock alone. After a
// suspension of this machine all instances seem to have jumped, and are
// reported; using the local wall clock to excuse them would also excuse a wrong
// time source that stepped them and this machine alike, and that is the case
// which breaks locks.
//
// A Monitor isn't safe for concurrent use.
type Monitor struct {
	// MaxRate is the largest believable difference of rates in millionths.
	MaxRate int64
	// Tolerance is the largest gap that is let pass, for servers that answer
	// with a clock reading they cached a little earlier.
	Tolerance time.Duration

	seen   bool
	bounds bounds
	at     time.Duration // local monotonic time that bounds refers to
	anchor bounds        // the first bounds since the last jump, for Rate
	since  time.Duration
}

// bounds holds an offset: server clock minus local monotonic clock, in
// nanoseconds since the Unix epoch. Invariant: low <= high.
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
	// Within is how long ago the last good observation was made: the step
	// happened since.
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
// one that was received before the newest says nothing new and is passed over.
func (m *Monitor) Observe(o Observation) (Jump, bool) {
	if o.Received < o.Sent || m.seen && o.Received < m.at {
		return Jump{}, false
	}
	server := o.Server.UnixNano()
	// The server's clock has whole microseconds, rounded down.
	fresh := bounds{low: server - int64(o.Received), high: server - int64(o.Sent) + int64(time.Microsecond)}
	if !m.seen {
		m.reset(fresh, o.Received)
		return Jump{}, false
	}
	age := o.Received - m.at
	aged := m.bounds.widen(int64(age)/1_000_000*m.MaxRate + m.MaxRate)
	if gap := aged.gap(fresh); gap != 0 {
		by := time.Duration(gap)
		if by > m.Tolerance || by < -m.Tolerance {
			m.reset(fresh, o.Received)
			return Jump{By: by, Within: age}, true
		}
		// Within the tolerance: the newer reading is as good as the bounds.
		m.bounds, m.at = fresh, o.Received
		return Jump{}, false
	}
	m.bounds = bounds{low: max(aged.low, fresh.low), high: min(aged.high, fresh.high)}
	m.at = o.Received
	return Jump{}, false
}

func (m *Monitor) reset(b bounds, at time.Duration) {
	m.seen, m.bounds, m.at, m.anchor, m.since = true, b, at, b, at
}

// Offset is the instance's clock minus the local wall clock, given the local
// Instant now, and how far the truth may be from that. ok is false before the
// first observation.
func (m *Monitor) Offset(now Instant) (offset, uncertainty time.Duration, ok bool) {
	if !m.seen {
		return 0, 0, false
	}
	local := now.Wall.UnixNano() - int64(now.Mono) // the local wall clock's own offset
	middle := m.bounds.low + (m.bounds.high-m.bounds.low)/2
	return time.Duration(middle - local), time.Duration((m.bounds.high - m.bounds.low) / 2), true
}

// Rate bounds the difference of rates since the last jump, in millionths: a
// clock that gains has positive ones. ok is false until a second observation
// came at least a second after the first.
func (m *Monitor) Rate() (low, high int64, ok bool) {
	span := int64(m.at - m.since)
	if !m.seen || span < int64(time.Second) {
		return 0, 0, false
	}
	perMillion := func(d int64) int64 { return d / (span / 1_000_000) }
	return perMillion(m.bounds.low - m.anchor.high), perMillion(m.bounds.high - m.anchor.low), true
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
