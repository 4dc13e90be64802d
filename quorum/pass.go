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
	v, c := l.value, l.value.c
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
	next := newLease(heir.ctx, v, token, &heir.c.terms, e.start)
	return c.queues.inherit(l, heir, &inheritance{next, RoundEnd{
		Op: wire.Pass, Key: v.keys[0], Try: 1, Started: e.start.Wall, Took: took,
		Token: token, Validity: e.length - took, Ballots: e.votes.values(),
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

// inheritance is a lease that was passed on, and the round that did it.
type inheritance struct {
	lease *Lease
	end   RoundEnd
}

// heir is the waiter that a lease can be passed on to: the first one for its key, if that wants no other keys, and
// on the same terms. Nil if there is none. Whether its context has ended is for the waiter to look at.
func (qs *queues) heir(l *Lease) *wait {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q := qs.ofLeaseLocked(l.value.keys[0], l)
	if q == nil {
		return nil
	}
	w := q.First()
	if w == nil || len(w.all) > 1 || len(l.value.keys) > 1 || w.c.terms != *l.terms {
		return nil
	}
	return w
}

// inherit gives the heir its lease, unless it has left meanwhile.
func (qs *queues) inherit(before *Lease, heir *wait, next *inheritance) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q := qs.ofLeaseLocked(before.value.keys[0], before)
	if q == nil || q.First() != heir {
		return false
	}
	heir.inherited = next
	heir.c.background.add()
	q.Freed()
	q.acquired(next.lease, qs.now())
	heir.notify()
	return true
}

// inherits returns the lease that was passed on to the waiter, nil if there is none. late reports that there was one
// that comes too late, and is released.
func (w *wait) inherits() (lease *Lease, late bool) {
	w.c.queues.mu.Lock()
	i := w.inherited
	w.inherited = nil
	w.c.queues.mu.Unlock()
	if i == nil {
		return nil, false
	}
	defer w.c.background.finish()
	if w.over() {
		w.c.discard(i.lease)
		return nil, true
	}
	w.c.noteRound(w.ctx, w.key, drift.Instant{}, nil)
	// The hooks are the waiter's, and the release before doesn't wait for them.
	w.c.withHook(i.lease, func() {
		w.c.tellStart(w.ctx, wire.Pass, w.all, i.end.Try)
		if decided := w.c.cfg.Hooks.RoundDecided; decided != nil {
			decided(w.ctx, i.end)
		}
	})
	if left := i.lease.leftNow(); left <= 0 || left < w.c.terms.MinValidity {
		w.c.discard(i.lease)
		return nil, true
	}
	return i.lease, false
}
