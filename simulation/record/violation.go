package record

import (
	"fmt"
	"time"
)

// ViolationKind is the kind of a violation.
type ViolationKind string

// The kinds.
const (
	// TwoHolders: a client acted as the holder, or believed to be it, after another client had got the
	// lock. A client that had asked before the other one got it, and got a lease without validity, counts once it acts.
	TwoHolders ViolationKind = "two holders"
	// StaleWrite: a write took effect after a later holder's operation.
	StaleWrite ViolationKind = "stale write"
	// LostUpdate: a write replaced a version that its writer hadn't read.
	LostUpdate ViolationKind = "lost update"
	// TokenOrder: a token was issued twice, or isn't larger than the token of a lease
	// that was granted before this one was requested.
	TokenOrder ViolationKind = "token order"
	// Overvalued: when a lease was granted or extended, fewer than a quorum of servers
	// had its key for as long as its validity.
	Overvalued ViolationKind = "validity beyond reality"
	// NoProgress: no process got a lock for all of simulation.Config.Progress, although processes
	// kept trying and a quorum of servers was healthy and reachable.
	NoProgress ViolationKind = "no progress"
	// NeverFree: a lock could not be acquired long after everything had ended.
	NeverFree ViolationKind = "never free"
	// Stuck: the run didn't end.
	Stuck ViolationKind = "stuck"
	// LeftOver: goroutines remained after all Coordinators had been closed.
	LeftOver ViolationKind = "goroutines left over"
	// Panicked: the code under test panicked, or its setup or Close failed.
	Panicked ViolationKind = "panic"
)

// Violation is one finding of a check.
type Violation struct {
	Kind ViolationKind
	// At is the true time.
	At   time.Duration
	Text string
	// Assumption is the number of the assumption of package quorum that the check saw
	// broken, 0 if it saw none. If one is broken, the violation breaks no guarantee.
	// 1: a request took effect at the resource after its lease had expired, or after a
	// later request under the same lease. 3: a server forgot its vote before the
	// reply had arrived.
	Assumption int
}

// HasStack reports whether the Text contains a stack, which differs from run to run.
func (v *Violation) HasStack() bool {
	return v.Kind == Stuck || v.Kind == LeftOver || v.Kind == Panicked
}

// String is one line, or several with a stack.
func (v Violation) String() string { return fmt.Sprintf("%v at %v: %s", v.Kind, v.At, v.Text) }
