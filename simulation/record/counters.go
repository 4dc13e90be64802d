package record

import (
	"errors"
	"slices"
	"strings"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

var counterNames []string

// Counter adds a name to Counters: of a situation that has no event but matters to a check.
func Counter(name string) string {
	counterNames = append(counterNames, name)
	return name
}

// LongerThanKept is the counter in Log.Counts of leases that were granted or extended with
// more validity than their servers keep the key, see simulation.Lease.
var LongerThanKept = Counter("a lease was promised for longer than its servers keep it")

// lockErrors are the errors of locks, from the particular to the general. The first match
// names an error.
var lockErrors = []error{
	quorum.ErrTooSlow, quorum.ErrUnsettled, quorum.ErrTaken, wire.ErrSetMismatch, quorum.ErrNoQuorum, quorum.ErrExhausted, quorum.ErrClosed, quorum.ErrInterrupted,
	quorum.ErrNotHeld, quorum.ErrUnreachable, quorum.ErrReleased, quorum.ErrNotExtended, quorum.ErrLost, quorum.ErrExpired, quorum.ErrConfig, fencing.ErrStale,
}

const anotherError = "another error"

// ErrorName names an error without the parts that depend on goroutine scheduling, such as
// which reply arrived last.
func ErrorName(err error) string {
	for _, known := range lockErrors {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return anotherError
}

const noLease = "no lease: "

// Counts counts the situations that the checks look for. That a check found nothing proves
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
		case Refused:
			counts[noLease+e.Words]++
		case Voted:
			if !strings.HasPrefix(e.Words, "failed") { // what failed is counted for what it is
				counts[e.Op+" "+e.Words]++
			}
		}
	}
	return counts
}

// Counters lists the names of all counters of Log.Counts, sorted. Counters that are missing
// in Log.Counts were never reached.
func Counters() []string {
	names := slices.Clone(counterNames)
	for _, k := range kinds {
		if k.counter != "" {
			names = append(names, k.counter)
		}
	}
	for _, v := range lockErrors {
		names = append(names, noLease+v.Error())
	}
	names = append(names, noLease+anotherError)
	for op := wire.Acquire; op < wire.Probe; op++ {
		for _, o := range []wire.Outcome{wire.Granted, wire.Refused} {
			if op == wire.Tick && o == wire.Refused {
				continue // it can't be
			}
			names = append(names, op.String()+" "+o.String())
		}
	}
	slices.Sort(names)
	return names
}
