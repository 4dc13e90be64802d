package search

import "github.com/redquorum/redlock/simulation/record"

// Promise is a guarantee of package quorum, by its number there. 0 is none.
type Promise int

// promises are their names, in package quorum's words.
var promises = [...]string{
	1: "mutual exclusion",
	2: "order",
	3: "liveness",
	4: "honesty",
	5: "cleanliness",
}

// String is its name.
func (p Promise) String() string { return promises[p] }

// promiseOf is the promise that a violation of a kind breaks if the assumptions hold. A panic
// breaks none of them, but is an error in any case.
func promiseOf(kind record.ViolationKind) Promise {
	switch kind {
	case record.TwoHolders, record.Overvalued, record.StaleWrite, record.LostUpdate:
		return 1
	case record.TokenOrder:
		return 2
	case record.NoProgress, record.NeverFree, record.Stuck:
		return 3
	case record.LeftOver, record.KeyLeft:
		return 5
	}
	return 0
}

// unexcused reports whether no fault excuses violations of a kind.
func unexcused(kind record.ViolationKind) bool {
	switch kind {
	case record.LeftOver, record.Stuck, record.Panicked, record.Unsimulated, record.NoStep, record.KeyLeft:
		return true
	}
	return false
}
