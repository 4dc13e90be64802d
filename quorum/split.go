package quorum

import (
	"context"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// This file is about clients that try at once. Each may get some of the votes and none a quorum.
// If all of them then gave up nobody would have the lock, though it was free.

// contend is one try of a caller that doesn't wait for the lock: a round, and others if the votes were split
// between clients that tried at once. Then each of them deletes what it has set. In its next round it asks one server
// first, the same for all clients, and the others only if that one granted.
//
// Invariant: of the clients whose votes were split, one goes on until it has the lock, or sees who has it. Only the client
// with the first server's vote asks the others, so the keys that are in its way are those of earlier rounds, which are
// deleted within a round trip. A client that is refused there doesn't simply believe that the other one wins: it looks
// until a client has a quorum, and asks again while none has.
//
// A lock that is held, and one that nobody else wants, cost one round.
func (c *Coordinator) contend(ctx context.Context, all keys, try int) (*Lease, *RoundError) {
	if err := c.takenHere(all); err != nil {
		return nil, err
	}
	began := c.reader.Now()
	a := c.newAttempt(all, try)
	a.once = true
	lease, first := a.run(ctx)
	if first == nil || !c.isSplit(first) {
		return lease, first
	}
	pause := max(drift.Elapsed(began, c.reader.Now()), c.cfg.Lab.BackoffMin/2)
	var votes []Ballot
	for {
		left := tryFor*c.cfg.InstanceTimeout - drift.Elapsed(began, c.reader.Now())
		if left <= 0 {
			return nil, first.ending(ErrSplit, nil, nil)
		}
		select {
		case <-c.clock.After(min(pause/2+c.random.jitter(pause/2), left)):
		case <-ctx.Done():
			return nil, first.ending(ErrInterrupted, causeOf(ctx), nil)
		case <-c.background.closing:
			return nil, first.ending(ErrClosed, nil, nil)
		}
		pause = min(2*pause, c.cfg.InstanceTimeout/2)
		if a != nil {
			votes = a.ballots() // with those that have come since
			if rivalsIn(votes).most >= c.majority.Q {
				return nil, first.ending(ErrTaken, nil, holderIn(votes, all, c.majority))
			}
		}
		decider := c.decider(votes)
		a = c.newAttempt(all, try)
		a.once, a.decider = true, decider
		lease, lost := a.run(ctx)
		//guard:split-is-resolved  a try whose votes were split goes on until one of the clients has the lock
		if lost == nil || lost.Verdict != ErrTaken && !failedAt(decider, lost) {
			return lease, lost
		}
		if decider >= 0 && lost.Votes[decider].Vote.Outcome == wire.Granted && left > tryFor*c.cfg.InstanceTimeout/2 {
			continue // keys of earlier rounds were in the way
		}
		a = nil
		found := c.seeHolder(ctx, all, lost.Votes)
		if held := found.Held(); held != nil {
			held.Value = "" // it is enough to release the lock
			return nil, first.ending(ErrTaken, nil, held)
		}
		votes = found.Votes
		if c.mayBeHeld(votes) || c.mayBeHeld(lost.Votes) || outcomesOf(votes).failed >= c.majority.Blocking() {
			return nil, lost
		}
	}
}

// failedAt reports whether a round was lost because the server that was asked first failed. Then the next one decides.
func failedAt(decider int, lost *RoundError) bool {
	return lost.Verdict == ErrNoQuorum && decider >= 0 && lost.Votes[decider].Vote.Outcome == wire.Failed
}

// mayBeHeld reports whether a single client was seen, which may have a quorum together with
// servers that failed.
func (c *core) mayBeHeld(votes []Ballot) bool {
	t := outcomesOf(votes)
	return t.refused > 0 && t.refused+t.failed >= c.majority.Q && rivalsIn(votes).different <= 1
}

// isSplit reports whether the votes of a lost round were split between clients: no value was seen on a quorum, and
// more than one client has votes.
func (c *core) isSplit(lost *RoundError) bool {
	r := rivalsIn(lost.Votes)
	return lost.Verdict == ErrTaken && r.most < c.majority.Q && (r.granted > 0 || r.different > 1)
}

// decider is the server that decides a split: the first that voted, in an order that is the same for all
// clients and keys. It is -1 if there is none.
//
// If a client died and left its key there, tries whose votes are split end with ErrSplit until that key has
// expired. The next server could decide instead, but a client would have to look for longer to tell a dead
// client's key from those of clients that try again.
func (c *core) decider(votes []Ballot) int {
	for _, i := range c.deciders {
		if votes[i].Vote.Outcome != wire.Failed {
			return i
		}
	}
	return -1
}

// ending is the error of a try that ended after the round. Hooks have the round's own.
func (e *RoundError) ending(verdict, cause error, holder *Holder) *RoundError {
	over := *e
	over.Verdict, over.Cause, over.Holder = verdict, cause, holder
	return &over
}

// seeHolder looks at the key that was in the way, until a client is seen to have it, or every
// instance has answered.
func (c *core) seeHolder(ctx context.Context, all keys, votes []Ballot) Inspection {
	at := all.at(inTheWay(votes))
	key := at
	if key == "" {
		key = all[0]
	}
	ballots, _ := c.lookAtAll(ctx, wire.Request{Op: wire.Look, Keys: []string{key}}, func(ballots []Ballot) bool {
		return rivalsIn(ballots).most >= c.majority.Q
	})
	found := inspection(key, c.majority, ballots)
	for i := range found.Holders {
		found.Holders[i].Key = at
	}
	return found
}

// takenHere is an error if this Coordinator has one of the locks. Then no instance is asked.
func (c *core) takenHere(all keys) *RoundError {
	for _, key := range all {
		holder := c.queues.holder(key)
		if holder == nil {
			continue
		}
		left := holder.Validity()
		if left <= 0 {
			continue
		}
		err := c.roundError(wire.Acquire, all, ErrTaken)
		err.Holder = c.holderHere(holder, left)
		if len(all) > 1 {
			err.Holder.Key = key
		}
		return err
	}
	return nil
}

// holderHere describes a lease of this Coordinator as the holder.
func (c *core) holderHere(l *Lease, left time.Duration) *Holder {
	return &Holder{Here: true, Owner: c.cfg.Owner, Note: l.terms.Note, Remaining: left, Held: true}
}
