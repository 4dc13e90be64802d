package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// All is every scenario, in the order of the list.
func All() []Scenario {
	return []Scenario{
		pauseAfterCheck(),
		delayedWrite(), repeatedWrite(),
		pauseBeforeCheck(), pausedAndSteppedBack(), suspendedBeforeCheck(), frozenBeforeCheck(),
		clockForward(), clockBack(), clocksForward(), twoClocksForward(), clocksApart(), clockSlow(), twoMinutesAhead(), twoMinutesSetRight(),
		clientClockBack(), clientClockForward(),
		clockRates(), coveredRates(), tenths(),
		crashWithoutFsync(), crashWithinASecond(), crashWithFsync(), voteFromAnEarlierLife(), voteFoundMissing(), countersASecondOld(),
		failoverToLaggard(), failoverToEqual(), replicasBehind(), replicasWithOlderCounters(),
		replicaDown(), countedFromWait(), waitPastLease(), waitPastTimeout(),
		lateSet(), setInAHungServer(), lateSetOnOne(), sameValueAgain(),
		repliesLost(), sentAgain(),
		extensionRevives(), extensionCountedLate(), extensionInPart(), extensionAfterRelease(), extensionFrees(), extensionForEver(),
		splitVotes(),
		serverTwice(), serversApart(),
		differentSets(), majorityOfReachable(), setsNeverMet(),
		suspended(), suspendedFrozen(),
		notAtomic(),
		blindDelete(), deleteAfterGet(),
		even(), mOfN(),
		bareMajority(),
		tokenAfterLock(), currentToken(), naiveMaximum(), guardOnWrites(),
		evicted(), flushed(), evictedFromFive(),
		oneHangs(),
		restartBehindProxy(), promotionWithoutRestart(),
		switchedAddress(), addressComesBack(), addressOfASpare(),
		pausedHandingOff(), lateExtension(), handleTwice(),
		splitBrain(),
		overwritten(),
		waitingForServers(), waitingForKey(),
		holderCrashes(), partitioned(), requestsCut(), repliesCut(),
		wakeUpLost(), roundLost(), cohortCrashes(),
	}
}

// ByID gives the scenario of that ID, whatever its case. The error Is ErrUnknown,
// and lists the IDs.
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
