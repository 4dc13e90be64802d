package quorum

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// wait is one Acquire.
//
// A try is a round, or a look at a lock that this process has, or that waiters before
// this one want: each time a waiter would ask the instances if the holder were another
// process. So Terms.MaxTries means the same wherever the holder is. Without MaxTries only
// the first look at each lock is counted: nobody is woken to count.
type wait struct {
	c          *Coordinator
	key        string
	began      drift.Instant
	ctx        context.Context // the caller's, bounded by Terms.MaxWait
	waiter     waiter
	subscriber *subscriber // by which it is to be called, nil if it doesn't listen
	tries      int
	split      bool        // the last round was split between clients
	last       *RoundError // of the last try
	left       *valueState // the last round's value, which may have been left behind
}

// acquire waits in the queue of this process, and gives the lease.
func (w *wait) acquire(caller context.Context) (lease *Lease, err error) {
	w.waiter.key, w.waiter.c, w.waiter.ctx = w.key, w.c, w.ctx
	w.c.queues.enter(&w.waiter)
	defer func() { w.leave(lease != nil) }() // also if a hook panics
	return w.run(caller)
}

func (w *wait) run(caller context.Context) (*Lease, error) {
	for {
		lease, opts, ok := w.turn()
		switch {
		case !ok:
			return nil, w.gaveUp(caller)
		case lease != nil:
			return lease, nil
		}
		w.tries++
		lease, err := w.try(opts)
		if err == nil {
			w.c.queues.held(lease)
			return lease, nil
		}
		if w.ctx.Err() != nil || w.c.closed() {
			if w.last == nil || !errors.Is(err.Verdict, ErrInterrupted) {
				w.last = err
			}
			return nil, w.gaveUp(caller)
		}
		w.last = err
		if errors.Is(err, ErrQuarantined) {
			w.c.reportWaiting(w.ctx, w.key)
		}
		if w.hopeless(err) {
			return nil, err
		}
		if w.exhausted() {
			return nil, w.gaveUp(caller)
		}
		// Some granted and some refused: other clients took the rest at the same
		// time. The next round goes through one instance, once; if that refuses,
		// a full round follows, so that one stale key can't block for ever.
		t := count(err.Votes)
		//guard:one-first  after a split round one instance is asked before the others
		//guard:one-first-once  a full round follows one that asked one instance first, so that a stale key there can't block forever
		w.split = !w.split && t.granted > 0 && t.refused > 0
	}
}

// try runs a round.
//
// It replaces the value of the round before, where that may have been left behind: a SET
// whose reply was lost may have been carried out, and if its delete is lost, too, the
// waiter would be refused by its own key. To replace it is safe. The value was never a
// lease's: its round was lost, for good. Whatever is still on its way about the old value
// compares it with what it finds: a late delete or raise finds the new value and changes
// nothing, and a late SET finds the key taken. And the old value's deletes stay owed.
func (w *wait) try(opts roundOptions) (*Lease, *RoundError) {
	opts.reserve = w.reserve()
	// A user who may run no scripts can lock with neither tokens nor notifications. To
	// replace a value takes a script.
	scripts := w.c.cfg.Fencing == On || !w.c.queues.polls()
	if w.left != nil && scripts && w.left.mayRemain() {
		opts.replace = w.left.value
	}
	lease, err := w.c.tryOnce(w.ctx, w.key, w.tries, &opts)
	if err != nil {
		if opts.tried != nil { // it was admitted
			w.left = opts.tried
		}
		w.waiter.refused(err)
	}
	return lease, err
}

// exhausted reports whether there were as many tries as Terms allow.
func (w *wait) exhausted() bool {
	return w.c.terms.MaxTries > 0 && w.tries >= w.c.terms.MaxTries
}

// turn waits until a round is due, and says how to run it, or until the waiter is handed
// a lease; ok is false when the wait is over.
func (w *wait) turn() (lease *Lease, opts roundOptions, ok bool) {
	if w.tries > 0 {
		if opts, ok = w.rest(w.last, w.pause(w.last, false), false); !ok {
			return nil, opts, false
		}
	}
	// A round is due, if no lease of this process is held and no waiter is before this one.
	due := true
	var timer <-chan time.Time // for the next look that is a try
	for waited := false; ; {
		p := w.waiter.look(waited)
		opts.oneFirst = opts.oneFirst || p.Notified
		if given := p.Handed; given != nil {
			if given.fit() {
				return given, opts, w.ctx.Err() == nil && !w.c.closed()
			}
			w.waiter.decline()
			w.c.discard(given) // it was too long before this goroutine ran
			continue
		}
		left := heldFor(p.Holder)
		if p.First && left == 0 {
			pause := w.stepBack()
			if pause <= 0 {
				if w.waiter.compete(p) {
					return nil, opts, true
				}
				continue
			}
			if opts, ok = w.rest(nil, pause, true); !ok {
				return nil, opts, false
			}
			waited = false
			continue
		}
		waited = true
		if due {
			due = false
			//guard:looks-count-as-tries  a look at a lock that this process holds counts as a try
			w.tries++
			w.last = w.taken(p.Holder)
			if w.exhausted() {
				return nil, opts, false
			}
			if w.c.terms.MaxTries > 0 {
				timer = w.c.clock.After(w.pause(w.last, w.c.notifiesAt(w.key) >= 0))
			}
		}
		var over <-chan time.Time // the holder's end
		if p.First {
			over = w.c.clock.After(left)
		}
		select {
		case <-over:
		case <-timer:
			due = true
		case <-w.waiter.news():
		case <-w.ctx.Done():
			return nil, opts, false
		case <-w.c.background.Closing():
			return nil, opts, false
		}
	}
}

// taken is what comes of a look at a lock that this process has or waits for.
func (w *wait) taken(holder *Lease) *RoundError {
	err := &RoundError{Op: wire.Acquire, Key: w.key, Verdict: ErrTaken, Quorum: w.c.majority.Q}
	if holder != nil {
		err.Holder = &Holder{Here: true, Owner: w.c.cfg.Owner, Remaining: holder.Validity(), Held: true}
	} else if lost := w.waiter.lastLost(); lost != nil {
		*err = *lost // what the first waiter saw
	} else {
		err.Holder = &Holder{Here: true, Owner: w.c.cfg.Owner}
	}
	return err
}

// stepBack is for how long other processes are to be let in first. A waiter that may try
// only once doesn't wait.
func (w *wait) stepBack() time.Duration {
	if w.c.terms.MaxTries == 1 {
		return 0
	}
	left := w.waiter.yields()
	if left > 0 && !w.c.queues.polls() {
		return w.pause(nil, false) // or until it is called
	}
	return left
}

// heldFor is for how long a lease of this process is to be waited for, 0 if it is over or
// there is none.
func heldFor(holder *Lease) time.Duration {
	if holder == nil {
		return 0
	}
	if left := holder.Validity(); left > 0 {
		// In parts, as the lease's own watcher does: after a suspension the timer
		// would be late.
		return lookAgain(left)
	}
	if holder.releasing() {
		// Its deletes are under way, and this round's commands must not meet them.
		return holder.state.c.cfg.InstanceTimeout
	}
	return 0
}

// rest waits before a round: for a call by whoever releases the lock, if the waiter can
// be called, and for the pause in any case. Last is the round that was lost, nil if none
// was tried because others are to be let in.
func (w *wait) rest(last *RoundError, pause time.Duration, yield bool) (next roundOptions, ok bool) {
	if pause <= 0 {
		return roundOptions{oneFirst: w.split}, w.ctx.Err() == nil && !w.c.closed()
	}
	timer := w.c.clock.After(pause)
	var stands position
	// After a round that was not admitted there may be nobody to notify, and commands to
	// find that out would come on top of too many.
	polls := last != nil && errors.Is(last.Verdict, ErrOverloaded)
	if !polls {
		stands = w.subscribe()
	}
	address := "" // that it was tried with
	for {
		if at := w.address(); !polls && at != "" && at != address {
			address = at
			placed, free, ok := w.enqueue(at, stands.Notified, yield)
			switch {
			case !ok:
				return roundOptions{}, false
			case placed:
				timer = w.c.clock.After(w.pause(last, true))
			case free && w.refusedThere(last):
				// It was released since that vote.
				return roundOptions{oneFirst: true}, true
			}
		}
		over := false
		select {
		case <-timer:
			over = true
		case <-w.waiter.news():
		case <-w.ctx.Done():
			return roundOptions{}, false
		case <-w.c.background.Closing():
			return roundOptions{}, false
		}
		// Also at the end of the pause: a call may have come while a place was asked for.
		switch news := w.waiter.look(true); {
		case news.Handed != nil:
			return roundOptions{}, true // for turn to take
		case news.Notified:
			// The release that called was on its way to all of them before, and only
			// this process was called: there is no need to feel one's way.
			return roundOptions{}, true
		case news.Freed || over:
			return roundOptions{oneFirst: w.split}, true
		}
		// The ear was opened, or lost.
	}
}

// listen has this process called at the instance where the waiters meet, if that
// can call, and gives the position that it has in the line there.
func (w *wait) subscribe() position {
	at := w.c.queueInstance(w.key)
	ear := w.c.subscribers[at]
	if ear != w.subscriber {
		w.unsubscribe()
		if ear != nil {
			ear.use()
		}
		w.subscriber = ear
	}
	if ear == nil {
		at = -1
	}
	q := w.waiter.lock()
	defer w.waiter.unlock()
	return q.Subscribe(at)
}

func (w *wait) unsubscribe() {
	if w.subscriber != nil {
		w.subscriber.leave()
	}
	w.subscriber = nil
}

// address is what to be called by, empty if that isn't possible now.
func (w *wait) address() string {
	if w.subscriber == nil {
		return ""
	}
	return w.subscriber.currentAddress()
}

// enlist asks for a place in the line; ok is false when the wait is over.
func (w *wait) enqueue(address string, front, yield bool) (placed, free, ok bool) {
	// Before it is sent, as the call may come before the answer.
	w.c.dequeue(w.key, w.waiter.stand(position{Server: w.subscriber.index, Address: address}))
	// Variables of its own: the answer may come when nobody waits for it any more.
	var answer struct{ placed, free bool }
	ear, done := w.subscriber, make(chan struct{})
	w.c.background.Go(func() {
		defer close(done)
		answer.placed, answer.free = ear.enqueue(context.WithoutCancel(w.ctx), w.key, address, front, yield)
	})
	select {
	case <-done:
		placed, free = answer.placed, answer.free
	case <-w.ctx.Done():
		return false, false, false
	case <-w.c.background.Closing():
		return false, false, false
	}
	if !placed {
		w.waiter.stand(position{})
	}
	return placed, free, true
}

// refusedThere reports whether the round was refused at the instance where the
// waiters meet, for the key's sake.
func (w *wait) refusedThere(last *RoundError) bool {
	if last == nil || len(last.Votes) == 0 {
		return false
	}
	vote := last.Votes[w.subscriber.index].Vote
	return vote.Outcome == wire.Refused && vote.Err == nil
}

// leave ends the wait. A lease that the waiter was handed meanwhile is given back, and so
// handed to the next waiter.
func (w *wait) leave(won bool) {
	given, stands := w.waiter.leave(won)
	w.c.dequeue(w.key, stands)
	w.unsubscribe()
	//guard:cancelled-waiter-passes-on  a waiter that was handed a lease and is cancelled gives it up
	if given != nil && !won {
		w.c.discard(given)
	}
}

// pause is how long to wait before the next round: full jitter under a bound that
// doubles, or the highest one if it will be called; but no longer than until a
// quorum can be free.
func (w *wait) pause(last *RoundError, called bool) time.Duration {
	bound := w.c.cfg.BackoffMax
	// Compared this way round, because BackoffMin<<shift may overflow.
	if shift := max(w.tries-1, 0); !called && shift < 63 && w.c.cfg.BackoffMin <= bound>>shift {
		bound = w.c.cfg.BackoffMin << shift
	}
	pause := w.c.random.Jitter(bound)
	if last == nil {
		return pause
	}
	if h := last.Holder; h != nil && h.Here && h.Remaining > 0 {
		return min(pause, h.Remaining)
	}
	if free, known := freeIn(last.Votes, w.c.quarantines(w.c.reader.Now()), w.c.majority.Q); known {
		pause = min(pause, free)
	}
	return pause
}

// freeIn is when a quorum can be free at the latest, if no holder extends: the
// Q-th smallest of the times that instances gave. Instances that granted are free
// now.
//
// It takes the quarantines from the instances, and not from the votes that they
// failed: these come all at once, and which of them were counted before the round
// was lost is the scheduler's choice.
func freeIn(votes []Ballot, quarantines []*QuarantineError, quorum int) (time.Duration, bool) {
	var times []time.Duration
	for i, ballot := range votes {
		vote := ballot.Vote
		switch {
		case quarantines[i] != nil:
			times = append(times, quarantines[i].Remaining+time.Millisecond)
		case vote.Outcome == wire.Granted:
			times = append(times, 0)
		case vote.Outcome == wire.Refused && vote.Remaining > 0:
			times = append(times, vote.Remaining+time.Millisecond)
		}
	}
	if len(times) == 0 {
		return 0, false
	}
	slices.Sort(times)
	// Fewer than a quorum are known after a round that was given up at its first
	// instance, or with instances down: when these are free, another try is due.
	free := times[min(quorum, len(times))-1]
	return free, free > 0
}

// hopeless reports whether so many instances failed for good that no waiting
// helps.
func (w *wait) hopeless(err *RoundError) bool {
	n := 0
	//guard:failed-raises-count  raises that fail for good are not waited for
	for _, ballots := range [][]Ballot{err.Votes, err.Raises} {
		for _, ballot := range ballots {
			if ballot.Vote.Err != nil && permanent(ballot.Vote.Err) {
				n++
			}
		}
	}
	//guard:overload-is-waited-for  Acquire waits when it wasn't admitted
	unasked := len(err.Votes) == 0 && !errors.Is(err.Verdict, ErrTaken) && !errors.Is(err.Verdict, ErrOverloaded)
	return n >= w.c.majority.Blocking() || unasked
}

// gaveUp says why the wait is over.
func (w *wait) gaveUp(caller context.Context) error {
	err := &WaitError{
		Key: w.key, Tries: w.tries, Verdict: ErrExhausted,
		Waited: drift.Elapsed(w.began, w.c.reader.Now()),
	}
	if w.last != nil {
		last := *w.last
		if caller.Err() == nil && errors.Is(last.Verdict, ErrInterrupted) {
			// A context of our own (MaxWait) must not pass for the caller's. The
			// round was undecided: too few had answered.
			last.Verdict, last.Cause = ErrNoQuorum, nil
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
