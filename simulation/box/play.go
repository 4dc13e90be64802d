package box

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/record"
)

// Play is a schedule that was played, and what came of it.
type Play struct {
	Schedule Schedule      `json:"schedule"`
	TTL      time.Duration `json:"ttl_ns"`
	// Servers is how many servers there were.
	Servers  int       `json:"servers,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	// Record is what happened, without any Truth. A report in JSON has no room for it.
	Record record.Log `json:"-"`
	// Struck has what was done while a client held the lock or asked for it.
	Struck map[verb]bool `json:"-"`
}

// kinds returns the kinds of its findings, the worst first.
func (p Play) kinds() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return !p.shows(k) })
}

// shows reports whether it has a finding of the kind.
func (p Play) shows(kind Kind) bool {
	return slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Kind == kind })
}

// struck reports whether a fault has struck in the play.
func (p Play) struck(fault string) bool {
	return slices.ContainsFunc(faultNamed(fault).own, func(do verb) bool { return p.Struck[do] })
}

// doubtful reports whether a busy machine may be all that the play shows: what was found depends on a time.
func (p Play) doubtful() bool {
	return len(p.Findings) > 0 && !slices.ContainsFunc(p.Findings, func(f Finding) bool {
		return !slices.Contains([]Kind{NoProgress, LossUntold, OverOnArrival}, f.Kind)
	})
}
