package quorum

import (
	"context"

	"github.com/redquorum/redlock/drift"
)

// A cohort is a sequence of holders in this process under one value. Each hands the lock to the
// next without asking the instances. The instances granted time to one holder at a time, and it
// doesn't matter to them which goroutine that is. (D. Dice, V. J. Marathe, N. Shavit, "Lock
// Cohorting", PPoPP 2012: hand a lock on where that is cheap, within a node, for some turns, and
// then to another node.)
//
// A cohort is as safe as the round that was won for its first holder:
//
//   - Exclusion. The predecessor's lease is over, and its contexts have ended, before the
//     successor's lease is made: Release ends the first before Lease.successor makes the second. A
//     hand-off adds no time: the successor has the deadline of the round. If the successor was
//     cancelled meanwhile, it never used the lease.
//   - Order of the tokens. The round reserved tokens beside its own, on each instance in the same
//     atomic step. It has those that are new on all instances of its settled quorum (see package
//     settlement). They are given in ascending order.
//   - One value for several holders. A late request of one holder could harm the next. Only the
//     last holder sends a delete. An extension could shorten a later one of the successor, so a
//     lease that was extended, or may yet be, isn't handed on.
//
// The price: only the release of the last holder checks whether the keys were lost meanwhile.

// handOverShare is the share of the validity that may be used up when a lease is handed on: a
// tenth, so that the successor has nearly as much time as after a round.
const handOverShare = 10

// reserves reports whether rounds reserve tokens for local successors.
func (w *wait) reserves() bool {
	return w.c.cfg.Cohorts == On && w.c.cfg.Fencing == On && !w.c.queues.polls() && !w.all.several()
}

// takeReserved takes one of the tokens that the round reserved. It returns false if none is left.
func (v *valueState) takeReserved() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	//guard:handover-has-token  a lease is handed over only with a token that was reserved for it
	if v.reserved == 0 {
		return false
	}
	v.reserved--
	return true
}

// successor makes the successor's lease, for a waiter with c's terms. It returns nil if the waiter
// needs a round of its own.
func (l *Lease) successor(c *Coordinator, ctx context.Context) *Lease {
	now := c.reader.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mayHandOverLocked(&c.terms, now) {
		return nil
	}
	token := l.token
	if c.cfg.Fencing == On {
		if !l.state.takeReserved() {
			return nil
		}
		token++
	}
	l.stage = handedOver
	to := makeLease(c, context.WithoutCancel(ctx), l.state, token, &c.terms, now)
	//guard:handover-keeps-time  the next local holder gets the validity that is left, and no more
	to.start, to.length = l.start, l.length
	return to
}

// mayHandOverLocked reports whether the lease, which its holder has ended, can be handed to a
// waiter with these terms.
func (l *Lease) mayHandOverLocked(terms *Terms, now drift.Instant) bool {
	//guard:handover-not-extending  a lease that was ever extended, or is being extended, isn't handed over
	if l.state.c.cfg.Cohorts == Off || l.extended || terms.TTL != l.terms.TTL ||
		terms.Note != l.terms.Note { // which is in the value that both would share
		return false
	}
	used := drift.Elapsed(l.start, now)
	//guard:handover-early-only  a lease is handed over only while most of its validity is left
	return used <= l.length/handOverShare && l.length-used >= terms.MinValidity
}
