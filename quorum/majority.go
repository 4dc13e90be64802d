package quorum

import "github.com/redquorum/redlock/quorum/wire"

// Majority is how many of N instances must grant: Q of them. Two quorums share
// an instance, which is all that mutual exclusion rests on: Q >= N/2+1.
type Majority struct{ N, Q int }

// MajorityOf is the smallest quorum of n instances. An even n buys nothing over
// n-1: it needs one more grant and survives no more failures.
func MajorityOf(n int) Majority {
	//guard:two-quorums-meet  any two quorums share an instance
	return Majority{N: n, Q: n/2 + 1}
}

// Blocking is how many instances that don't grant lose a round: N-Q+1.
func (m Majority) Blocking() int { return m.N - m.Q + 1 }

// Verdict is the state of a vote.
type Verdict uint8

// The verdicts.
const (
	// Pending: the answers so far allow either end.
	Pending Verdict = iota
	// Won: a quorum granted, whatever the others say.
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

// Tally counts votes. Each instance must be counted once.
type Tally struct {
	Majority
	Granted, Refused, Failed int
}

// Count adds one vote and gives the verdict at this moment: a round is decided
// as soon as it can be, not when the slowest instance has answered.
func (t *Tally) Count(o wire.Outcome) Verdict {
	switch o {
	case wire.Granted:
		t.Granted++
	case wire.Refused:
		t.Refused++
	default:
		// Not a refusal, and never a grant: the instance may have done it.
		//guard:unknown-is-no-grant  an unknown vote is not counted as a grant
		t.Failed++
	}
	return t.Verdict()
}

// Verdict is the verdict on the votes counted so far.
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

// Reason says why a lost round was lost. With so many failures that the
// refusals made no difference it is ErrNoQuorum, which says nothing of the
// lock; otherwise somebody else's key decided, and it is ErrTaken.
func (t *Tally) Reason() error {
	if t.Failed >= t.Blocking() {
		return ErrNoQuorum
	}
	return ErrTaken
}
