package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/redquorum/redlock/quorum/internal/majority"
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
		return &RoundError{Op: wire.Release, Key: l.Key(), Verdict: verdict, Quorum: l.state.c.majority.Q}
	}
	before := l.event(nil)
	// The holder's contexts end before the first delete is sent: nobody else can
	// have the lock while they run.
	//guard:contexts-end-first  a holder's contexts end before its keys are deleted
	l.end(ErrReleased)
	err := l.giveBack(ctx)
	if released := l.state.c.cfg.Hooks.Released; released != nil {
		before.Err = err
		released(ctx, before)
	}
	return err
}

// errNoLease is what comes of doing something with a nil lease.
var errNoLease = fmt.Errorf("%w: the lease is nil; look at the error that came instead of it", ErrConfig)

// giveBack hands the lock to the first waiter of this process, or frees it.
func (l *Lease) giveBack(ctx context.Context) error {
	locals := l.state.c.queues
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
	locals := l.state.c.queues
	if locals.polls() || !locals.wanted(l) {
		err := l.state.releaseAll(ctx, nil)
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
	return l.state.releaseAll(ctx, ready)
}

// discard gives back a lease that nobody was given.
func (c *core) discard(l *Lease) {
	l.mu.Lock()
	l.released = true
	l.mu.Unlock()
	l.end(ErrReleased)
	if !c.queues.handOff(l) {
		c.background.Go(func() { _ = l.free(context.Background()) }) // what isn't delivered is owed
	}
}

// releaseAll releases and returns as soon as the outcome is decided; the rest is
// done in the background. met, if not nil, is called when the instance at which
// waiters meet has answered.
func (h *valueState) releaseAll(ctx context.Context, met func()) error {
	d, meeting := newDeletion(h, context.WithoutCancel(ctx)), -1
	if met != nil {
		meeting = h.c.queueInstance(h.key)
	}
	d.report = func(i int, vote *wire.Vote) {
		if vote.Notified {
			h.c.queues.letIn(h.key)
		}
		if i == meeting {
			met()
		}
	}
	d.run()
	<-d.decided
	return d.err
}

// deletion is a poll that deletes a value on every instance on which it may be, each after
// that instance's own straggler. What cannot be delivered now is kept and sent later.
//
// It is not cut short by a context: every answer is under a timeout, and a caller that was
// cancelled must leave no keys behind and must still learn whether it held the lock.
type deletion struct {
	poll
	meeting int                          // the instance that is to notify a waiter, -1: none
	report  func(i int, vote *wire.Vote) // gets every instance's answer, before it is counted
	over    bool                         // guarded by the poll's lock: the outcome is certain
	err     error                        // the outcome, written before the decision
}

// deletionRoom is a deletion and what it has of each instance in one piece of memory.
type deletionBuffer struct {
	deletion
	ballotBuffer [usual]Ballot
	partBuffer   [usual]part
}

// newDeletion makes a deletion. The context must be detached from the caller's.
func newDeletion(h *valueState, ctx context.Context) *deletion {
	d := &deletionBuffer{}
	n := len(h.c.members)
	d.poll.init(h, ctx, &d.deletion, buffer(d.ballotBuffer[:], n), buffer(d.partBuffer[:], n))
	return &d.deletion
}

func (d *deletion) run() {
	d.state.release()
	d.meeting = d.state.c.notifiesAt(d.state.key)
	//guard:delete-everywhere  a release deletes on all instances
	d.askAll(d.state.c.reader.Now())
}

func (d *deletion) firstRequest(i int) (wire.Request, use, wire.Outcome) {
	if d.state.presence(i).Absent() {
		// A SET that was refused, or never sent, left nothing: no need to ask.
		d.report(i, &wire.Vote{Outcome: wire.Refused})
		return wire.Request{}, uncounted, wire.Refused
	}
	return wire.Request{Op: wire.Release, Key: d.state.key, Value: d.state.value, Notify: i == d.meeting}, uncounted, wire.Failed
}

func (d *deletion) answered(i int, _ bool, ballot Ballot) {
	h := d.state
	if after := h.note(i, wire.Release, ballot.Vote); !after.Absent() {
		//guard:delete-is-owed  a delete that couldn't be delivered stays pending
		h.c.members[i].cleanup.Add(h.key, h.value, after)
	}
	d.report(i, &ballot.Vote)
}

func (d *deletion) count(_ int, vote *wire.Vote) {
	d.tally.Count(vote.Outcome)
	if !d.over && d.certain() {
		d.over, d.err = true, d.outcome()
		close(d.decided)
	}
}

// open is false: a deletion has no second requests.
func (d *deletion) open() bool { return false }

func (d *deletion) secondRequest(int) (wire.Request, bool) { return wire.Request{}, false }

// certain reports whether no answer to come changes the outcome. That it wasn't
// held is what the holder must hear, so an answer that may still prove it is waited
// for although the quorum is out of reach.
func (d *deletion) certain() bool {
	t := &d.tally
	return t.Verdict() == majority.Won || t.RefusalsDecide() || t.Verdict() == majority.Lost && t.Refused+t.Missing() < t.Blocking()
}

func (d *deletion) outcome() error {
	//guard:release-tells  a release that finds too few keys says so
	if d.tally.Verdict() == majority.Won {
		return nil
	}
	verdict := ErrUnreachable
	if d.tally.RefusalsDecide() {
		verdict = ErrNotHeld
	}
	return &RoundError{Op: wire.Release, Key: d.state.key, Verdict: verdict, Quorum: d.tally.Q, Votes: slices.Clone(d.ballots)}
}
