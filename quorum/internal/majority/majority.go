// Package majority counts votes.
package majority

import "github.com/redquorum/redlock/quorum/wire"

// Majority says that Q of N instances must grant. Two quorums share an instance, because
// Q >= N/2+1. Mutual exclusion rests on nothing else.
type Majority struct{ N, Q int }

// Of returns the smallest quorum of n instances. An even n is no better than n-1: it needs
// one more grant and survives no more failures.
func Of(n int) Majority {
	//guard:two-quorums-meet  any two quorums share an instance
	return Majority{N: n, Q: n/2 + 1}
}

// Blocking is how many instances that don't grant lose a round: N-Q+1.
func (m Majority) Blocking() int { return m.N - m.Q + 1 }

// Verdict is what the votes so far decide.
type Verdict uint8

// The verdicts.
const (
	// Pending: the round can still be won and lost.
	Pending Verdict = iota
	// Won: a quorum granted, whatever the others answer.
	Won
	// Lost: fewer than a quorum can still grant.
	Lost
)

// String names the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case Won:
		return "won"
	case Lost:
		return "lost"
	default:
		return "pending"
	}
}

// Tally counts votes. The caller must count each instance once.
type Tally struct {
	Majority
	Granted, Refused, Failed int
}

// Count adds a vote and returns the verdict. A round is decided as soon as the votes allow
// it, not when the slowest instance has answered.
func (t *Tally) Count(o wire.Outcome) Verdict {
	switch o {
	case wire.Granted:
		t.Granted++
	case wire.Refused:
		t.Refused++
	default:
		// Neither a refusal, because the instance may have done it, nor a grant.
		//guard:unknown-is-no-grant  an unknown vote is not counted as a grant
		t.Failed++
	}
	return t.Verdict()
}

// Missing is how many votes have not been counted.
func (t *Tally) Missing() int { return t.N - t.Granted - t.Refused - t.Failed }

// Verdict is what the votes counted so far decide.
func (t *Tally) Verdict() Verdict {
	switch {
	//guard:quorum-of-all  a round is won by a quorum of all instances, not of those that answered
	//guard:decided-early  a round is won as soon as a quorum has granted
	case t.Granted >= t.Q:
		return Won
	case t.Refused+t.Failed >= t.Blocking():
		return Lost
	default:
		return Pending
	}
}

// FailuresDecide reports whether the failures alone lose the round. Then the refusals made
// no difference, and nothing is known of the lock.
func (t *Tally) FailuresDecide() bool { return t.Failed >= t.Blocking() }

// RefusalsDecide reports whether the refusals alone lose the round.
func (t *Tally) RefusalsDecide() bool { return t.Refused >= t.Blocking() }
