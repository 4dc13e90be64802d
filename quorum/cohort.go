package quorum

import (
	"context"

	"github.com/redquorum/redlock/drift"
)

// A cohort is the holders of this process that follow each other under one value: each
// hands the lock on to the next without a word to the instances. The instances were asked
// for time for one holder at a time, and which goroutine that is concerns nobody else.
// (D. Dice, V. J. Marathe, N. Shavit, "Lock Cohorting", PPoPP 2012: hand a lock on where
// that is cheap, within a node, for some turns, and then to another node.)
//
// It is as safe as the round that was won for the first of them:
//
//   - Exclusion. The predecessor's lease is over, and so are its contexts, before the
//     successor's lease is made: Release ends the one before handOff makes the other. A
//     hand-off adds no time: the successor has the deadline of the round (see Lease.pass).
//     A lease that was handed to a waiter which is cancelled by now was never used.
//   - Order of the tokens. The round reserved tokens beside its own, on each instance in one
//     step with that. It has those that are new on all instances that it is settled on
//     (see round, and round.choose). They are given in ascending order.
//   - One value for several holders. A late command of one holder could hurt the next.
//     Only the last holder sends a delete. An extension could shorten what the next one
//     has extended, so a lease that was extended, or may yet be, isn't handed on.
//
// The price: only the release of the last holder checks whether the keys were lost
// meanwhile.

// passShare is the share of a validity that may be used up when a lease is handed on: a
// tenth, so that the successor has hardly less time than a round would give it.
const passShare = 10

// briefTurns is how many turns as short as a lease's must fit into that share for it to
// count as held for moments.
const briefTurns = 64

// spares is how many tokens a round reserves for the successors of whoever wins it.
func (w *wait) reserve() int {
	if w.c.cfg.Cohorts == Off || w.c.cfg.Fencing == Off || w.c.queues.polls() {
		return 0
	}
	return w.waiter.successors()
}

// reserve notes how many tokens above the lease's are reserved.
func (h *valueState) reserve(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reserved = n
}

// draw takes one of them.
func (h *valueState) draw() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	//guard:handover-has-token  a lease is handed over only with a token that was reserved for it
	if h.reserved == 0 {
		return false
	}
	h.reserved--
	return true
}

// pass makes the lease that goes on where this one ended, for a waiter that asks on c's
// terms. It gives nil if the waiter needs a round of its own.
func (l *Lease) pass(c *Coordinator, ctx context.Context) *Lease {
	now := c.reader.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.passableLocked(c.terms, now) {
		return nil
	}
	token := l.token
	if c.cfg.Fencing == On {
		if !l.state.draw() {
			return nil
		}
		token++
	}
	l.passed = true
	to := makeLease(c, context.WithoutCancel(ctx), l.state, token, c.terms, now)
	//guard:handover-keeps-time  the next local holder gets the validity that is left, and no more
	to.round, to.start, to.length = l.round, l.start, l.length
	return to
}

// passableLocked reports whether the lease, which is over for its holder, is fit for a
// waiter that asks on these terms.
func (l *Lease) passableLocked(terms Terms, now drift.Instant) bool {
	//guard:handover-not-extending  a lease that is being extended isn't handed over
	if l.state.c.cfg.Cohorts == Off || l.round == nil || l.extending != nil || terms.TTL != l.terms.TTL {
		return false
	}
	used := drift.Elapsed(l.start, now)
	//guard:handover-early-only  a lease is handed over only while most of its validity is left
	return used <= l.length/passShare && l.length-used >= terms.MinValidity
}

// brief reports whether the lease was held so shortly that many can follow each other
// under one value, if they all do the same.
func (l *Lease) brief() bool {
	now := l.state.c.reader.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return drift.Elapsed(l.acquired, now) <= l.length/passShare/briefTurns
}
