package quorum

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// wait is one Acquire.
//
// A try is a round, or a look at a lock that this process has, or that waiters before this one
// want, at each moment at which a waiter would ask the instances if the holder were another
// process. So Terms.MaxTries means the same wherever the holder is. Without MaxTries only the
// first look at each lock is counted, so that no waiter wakes only to count.
type wait struct {
	waiter
	c            *Coordinator
	began        drift.Instant
	instance     int           // the one with the queue that the waiter is in, if it has a subscription
	subscription *subscription // that it uses there, nil if it uses none
	tries        int
	notifiedTry  int           // tries when a release last notified this waiter, see wasNotified and pause
	notifiedAt   time.Duration // and the monotonic clock
	last         *RoundError   // of the last try

	here, elsewhere bool // see WaitEnd
}

// acquire waits in the queue of this process, and returns the lease.
func (w *wait) acquire(caller context.Context) (lease *Lease, err error) {
	waiters := w.enter()
	defer func() { // also if a hook panics
		w.leave(lease)
		if w.c.cfg.Hooks.WaitEnded != nil {
			w.reportEnd(caller, lease, err)
		}
	}()
	if started := w.c.cfg.Hooks.WaitStarted; started != nil {
		started(caller, WaitStart{Key: w.all[0], Also: w.all.others(), Waiters: waiters})
	}
	return w.run(caller)
}

// errPanicked is WaitEnd.Err if a hook panicked, so that Acquire returns nothing.
var errPanicked = errors.New("quorum: a hook panicked")

// reportEnd calls Hooks.WaitEnded.
func (w *wait) reportEnd(caller context.Context, lease *Lease, err error) {
	e := WaitEnd{
		Key: w.all[0], Also: w.all.others(), Started: w.began.Wall, Waited: drift.Elapsed(w.began, w.c.reader.Now()),
		Tries: w.tries, Here: w.here, Elsewhere: w.elsewhere, Err: err,
	}
	if lease == nil {
		if err == nil {
			e.Err = errPanicked
		}
		w.c.cfg.Hooks.WaitEnded(caller, e)
		return
	}
	e.Token = lease.token
	w.c.withHook(lease, func() { w.c.cfg.Hooks.WaitEnded(caller, e) })
}

func (w *wait) run(caller context.Context) (*Lease, error) {
	for {
		if !w.untilDue() {
			return nil, w.gaveUp(caller)
		}
		if lease, late := w.inherits(); lease != nil {
			return lease, nil
		} else if late {
			continue
		}
		w.tries++
		lease, err := w.try()
		if err == nil {
			return lease, nil
		}
		if w.over() {
			if w.last == nil || !errors.Is(err.Verdict, ErrInterrupted) {
				w.last = err
			}
			return nil, w.gaveUp(caller)
		}
		w.last = err
		w.elsewhere = w.elsewhere || errors.Is(err.Verdict, ErrTaken)
		if err.hopeless(w.c.majority.Blocking()) {
			return nil, err
		}
		if w.exhausted() {
			return nil, w.gaveUp(caller)
		}
		w.changeQueue(err)
	}
}

// try runs a round.
func (w *wait) try() (*Lease, *RoundError) {
	play := w.c.playRound
	if w.exhausted() {
		play = w.c.contend // no other try follows a split
	}
	lease, err := play(w.ctx, w.all, w.tries)
	if err != nil {
		w.lost(err)
	}
	return lease, err
}

// exhausted reports whether there were as many tries as Terms allow.
func (w *wait) exhausted() bool {
	return w.c.terms.MaxTries > 0 && w.tries >= w.c.terms.MaxTries
}

// untilDue waits until a round is due. It reports false when the wait is over.
//
// The waiter looks at the queue of this process, and sleeps while this process has the lock or other waiters come
// first. It rests between two rounds, and when it steps back for another process.
func (w *wait) untilDue() bool {
	if w.tries > 0 && w.rests() && !w.rest(w.last, w.pause(w.last, false), false) {
		return false
	}
	counts, waited := true, false // the next look counts as a try; the waiter has slept since its last look
	var nextTry <-chan time.Time  // receives when the next look counts again
	var over *Lease               // the holder, if it is over
	for {
		v := w.lookOrCompete(waited, over)
		if v.competes {
			return true
		}
		if v.yields > 0 {
			if !w.c.queues.polls() {
				v.yields = w.pause(nil, false) // or until it is notified
			}
			if waited = false; !w.rest(nil, v.yields, true) {
				return false
			}
			continue
		}
		left := heldFor(v.Holder)
		if v.First && left == 0 {
			over = v.Holder
			continue
		}
		waited, w.here = true, true
		if counts {
			if counts = false; !w.countLook(v.Holder) {
				return false
			}
			if w.c.terms.MaxTries > 0 {
				nextTry = w.c.clock.After(w.pause(w.last, w.c.subscriptions.notifiesAt(w.key) >= 0))
			}
		}
		var holderEnd <-chan time.Time // receives when the holder may be over
		if v.First {
			holderEnd = w.c.clock.After(left)
		}
		select {
		case <-holderEnd:
		case <-nextTry:
			counts = true
		case <-w.wake:
		case <-w.ctx.Done():
			return false
		case <-w.c.background.closing:
			return false
		}
	}
}

// countLook counts a look at a lock that this process has as a try. It reports false if it was the last.
func (w *wait) countLook(holder *Lease) bool {
	w.tries++
	w.last = w.lookError(holder)
	return !w.exhausted()
}

// over reports whether the caller or the Coordinator has ended the wait.
func (w *wait) over() bool { return w.ctx.Err() != nil || w.c.closed() }

// lookError is the error of a try that was a look at a lock that this process has or waits for.
func (w *wait) lookError(holder *Lease) *RoundError {
	err := &RoundError{Op: wire.Acquire, Verdict: ErrTaken, Quorum: w.c.majority.Q}
	if holder != nil {
		err.Holder = w.c.holderHere(holder, holder.Validity())
	} else if lost := w.lastLost(); lost != nil {
		*err = *lost // what the first waiter saw
		if lost.Holder != nil {
			holder := *lost.Holder // the other error keeps its own
			holder.Key = ""
			err.Holder = &holder
		}
	} else {
		err.Holder = &Holder{Here: true, Owner: w.c.cfg.Owner}
	}
	err.Key, err.Also = w.all[0], w.all.others()
	if len(w.all) > 1 && err.Holder != nil {
		err.Holder.Key = w.key
	}
	return err
}

// leave ends the wait, with that lease if it isn't nil.
func (w *wait) leave(lease *Lease) {
	inherited := w.leaveQueue(lease)
	w.unsubscribe()
	if inherited != nil {
		w.c.discard(inherited.lease)
		w.c.background.finish()
	}
}

// gaveUp says why the wait is over.
func (w *wait) gaveUp(caller context.Context) error {
	err := &WaitError{
		Key: w.all[0], Also: w.all.others(), Tries: w.tries, Verdict: ErrExhausted,
		Waited: drift.Elapsed(w.began, w.c.reader.Now()),
	}
	if w.last != nil {
		last := *w.last
		if caller.Err() == nil && errors.Is(last.Verdict, ErrInterrupted) {
			// MaxWait ended the round, not the caller's context. Too few instances had
			// answered, or the round's turn hadn't come.
			if early, queued := last.Verdict.(*overloadError); queued {
				last.Verdict = early.inTime()
			} else {
				last.Verdict = ErrNoQuorum
			}
			last.Cause = nil
		}
		err.Last = &last
	}
	switch {
	case caller.Err() != nil:
		err.Verdict, err.Cause = ErrInterrupted, causeOf(caller)
	case w.c.closed():
		err.Verdict = ErrClosed
	}
	return err
}

// heldFor is how long to wait for a lease of this process, 0 if it is over or there is none.
func heldFor(holder *Lease) time.Duration {
	if holder == nil {
		return 0
	}
	if left := holder.Validity(); left > 0 {
		// In parts, as the keeper does: after a suspension the timer would be late.
		return checkAgainAfter(left)
	}
	if holder.stageNow() >= released {
		// Its deletes are under way, and would meet the requests of a round.
		return holder.c.cfg.InstanceTimeout
	}
	return 0
}

// changeQueue moves the waiter to the queue of the key that was in the way of its round, if that is
// another key than before. If a release notified this process, the next waiter is notified in its place.
func (w *wait) changeQueue(err *RoundError) {
	key := w.all.at(inTheWay(err.Votes))
	if key == "" || key == w.key {
		return
	}
	w.leave(nil)
	w.key = key
	w.enter()
}

// rests reports whether the waiter rests before it looks at its queue. A waiter for several keys
// that has just moved to another queue, and isn't its first, waits in it.
func (w *wait) rests() bool { return len(w.all) == 1 || w.look(false).First }

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
		w.c.cfg.Hooks.tellStart(w.ctx, wire.Pass, w.all, i.end.Try)
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
