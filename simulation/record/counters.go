package record

import (
	"errors"
	"strings"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// LongerThanKept is the counter in Log.Counts of leases that were granted or extended with
// more validity than their servers keep the key, see simulation.Lease.
const LongerThanKept = "a lease was promised for longer than its servers keep it"

// lockErrors are the errors of locks, from the particular to the general. The first match
// names an error.
var lockErrors = []error{
	quorum.ErrTooSlow, quorum.ErrUnsettled, quorum.ErrTaken, wire.ErrSetMismatch, quorum.ErrNoQuorum, quorum.ErrExhausted, quorum.ErrClosed, quorum.ErrInterrupted,
	quorum.ErrNotHeld, quorum.ErrUnreachable, quorum.ErrReleased, quorum.ErrNotExtended, quorum.ErrLost, quorum.ErrExpired, quorum.ErrConfig, fencing.ErrStale,
}

// ErrorName names an error without the parts that depend on goroutine scheduling, such as
// which reply arrived last.
func ErrorName(err error) string {
	for _, known := range lockErrors {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "another error"
}

// Counts counts the situations that the checks look for, by their names. That a check found nothing proves
// little if its situation never occurred.
func (l Log) Counts() map[string]int {
	counts := make(map[string]int, 32)
	for e := range l.All() {
		if what := kinds[e.Kind].counter; what != "" {
			counts[what]++
		}
		switch e.Kind {
		case Counted:
			counts[e.Words]++
		case Suffered:
			if what := e.Fault.Traits().Counter; what != "" {
				counts[what]++
			}
		case Refused:
			counts["no lease: "+e.Words]++
		case Voted:
			if !strings.HasPrefix(e.Words, "failed") { // what failed is counted for what it is
				counts[e.Op+" "+e.Words]++
			}
		}
	}
	return counts
}
