package quorum

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/drift"
)

// errand is one command to one instance, for somebody who doesn't wait for it. To a
// Starter it costs no goroutine, unless the server must be asked first who it is;
// to any other Instance it goes on one.
type errand struct {
	m      *member
	ctx    context.Context // detached, for its values
	group  *errgroup.Group // of goroutines
	op     Op
	fence  bool
	voting bool // a vote on a new lease, see member.vote

	began, sent drift.Instant
	to          returner
}

// returner is who sent an errand.
type returner interface {
	// returned is called with the answer, once, on a goroutine that other answers
	// wait for: it doesn't block.
	returned(ballot Ballot)
}

// run sends the command. now is as in work.begin: taken before anything is sent, so that
// the time-out counts from no later than this.
//
// A plain errgroup.Group, never errgroup.WithContext: that one cancels the other
// instances' commands at the first error, and one instance's error must not cost
// another's vote. For the same reason what it runs returns nothing. What goes to a
// Starter is in no group: the goroutines are the instance's own, and carry many
// callers' commands.
func (e *errand) run(cmd Command, now drift.Instant) {
	e.op, e.fence = cmd.Op, cmd.Fence
	if e.m.starter == nil {
		e.runApart(cmd)
		return
	}
	if e.began = now; now == (drift.Instant{}) {
		e.began = e.m.reader.Now()
	}
	entered, judged, err := e.m.admit(e.voting, e.began)
	switch {
	case !entered:
		e.to.returned(Ballot{Instance: e.m.name, Vote: Vote{Unsent: true, Err: ErrOverloaded}})
	case !judged:
		e.identifyApart(cmd)
	case err != nil:
		e.end(Ballot{Vote: Vote{Unsent: true, Err: err}})
	default:
		e.send(cmd, e.began)
	}
}

// runApart sends the command on a goroutine of its own. It is a function of its own so
// that only here the command has to be kept on the heap.
func (e *errand) runApart(cmd Command) {
	e.group.Go(func() error {
		if e.voting {
			e.to.returned(e.m.vote(e.ctx, cmd))
		} else {
			e.to.returned(e.m.ask(e.ctx, cmd))
		}
		return nil
	})
}

// identifyApart has the server asked who it is before it votes.
func (e *errand) identifyApart(cmd Command) {
	e.group.Go(func() error {
		e.identify(cmd)
		return nil
	})
}

func (e *errand) identify(cmd Command) {
	ctx, cancel := e.m.clock.WithTimeout(e.ctx, e.m.timeout)
	defer cancel()
	if err := e.m.mayVote(ctx, 0); err != nil {
		now := e.m.reader.Now()
		e.end(Ballot{Vote: Vote{Unsent: true, Err: e.m.hideTimeout(err)}, Latency: drift.Elapsed(e.began, now)})
		return
	}
	e.send(cmd, e.m.reader.Now())
}

// send hands the command to the instance; what is left of the time-out counts.
func (e *errand) send(cmd Command, now drift.Instant) {
	e.sent = now
	left := e.m.timeout
	if now != e.began {
		left = max(left-drift.Elapsed(e.began, now), 1)
	}
	cmd.Clock = cmd.Clock || e.m.wantsClock(cmd.Op)
	e.m.starter.Start(cmd, left, e)
}

// Receive takes in the instance's vote.
func (e *errand) Receive(vote Vote) {
	received := e.m.reader.Now()
	ballot := e.m.answered(vote, e.sent, received)
	if !e.voting || ballot.Vote.Outcome != Granted {
		e.end(ballot)
		return
	}
	if ballot = e.m.plausible(ballot, e.fence); ballot.Vote.Outcome != Granted {
		e.end(ballot)
		return
	}
	// See member.vote: a grant is counted only from a server that may vote.
	judged, err := e.m.standing(ballot.Vote.Epoch, received)
	switch {
	case !judged:
		e.group.Go(func() error {
			e.confirm(ballot, received)
			return nil
		})
	case err != nil:
		e.end(e.m.unproven(ballot, err))
	default:
		e.end(ballot)
	}
}

// confirm has the server asked who it is after it granted.
func (e *errand) confirm(ballot Ballot, received drift.Instant) {
	left := max(e.m.timeout-drift.Elapsed(e.began, received), 1)
	ctx, cancel := e.m.clock.WithTimeout(e.ctx, left)
	defer cancel()
	if err := e.m.mayVote(ctx, ballot.Vote.Epoch); err != nil {
		ballot = e.m.unproven(ballot, err)
	}
	e.end(ballot)
}

func (e *errand) end(ballot Ballot) {
	ballot.Instance = e.m.name
	e.m.leave()
	e.to.returned(ballot)
}

// plausible turns a grant with a token that is none into a failed vote.
func (m *member) plausible(ballot Ballot, fence bool) Ballot {
	if fence && !ballot.Vote.Token.Valid() {
		ballot.Vote = Vote{Err: fmt.Errorf("it granted with the token %d, which is none", ballot.Vote.Token)}
	}
	return ballot
}

// unproven is a grant of a server that may not vote.
func (m *member) unproven(ballot Ballot, err error) Ballot {
	// Not Unsent: the key is there, and has to be deleted.
	ballot.Vote = Vote{Err: m.hideTimeout(err), Epoch: ballot.Vote.Epoch, Replaced: ballot.Vote.Replaced}
	return ballot
}
