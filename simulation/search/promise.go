package search

import "github.com/redquorum/redlock/simulation"

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
func promiseOf(kind simulation.ViolationKind) Promise {
	switch kind {
	case simulation.TwoHolders, simulation.Overvalued, simulation.StaleWrite, simulation.LostUpdate:
		return 1
	case simulation.TokenOrder:
		return 2
	case simulation.NoProgress, simulation.NeverFree, simulation.Stuck:
		return 3
	case simulation.LeftOver, simulation.KeyLeft:
		return 5
	}
	return 0
}

// unexcused reports whether no fault excuses violations of a kind.
func unexcused(kind simulation.ViolationKind) bool {
	switch kind {
	case simulation.LeftOver, simulation.Stuck, simulation.Panicked, simulation.Unsimulated, simulation.NoStep, simulation.KeyLeft:
		return true
	}
	return false
}
