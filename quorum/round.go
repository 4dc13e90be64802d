package quorum

import (
	"errors"
	"iter"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/internal/settlement"
	"github.com/redquorum/redlock/quorum/wire"
)

// round decides one attempt to win a lease. It is a value without I/O, clock or lock: step takes in an answer, and
// returns what is to be sent next. So all orders of answers can be tried.
//
// It has two stages. In the first the servers vote. When a quorum has granted, the round chooses its token,
// usually the largest of their counters. The second stage raises the counters that are lower, or may be older
// than tokens that were given before. The round is won when a quorum has the token. Those servers are its
// settled quorum. Package settlement has the choice, and the argument why tokens rise.
//
// It is decided as soon as the votes allow it.
type round struct {
	rules   settlement.Rules
	decider int  // the server that is asked first, and the others only if it granted; -1: all at once
	resumes bool // only servers count that still had the value of the lease that was handed off
	stage   stage
	votes   ballots        // per server
	tally   majority.Tally // of the votes
	token   fencing.Token  // once chosen
	settled majority.Tally // in the second stage: Granted counts servers that have the token
	why     error          // once lost: one of this package's errors itself, and never wrapped
	raises  []Ballot       // why servers that granted don't have the token
}

type stage uint8

const (
	voting stage = iota
	raising
	won
	lost
)

// order is a request that a round needs: an Acquire, or a Raise to its token.
type order struct {
	i  int // the server
	op wire.Op
}

// newRound begins a round, and returns the first orders. No server has answered.
func newRound(rules settlement.Rules, votes ballots, decider int, resumes bool) (*round, []order) {
	all := majority.Majority{N: len(votes), Q: rules.Quorum}
	r := &round{
		rules: rules, decider: decider, resumes: resumes, votes: votes,
		tally: majority.Tally{Majority: all}, settled: majority.Tally{Majority: all},
	}
	if decider >= 0 {
		return r, []order{{decider, wire.Acquire}}
	}
	return r, r.askAllBut(-1)
}

func (r *round) askAllBut(but int) []order {
	orders := make([]order, 0, len(r.votes))
	for i := range r.votes {
		if i != but {
			orders = append(orders, order{i, wire.Acquire})
		}
	}
	return orders
}

func (r *round) decided() bool { return r.stage >= won }

// step takes in server i's answer to an order, and returns the orders that follow from it.
func (r *round) step(i int, op wire.Op, ballot *Ballot) []order {
	switch {
	case r.decided():
		return nil
	case op == wire.Raise:
		r.countRaise(i, ballot)
		return nil
	}
	r.votes[i] = ballot
	outcome := ballot.Vote.Outcome
	if r.resumes && outcome == wire.Granted && !ballot.Vote.Replaced {
		// The key had gone, so another client may have had the lock there since. As in
		// an extension, a server on which the lease has to be restored doesn't count.
		outcome = wire.Refused
	}
	verdict := r.tally.Count(outcome)
	switch {
	case r.stage == raising:
		return r.settle(i) // a late vote may still help
	case verdict == majority.Lost:
		r.lose(r.reason())
	case i == r.decider && outcome == wire.Refused:
		r.lose(ErrTaken)
	case i == r.decider && outcome == wire.Failed:
		r.lose(ErrNoQuorum) // nothing is known of the lock
	case verdict == majority.Won:
		return r.choose()
	case i == r.decider:
		return r.askAllBut(i)
	}
	return nil
}

// choose ends the first stage if a token can be chosen, which fixes the token. Otherwise
// the round goes on voting while the missing votes can help.
func (r *round) choose() (orders []order) {
	token, agree := r.rules.Choose(r.grants())
	if agree < r.rules.Quorum {
		if agree+r.tally.Missing() < r.rules.Quorum {
			for i := range r.votes {
				r.blame(i, r.rules.Obstacle(&r.votes[i].Vote, token))
			}
			r.lose(ErrUnsettled)
		}
		return nil
	}
	r.stage, r.token = raising, token
	for i := range r.votes {
		if r.votes[i].Vote.Err != ErrPending {
			orders = append(orders, r.settle(i)...)
		}
	}
	return orders
}

// grants iterates over the votes.
func (r *round) grants() iter.Seq[*wire.Vote] {
	return func(yield func(*wire.Vote) bool) {
		for i := range r.votes {
			if !yield(&r.votes[i].Vote) {
				return
			}
		}
	}
}

// settle counts server i for the token, as far as its vote decides it, or has it raised.
func (r *round) settle(i int) []order {
	switch vote := &r.votes[i].Vote; {
	case vote.Outcome != wire.Granted || r.resumes && !vote.Replaced:
		r.countSettled(wire.Failed)
	case settlement.IsBehind(vote, r.token):
		return []order{{i, wire.Raise}}
	default:
		r.countToken(i)
	}
	return nil
}

// countRaise takes in the answer to a Raise. Granted means that the key still held the value. A counter that is
// raised after the key was lost proves nothing.
func (r *round) countRaise(i int, ballot *Ballot) {
	//guard:raise-granted  a raise counts only if the instance confirms that the key is still the lease's
	if ballot.Vote.Outcome == wire.Granted {
		r.countToken(i)
		return
	}
	r.raises = append(r.raises, *ballot)
	r.countSettled(wire.Failed)
}

// countToken counts server i, which has the token.
func (r *round) countToken(i int) {
	if why := settlement.Counts(&r.votes[i].Vote, r.token); why != nil {
		r.blame(i, why)
		r.countSettled(wire.Failed)
		return
	}
	r.countSettled(wire.Granted)
}

func (r *round) countSettled(o wire.Outcome) {
	if r.decided() {
		return
	}
	switch r.settled.Count(o) {
	case majority.Won:
		r.stage = won
	case majority.Lost:
		r.lose(ErrUnsettled)
	}
}

// blame notes why server i, which granted, doesn't have the token.
func (r *round) blame(i int, why error) {
	if why != nil {
		r.raises = append(r.raises, Ballot{Instance: r.votes[i].Instance, Vote: wire.Vote{Err: why}})
	}
}

// lose ends the round, whether or not it was won.
func (r *round) lose(why error) { r.stage, r.why = lost, why }

// reason says why a round was lost in its first stage.
func (r *round) reason() error {
	otherSet := 0
	for i := range r.votes {
		if errors.Is(r.votes[i].Vote.Err, ErrSetMismatch) {
			otherSet++
		}
	}
	switch {
	// Without these failures the round could have been won.
	case r.tally.FailuresDecide() && r.tally.Failed-otherSet < r.tally.Blocking():
		return ErrSetMismatch
	case !r.resumes && !r.tally.FailuresDecide():
		return ErrTaken
	case r.resumes && r.tally.RefusalsDecide():
		return ErrLost // another holder's key, or none, is in the lease's place
	default:
		return ErrNoQuorum // with these failures the refusals say nothing of the lock
	}
}
