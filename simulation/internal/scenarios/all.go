package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// All returns every scenario, in the order of the list.
func All() []Scenario {
	all := slices.Concat(
		pauseAfterCheck(), delayedWrite(), pauseBeforeCheck(), serverClocks(), clientClocks(), clockRates(), crashWithoutFsync(),
		failovers(), waits(), lateSets(), repliesLost(), extensions(), splitVotes(), serverTwice(), differentSets(), suspensions(),
		notAtomic(), blindDelete(), even(), bareMajority(), tokenAfterLock(), naiveMaximum(), guardOnWrites(), evictions(),
		oneHangs(), switchedAddresses(), splitBrain(), overwritten(), waiting(),
		holderCrashes(), partitions(),
	)
	for i := range all {
		all[i].Work = workload(all[i].Scripts)
	}
	return all
}

// ByID returns the scenario with the ID, in any case. The error Is ErrUnknown and lists the
// IDs.
func ByID(id string) (Scenario, error) {
	all := All()
	if i := slices.IndexFunc(all, func(s Scenario) bool { return strings.EqualFold(s.ID, id) }); i >= 0 {
		return all[i], nil
	}
	ids := make([]string, len(all))
	for i, s := range all {
		ids[i] = s.ID
	}
	return Scenario{}, fmt.Errorf("%w: no scenario %q; there are %s", ErrUnknown, id, strings.Join(ids, ", "))
}
