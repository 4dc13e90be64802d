package quorum

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redquorum/redlock/quorum/wire"
)

// Release gives the lock back: it deletes the key on all instances where it may
// be, if it is still the lease's. It works on a context that has ended, too, and
// takes no longer than a few InstanceTimeouts: it waits for no other goroutine.
//
// Nil means that a quorum still had it, or that it went to another goroutine of this
// process while it was valid (see Config.Cohorts). ErrNotHeld: it had expired or was taken
// over on so many instances that the holder had no lock any more; what it did may
// have met with another's work. ErrUnreachable: too few answered to tell; the
// deletes are owed, and delivered when the instances answer again. ErrReleased,
// ErrHandedOff: it was released or handed off before. ErrConfig: the lease is nil, as it
// is where Acquire failed.
func (l *Lease) Release(ctx context.Context) error {
	if l == nil {
		return errNoLease
	}
	l.mu.Lock()
	again := l.released
	l.released = true
	l.mu.Unlock()
	if again {
		verdict := ErrReleased
		if errors.Is(l.Err(), ErrHandedOff) {
			verdict = ErrHandedOff
		}
		return &RoundError{Op: wire.Release, Key: l.Key(), Verdict: verdict, Quorum: l.hold.c.majority.Q}
	}
	before := l.event(nil)
	// The holder's contexts end before the first delete is sent: nobody else can
	// have the lock while they run.
	//guard:contexts-end-first  a holder's contexts end before its keys are deleted
	l.end(ErrReleased)
	err := l.giveBack(ctx)
	if released := l.hold.c.cfg.Hooks.Released; released != nil {
		before.Err = err
		released(ctx, before)
	}
	return err
}

// errNoLease is what comes of doing something with a nil lease.
var errNoLease = fmt.Errorf("%w: the lease is nil; look at the error that came instead of it", ErrConfig)

// giveBack hands the lock to the first waiter of this process, or frees it.
func (l *Lease) giveBack(ctx context.Context) error {
	locals := l.hold.c.locals
	if locals.polls() {
		// Other processes have to find the lock free: it is freed after each turn.
		locals.endTurn(l)
	} else if locals.handOff(l) {
		return nil
	}
	return l.free(ctx)
}

// free deletes the keys. Then the first waiter of this process competes with others.
func (l *Lease) free(ctx context.Context) error {
	locals := l.hold.c.locals
	if locals.polls() || !locals.wanted(l) {
		err := l.hold.releaseAll(ctx, nil)
		locals.freed(l)
		return err
	}
	// This process has had its turns. Whoever is next here must know whether another
	// process was called, and is to be let in, before it tries.
	var left atomic.Int32
	left.Store(2)
	ready := func() {
		if left.Add(-1) == 0 {
			locals.freed(l)
		}
	}
	defer ready()
	return l.hold.releaseAll(ctx, ready)
}

// discard gives back a lease that nobody was given.
func (c *core) discard(l *Lease) {
	l.mu.Lock()
	l.released = true
	l.mu.Unlock()
	l.end(ErrReleased)
	if !c.locals.handOff(l) {
		c.background.start(func() { _ = l.free(context.Background()) }) // what isn't delivered is owed
	}
}

// releaseAll releases and returns as soon as the outcome is decided; the rest is
// done in the background. met, if not nil, is called when the instance at which
// waiters meet has answered.
func (h *hold) releaseAll(ctx context.Context, met func()) error {
	r, meeting := newReturns(h), -1
	if met != nil {
		meeting = h.c.meetingPlace(h.key)
	}
	h.release(context.WithoutCancel(ctx), r.deletions, func(i int, b Ballot) {
		if b.Vote.Notified {
			h.c.locals.letIn(h.key)
		}
		if i == meeting {
			met()
		}
		r.count(i, b)
	})
	return r.wait(h)
}

// returns is what the instances say to a release.
type returns struct {
	decided chan struct{} // closed when the outcome is certain

	mu      sync.Mutex
	over    bool
	tally   Tally
	ballots []Ballot

	deletions []deletion // room for them
}

// returnsRoom is returns and what they have of each instance in one piece of memory.
type returnsRoom struct {
	returns
	ballotRoom   [usual]Ballot
	deletionRoom [usual]deletion
}

func newReturns(h *hold) *returns {
	r := &returnsRoom{returns: returns{tally: Tally{Majority: h.c.majority}, decided: make(chan struct{})}}
	n := len(h.c.members)
	r.ballots = h.c.pending(room(r.ballotRoom[:], n))
	r.deletions = room(r.deletionRoom[:], n)
	return &r.returns
}

// wait gives what the release comes to. It is not cut short by a context: every
// answer is under a time-out, and a caller that was cancelled still has to learn
// whether it held the lock.
func (r *returns) wait(h *hold) error {
	<-r.decided
	return r.verdict(h)
}

func (r *returns) count(i int, ballot Ballot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.ballots[i] = ballot
	r.tally.Count(ballot.Vote.Outcome)
	if r.certain() {
		r.over = true
		close(r.decided)
	}
}

// certain reports whether no answer to come changes the outcome. That it wasn't
// held is what the holder must hear, so an answer that may still prove it is waited
// for although the quorum is out of reach.
func (r *returns) certain() bool {
	t := &r.tally
	pending := t.N - t.Granted - t.Refused - t.Failed
	return t.Verdict() == Won || t.Refused >= t.Blocking() || t.Verdict() == Lost && t.Refused+pending < t.Blocking()
}

func (r *returns) verdict(h *hold) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	//guard:release-tells  a release that finds too few keys says so
	if r.tally.Verdict() == Won {
		return nil
	}
	verdict := ErrUnreachable
	if r.tally.Refused >= r.tally.Blocking() {
		verdict = ErrNotHeld
	}
	return &RoundError{Op: wire.Release, Key: h.key, Verdict: verdict, Quorum: h.c.majority.Q, Votes: r.ballots}
}
