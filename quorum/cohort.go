package quorum

import (
	"context"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
)

// A cohort is a lease's holder and those of this process who follow it one after the
// other under the same value, without a word to the instances. What these were asked for
// is time for one holder; which goroutine that is, is nobody else's concern. (D. Dice,
// V. J. Marathe, N. Shavit, "Lock Cohorting", PPoPP 2012: what is dear to pass between
// nodes and cheap to pass within one is passed within one, for some turns.)
//
// It is as safe as the lease that was won:
//
//   - Exclusion. A pass adds no time: who follows has the deadline of the round that
//     was won (see Lease.pass). And the former lease is over, with its contexts, before
//     the next one is made (see Lease.Release).
//   - Order of the tokens. The round took Command.Spare tokens more than its own, on each
//     instance in one step with that, and was settled with the last of them. So to rounds
//     after it, it is one with the token T, and T-Spare to T are above those of all
//     rounds before it: each instance that it is settled on has counted up by 1+Spare
//     from what those were settled with (see round). They are given in their order.
//   - One value for several holders: what is late of one could hurt the next. A delete is
//     sent by the last of them alone. An extension could cut short what the next one
//     has extended: who has extended, or begun to, passes nothing on. Nor does who has
//     made a Handle, by which another process may delete the key.
//
// What it costs is the check that a release makes: only that of the last of them tells
// if the keys were lost meanwhile.

// passShare is how much of a validity may be over when a lease is passed on: a tenth, so
// that who gets it has hardly less than a round of its own would give.
const passShare = 10

// briefTurns is how many turns like a lease's must fit into that time for it to count as
// held for moments.
const briefTurns = 64

// spares is how many tokens a round takes for those who may follow who wins it, in turn.
func (w *wait) spares(way way) int {
	if w.c.cfg.Cohorts == Off || w.c.cfg.Fencing == Off {
		return 0
	}
	return w.ticket.heirs(way.former != nil)
}

// reserve is how many tokens above the lease's are its value's, too.
func (h *hold) reserve(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spare = n
}

// draw takes one of them.
func (h *hold) draw() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.spare == 0 {
		return false
	}
	h.spare--
	return true
}

// inherit gives the lease that is given back to who waits, under the same value; nil if
// a round has to be won for it.
func (w *wait) inherit(s *succession) *Lease {
	former, c := s.lease, w.c
	if w.ctx.Err() != nil || c.closed() || !former.passable(c.terms) {
		return nil
	}
	token := fencing.Token(0)
	if c.cfg.Fencing == On {
		if !former.hold.draw() {
			return nil
		}
		token = former.token + 1
	}
	lease := makeLease(c, context.WithoutCancel(w.ctx), former.hold, token, c.terms, c.reader.Now())
	if !former.pass(lease) {
		return nil
	}
	s.taken <- inherited
	return lease
}

// pass has the other lease go on where this one ended, if it is fit for that.
func (l *Lease) pass(to *Lease) bool {
	now := l.hold.c.reader.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.passableLocked(to.terms, now) {
		return false
	}
	l.passed = true
	to.round, to.start, to.length = l.round, l.start, l.length
	return true
}

// passable reports whether the lease, which is given back, is fit for somebody else who
// asks on these terms.
func (l *Lease) passable(terms Terms) bool {
	now := l.hold.c.reader.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passableLocked(terms, now)
}

func (l *Lease) passableLocked(terms Terms, now drift.Instant) bool {
	if l.hold.c.cfg.Cohorts == Off || l.round == nil || l.sent || l.extending != nil || terms.TTL != l.terms.TTL {
		return false
	}
	used := drift.Elapsed(l.start, now)
	return used <= l.length/passShare && l.length-used >= terms.MinValidity
}

// brief reports whether the lease was held so shortly that many can follow each other
// under one value, if they all do the same.
func (l *Lease) brief() bool {
	now := l.hold.c.reader.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return drift.Elapsed(l.acquired, now) <= l.length/passShare/briefTurns
}
