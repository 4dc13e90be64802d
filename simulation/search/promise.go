package search

import "github.com/redquorum/redlock/simulation"

// Promise is one of package quorum's guarantees, by its number there. 0 is none.
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

// promiseOf is the promise that a violation of a kind breaks where the assumptions hold.
// What panics, or can't be simulated, breaks none of them: it is wrong anyway.
func promiseOf(kind simulation.ViolationKind) Promise {
	switch kind {
	case simulation.TwoHolders, simulation.Overvalued, simulation.StaleWrite, simulation.LostUpdate:
		return 1
	case simulation.TokenOrder:
		return 2
	case simulation.NoProgress, simulation.NeverFree, simulation.Stuck:
		return 3
	case simulation.LeftOver:
		return 5
	}
	return 0
}

// unexcused reports whether a violation of a kind is one whatever the world does.
func unexcused(kind simulation.ViolationKind) bool {
	switch kind {
	case simulation.LeftOver, simulation.Stuck, simulation.Panicked, simulation.Unsimulated:
		return true
	}
	return false
}
