package quorum

import (
	"context"
	"sync"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
)

// A cohort is a lease's holder and those of this process who follow it one after the
// other under the same value, without a word to the instances. What the instances were
// asked for is time for one holder; which goroutine that is, is nobody else's concern.
// (D. Dice, V. J. Marathe, N. Shavit, "Lock Cohorting", PPoPP 2012: what is dear to pass
// between nodes and cheap to pass within one is passed within one for some turns.)
//
// It is as safe as the lease that was won:
//
//   - Exclusion. A pass adds no time: who follows has the deadline of the round that
//     was won (see Lease.passable). And the former lease is over, with its contexts,
//     before the next one is made (see Lease.Release).
//   - Order of the tokens. A reserve is won like a token (see round): its largest token
//     T+n is settled on a quorum by raises that found the value in place. So to a later
//     value's round the lease is one whose token was T+n, and what it was given is below
//     that; an earlier one's token is below T. The tokens in between are nobody else's,
//     and are given in their order.
//   - One value for several holders is what a late command of one can hurt the next by.
//     A delete is sent by the last of them alone. An extension could be late, and cut
//     short what the next one has extended: who has extended, or begun to, passes
//     nothing on. Nor does who has given the value away, by which somebody else may
//     delete the key, or compare it and take one holder for the next.
//
// What it costs is the check that a release makes: only that of the last of them tells
// if the keys were lost meanwhile.

// passShare is how much of a validity may be over when a lease is passed on: a tenth, so
// that who gets it has hardly less than a round of its own would give.
const passShare = 10

// reserve is tokens beyond a lease's own for which its value is settled as well.
type reserve struct {
	hold    *hold
	top     fencing.Token
	decided chan struct{}
	seats   []reserveSeat

	mu    sync.Mutex
	tally Tally
	won   bool
	next  fencing.Token
}

// reserveSeat is one instance's part in a reserve.
type reserveSeat struct {
	reserve *reserve
	i       int
	errand  errand
}

// reserveTokens has the value settled for n tokens more. It doesn't wait.
func (l *Lease) reserveTokens(n int) {
	h := l.hold
	c := h.c
	top := l.token + fencing.Token(n)
	if c.cfg.Cohorts == Off || c.cfg.Fencing == Off || l.round == nil || !top.Valid() {
		return
	}
	r := &reserve{
		hold: h, top: top, next: l.token + 1,
		decided: make(chan struct{}), tally: Tally{Majority: c.majority},
		seats: make([]reserveSeat, len(c.members)),
	}
	h.mu.Lock()
	first := h.reserve == nil
	if first {
		h.reserve = r
	}
	h.mu.Unlock()
	if !first {
		return // of the one whose lease this was
	}
	now := c.reader.Now()
	for i := range r.seats {
		s := &r.seats[i]
		s.reserve, s.i, s.errand = r, i, h.errand(i, l.parent, s)
		h.queue(i, s, now)
	}
}

func (s *reserveSeat) begin(now drift.Instant) {
	h := s.reserve.hold
	if h.mark(s.i).absent() {
		s.reserve.count(Refused)
		h.ended(s.i)
		return
	}
	s.errand.run(Command{Op: Raise, Key: h.key, Value: h.value, Token: s.reserve.top, CounterTTL: h.c.cfg.CounterTTL}, now)
}

func (s *reserveSeat) returned(ballot Ballot) {
	h := s.reserve.hold
	h.note(s.i, Raise, ballot.Vote)
	if ballot.Vote.Outcome == Granted {
		h.settle(s.i)
	}
	s.reserve.count(ballot.Vote.Outcome)
	h.ended(s.i)
}

func (r *reserve) count(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.tally.Verdict()
	after := r.tally.Count(o)
	if before == Pending && after != Pending {
		r.won = after == Won
		close(r.decided)
	}
}

// draw gives the next token, when it is known whether there is one.
func (r *reserve) draw(ctx context.Context) (token fencing.Token, ok bool) {
	select {
	case <-r.decided:
	case <-ctx.Done():
		return 0, false
	case <-r.hold.c.background.done:
		return 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.won || r.next > r.top {
		return 0, false
	}
	token = r.next
	r.next++
	return token, true
}

// inherit gives the lease that is given back to who waits, under the same value; nil if
// a round has to be won for it.
func (w *wait) inherit(s *succession) *Lease {
	former, c := s.lease, w.c
	if w.ctx.Err() != nil || c.closed() || !former.passable(c.terms) {
		return nil // before a token is drawn
	}
	var token fencing.Token
	if c.cfg.Fencing == On {
		h := former.hold
		h.mu.Lock()
		r := h.reserve
		h.mu.Unlock()
		if r == nil {
			return nil
		}
		var ok bool
		if token, ok = r.draw(w.ctx); !ok {
			return nil
		}
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
	now := l.hold.c.reader.Now() // not under the lock: a clock may be anybody's
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
	if l.hold.c.cfg.Cohorts == Off || l.round == nil || l.exposed || l.extending != nil || terms.TTL != l.terms.TTL {
		return false
	}
	used := drift.Elapsed(l.start, now)
	return used <= l.length/passShare && l.length-used >= terms.MinValidity
}

// brief reports whether the lease was held so shortly that as many as may follow each
// other can do so under one value, if they all do the same.
func (l *Lease) brief() bool {
	now := l.hold.c.reader.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return drift.Elapsed(l.acquired, now) <= l.length/passShare/maxTurns
}
