package quorum

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/drift"
)

// quarantine says whether one instance may vote. A vote once given must stand
// for a TTL; an instance that was restarted without its data, was replaced, or
// had its clock stepped forward may have forgotten some. After one maximal TTL
// every lease whose votes it could have forgotten is over ("delayed restarts" in
// the Redis document, enforced from the client's side).
//
// Time is the client's monotonic clock: a wall clock that is stepped forward
// would end a quarantine early, and one that stands still only prolongs it.
type quarantine struct {
	length time.Duration // MaxTTL and the drift allowance on it

	runID string // the server's present life; empty before the first probe

	restart term // why and until when: it may have been restarted
	jump    term // why and until when: its clock jumped
}

// term is one reason to stay away, until a monotonic time.
type term struct {
	until  time.Duration
	detail string
}

// identify takes in who the server says it is, and reports a new quarantine.
func (q *quarantine) identify(id Identity, now drift.Instant) *QuarantineError {
	before := q.runID
	if before == "" && id.RunID == "" && id.Uptime < 0 {
		return nil // hidden: nothing can be told
	}
	q.runID = id.RunID
	if id.Vouched {
		q.restart = term{}
		return nil
	}
	was := q.restart
	switch {
	case before != "" && id.RunID == "":
		// A restart may be what brought the settings back under which it hides.
		q.restart = term{until: now.Mono + q.length, detail: fmt.Sprintf("it doesn't tell its run id any more, which was %.8s", before)}
	case before != "" && id.RunID != before:
		// It may be the same data after a restart or a replica that never had
		// it, and its uptime doesn't tell which, nor does its persistence.
		q.restart = term{until: now.Mono + q.length, detail: fmt.Sprintf("its run id changed from %.8s to %.8s", before, id.RunID)}
	case before == "" && id.Uptime >= 0 && id.Uptime < q.length && !id.Durable:
		// Uptime is rounded down, so this counts from no earlier than the start.
		q.restart = term{until: now.Mono + q.length - id.Uptime, detail: fmt.Sprintf("it came up %v ago, and may have lost the votes it gave before (persistence: %s)", id.Uptime, orUnknown(id.Persistence))}
	}
	// Not again for the same start, seen once more with another rounding.
	if q.restart.until > was.until+time.Second {
		return q.restart.err(Restarted, now)
	}
	return nil
}

// jumped takes in a step of the server's clock.
func (q *quarantine) jumped(jump drift.Jump, now drift.Instant) *QuarantineError {
	q.jump = term{until: now.Mono + q.length, detail: jump.String()}
	return q.jump.err(ClockJumped, now)
}

// trust vouches for the server's present life. It isn't remembered: a life that
// comes back after another one stood in its place lacks that one's votes.
func (q *quarantine) trust(runID string) {
	if runID == q.runID {
		q.restart = term{}
	}
}

// check is nil if the instance may vote.
func (q *quarantine) check(now drift.Instant) *QuarantineError {
	// The longer reason is the one that counts.
	if q.jump.until > q.restart.until {
		return q.jump.err(ClockJumped, now)
	}
	return q.restart.err(Restarted, now)
}

func (t term) err(reason QuarantineReason, now drift.Instant) *QuarantineError {
	left := t.until - now.Mono
	if t.until == 0 || left <= 0 {
		return nil
	}
	return &QuarantineError{Reason: reason, Detail: t.detail, Remaining: left, Until: now.Wall.Add(left)}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
