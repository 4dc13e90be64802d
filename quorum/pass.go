package quorum

import (
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// pass passes a lease that its holder has released on to the first waiter of this process. The value stays. A
// quorum that still has it lifts its counters by one and gives the key its whole TTL again. That is one round
// trip, where a release and an acquisition are two. It reports whether the waiter has a lease. If not, the value has to
// be deleted.
//
// There is one holder, as with an extension: the servers that count have had the value without a break since the
// lease was acquired, so no other client had the lock. The contexts of the lease before have ended. Its late
// requests are about the same value, and can't take away what this one needs: a raise lifts no counter above the
// token of its own lease, a delete isn't sent any more (the value isn't released), and no extension comes later.
//
// The token is above the lease's before, and it is given once, because a value has one lease at a time. It is
// below those of later leases, whose quorum has a server with a counter that was lifted to it. A token that another
// client's refused tries have counted past meanwhile was given to nobody.
func (l *Lease) pass() bool {
	v, c := l.value, l.c
	heir := c.queues.heir(l)
	l.mu.Lock()
	kept := l.keep > 0
	l.mu.Unlock()
	if heir == nil || kept || l.unreleased() <= 0 {
		return false
	}
	token := l.token
	if c.cfg.Lab.Fencing == On {
		//guard:passed-token-rises  a lease that is passed on has a larger token
		if token++; !token.Valid() {
			return false
		}
	}
	// It is never given back: an extension that began before the release may be sent at any time.
	//guard:pass-ends-extensions  a lease isn't passed on while an extension of it is under way, and isn't extended after that
	if !l.tryExtension() {
		return false
	}
	//guard:pass-after-lost-extension  a lease isn't passed on while an extension without an answer may still arrive
	if !v.passes() {
		return false
	}
	req := v.request(wire.Pass)
	req.TTL, req.Fence.Token = l.terms.TTL, token
	e := l.asking(req, c.cfg.Lab.Drift.Validity(req.TTL, 0))
	answers := make(inbox, len(c.servers))
	c.sendExtensions([]*extension{e}, answers)
	for !e.decided() { // soon, because every request is under a timeout
		a := <-answers
		e.count(a.s.index, &a.ballot)
	}
	//guard:pass-needs-quorum  only a quorum passes a lease on
	if e.tally.Verdict() != majority.Won {
		return false
	}
	// After the deadline a lost value may have come back.
	if l.unreleased() <= 0 {
		return false
	}
	took := drift.Elapsed(e.start, c.reader.Now())
	v.wins(token)
	v.follow(wire.Restore, req.TTL)
	//guard:passed-from-send  the validity of a lease that is passed on counts from before the pass was sent
	next := newLease(heir.ctx, c, v, token, heir.terms, e.start)
	return c.queues.inherit(l, heir, &inheritance{next, RoundEnd{
		Op: wire.Pass, Key: v.keys[0], Try: 1, Started: e.start.Wall, Took: took,
		Token: token, Validity: e.length - took, Ballots: e.votes.copies(),
	}})
}

// unreleased is the validity that the lease would have if it weren't released.
func (l *Lease) unreleased() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.untilDeadlineLocked()
}

// passes reports whether the value can be passed on.
func (v *value) passes() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.places {
		if v.places[i].mayCome > 0 {
			return false
		}
	}
	return true
}
