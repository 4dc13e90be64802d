package scenarios

import (
	"slices"

	"github.com/redquorum/redlock/simulation/internal/byname"
)

// All returns every scenario, in the order of the list.
func All() []Scenario {
	return slices.Concat(
		pauseAfterCheck(), delayedWrite(), pauseBeforeCheck(), serverClocks(), clientClocks(), clockRates(), crashWithoutFsync(),
		failovers(), lateSets(), repliesLost(), extensions(), splitVotes(), serverTwice(), differentSets(), suspensions(),
		notAtomic(), blindDelete(), tokenAfterLock(), naiveMaximum(), guardOnWrites(), evictions(),
		oneHangs(), switchedAddresses(), splitBrain(), overwritten(), waiting(),
		holderCrashes(), partitions(),
	)
}

// ByID returns the scenario with the ID, in any case. The error Is byname.ErrUnknown and lists
// the IDs.
func ByID(id string) (Scenario, error) {
	return byname.Find("scenario", id, All(), func(s Scenario) string { return s.ID })
}
