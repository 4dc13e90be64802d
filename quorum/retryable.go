package quorum

import (
	"errors"

	"github.com/redquorum/redlock/quorum/wire"
)

// Retryable reports whether waiting and making the same call again can help. Acquire and Do wait
// on their own. So it is for TryAcquire, Extend, Inspect, Verify and Trust, and for a caller that
// goes on after Terms.MaxTries or Terms.MaxWait.
//
// It is false for nil, and if
//   - the program or its configuration has to change, or an operator has to do something: ErrConfig,
//     ErrHeldByCaller, ErrSetMismatch, ErrDuplicate, ErrCounter (unless a clock catches up soon),
//     ErrEviction, ErrHidden, or so many instances that fail for good, as with a wrong password, that
//     the others are no quorum;
//   - the caller's context ended (ErrInterrupted) or the Coordinator was closed (ErrClosed);
//   - it is about a lease that is over: ErrLost, ErrExpired, ErrReleased, ErrHandedOff, ErrNotHeld,
//     ErrUnreachable. By then, Do has called the work, and only the caller can decide whether to
//     repeat it;
//   - it is not an error of this package, such as the work's own in Do.
//
// Errors that are joined must all be retryable.
func Retryable(err error) bool {
	switch err {
	case nil:
		return false
	case ErrTaken, ErrSplit, ErrNoQuorum, ErrTooSlow, ErrUnsettled, ErrExhausted, ErrNotExtended, ErrQuarantined, ErrPending,
		ErrTimeout, ErrOverloaded, ErrOtherRun, ErrNotReplicated, ErrNotMaster:
		return true
	}
	switch e := err.(type) {
	case *WaitError:
		// Acquire would have waited on. But its last round may have failed for good as its time ended.
		round, ok := e.Last.(*RoundError)
		return e.Verdict == ErrExhausted && (!ok || round.permanentFailures() < round.blocking())
	case *RoundError:
		// If only some instances refuse because of the set, the others may be enough.
		asked := len(e.Votes) > 0 && e.Verdict == ErrSetMismatch
		return (asked || Retryable(e.Verdict)) && !e.hopeless(e.blocking())
	case *InstanceError:
		if e.Op == wire.Probe && errors.Is(e.Err, ErrOtherRun) {
			return false
		}
		return !permanent(e.Err) && !errors.Is(e.Err, ErrInterrupted)
	case interface{ Permanent() bool }:
		return !e.Permanent()
	case interface{ Unwrap() []error }:
		parts := e.Unwrap()
		for _, part := range parts {
			if !Retryable(part) {
				return false
			}
		}
		return len(parts) > 0
	}
	return Retryable(errors.Unwrap(err))
}

// hopeless reports whether so many instances failed permanently that no waiting helps, or none was
// asked for another reason than too much load or a lock that this process has.
func (e *RoundError) hopeless(blocking int) bool {
	unasked := len(e.Votes) == 0 && !errors.Is(e.Verdict, ErrTaken) && !errors.Is(e.Verdict, ErrOverloaded)
	return e.permanentFailures() >= blocking || unasked
}

// permanentFailures is how many requests failed for good.
func (e *RoundError) permanentFailures() (n int) {
	for _, ballots := range [][]Ballot{e.Votes, e.Raises} {
		for _, ballot := range ballots {
			if ballot.Vote.Err != nil && permanent(ballot.Vote.Err) {
				n++
			}
		}
	}
	return n
}

// blocking is how many instances can keep the others from being a quorum.
func (e *RoundError) blocking() int { return max(1, len(e.Votes)-e.Quorum+1) }
