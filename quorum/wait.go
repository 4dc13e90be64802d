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
// A try is a round, or a look at a lock that this process has, or that waiters before this one
// want, at each moment at which a waiter would ask the instances if the holder were another
// process. So Terms.MaxTries means the same wherever the holder is. Without MaxTries only the
// first look at each lock is counted, so that no waiter wakes only to count.
type wait struct {
	c            *Coordinator
	key          string // that it waits for: of several the first in the way
	all          keys   // that it acquires
	began        drift.Instant
	ctx          context.Context // the caller's, bounded by Terms.MaxWait
	instance     int             // the one with the queue that the waiter is in, if it has a subscription
	subscription *subscription   // that it uses there, nil if it uses none
	tries        int
	notifiedTry  int           // tries when a release last notified this waiter, see wasNotified and pause
	notifiedAt   time.Duration // and the monotonic clock
	last         *RoundError   // of the last try
	successors   int           // waiters here that may get the lock without a round of their own
	won          bool          // a round was won

	queue    *queue
	wake     chan struct{} // made by the first call of news
	notified bool          // since the last look; news reads it when it makes wake

	here, elsewhere bool // see WaitEnd
	partOfAny       bool // of an AcquireAny, which calls the hooks of waits itself
}

// acquire waits in the queue of this process, and returns the lease.
func (w *wait) acquire(caller context.Context) (lease *Lease, err error) {
	waiters := w.enter()
	defer func() { // also if a hook panics
		w.leave(lease)
		if w.c.cfg.Hooks.WaitEnded != nil && !w.partOfAny {
			w.reportEnd(caller, lease, err)
		}
	}()
	if started := w.c.cfg.Hooks.WaitStarted; started != nil && !w.partOfAny {
		started(caller, WaitStart{Key: w.all.key, Also: slices.Clone(w.all.also), Waiters: waiters})
	}
	return w.run(caller)
}

// errPanicked is WaitEnd.Err if a hook panicked, so that Acquire returns nothing.
var errPanicked = errors.New("quorum: a hook panicked")

// reportEnd calls Hooks.WaitEnded.
func (w *wait) reportEnd(caller context.Context, lease *Lease, err error) {
	e := WaitEnd{
		Key: w.all.key, Also: slices.Clone(w.all.also), Started: w.began.Wall, Waited: drift.Elapsed(w.began, w.c.reader.Now()),
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
		lease, ok := w.untilDue()
		switch {
		case !ok:
			return nil, w.gaveUp(caller)
		case lease != nil:
			return lease, nil
		}
		w.tries++
		lease, err := w.try()
		if err == nil {
			w.won = true
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
	opts := roundOptions{reserve: w.successors}
	round := w.c.runRound
	if w.exhausted() {
		round = w.c.contend // no other try follows a split
	}
	lease, err := round(w.ctx, w.all, w.tries, &opts)
	if err != nil {
		if key := w.all.at(inTheWay(err.Votes)); key == "" || key == w.key {
			w.noteLost(err)
		}
	}
	return lease, err
}

// exhausted reports whether there were as many tries as Terms allow.
func (w *wait) exhausted() bool {
	return w.c.terms.MaxTries > 0 && w.tries >= w.c.terms.MaxTries
}

// untilDue waits until a round is due, or until the waiter is handed a lease; ok is false when the
// wait is over.
func (w *wait) untilDue() (lease *Lease, ok bool) {
	i := interval{wait: w, nextIsTry: true}
	next := look
	if w.tries > 0 && w.rests() {
		next = i.rest(w.last, w.pause(w.last, false), false)
	}
	for {
		switch next {
		case look:
			next = i.look()
		case sleep:
			next = i.sleep()
		case compete:
			return nil, true
		case take:
			return i.handed, !w.over()
		case giveUp:
			return nil, false
		}
	}
}

// over reports whether the caller or the Coordinator has ended the wait.
func (w *wait) over() bool { return w.ctx.Err() != nil || w.c.closed() }

// lookError is the error of a try that was a look at a lock that this process has or waits for.
func (w *wait) lookError(holder *Lease) *RoundError {
	err := &RoundError{Op: wire.Acquire, Verdict: ErrTaken, Quorum: w.c.majority.Q}
	if holder != nil {
		err.Holder = w.c.holderHere(holder, holder.Validity())
	} else if lost := w.queue.lastLost(); lost != nil {
		*err = *lost // what the first waiter saw
		if lost.Holder != nil {
			holder := *lost.Holder // the other error keeps its own
			holder.Key = ""
			err.Holder = &holder
		}
	} else {
		err.Holder = &Holder{Here: true, Owner: w.c.cfg.Owner}
	}
	err.Key, err.Also = w.all.key, slices.Clone(w.all.also)
	if w.all.several() && err.Holder != nil {
		err.Holder.Key = w.key
	}
	return err
}

// leave ends the wait, with that lease if it isn't nil. A lease that the waiter was handed and doesn't
// take is released, and so handed to the next waiter.
func (w *wait) leave(lease *Lease) {
	handed := w.leaveQueue(lease, w.won && lease != nil)
	w.unsubscribe()
	//guard:cancelled-waiter-passes-on  a waiter that was handed a lease and is cancelled gives it up
	if handed != nil && lease == nil {
		w.c.discard(handed)
	}
}

// pause is how long to wait before the next round: full jitter under a bound that doubles, or
// under the highest bound if the waiter expects a notification; but no longer than until a
// quorum can be free.
//
// The bound starts low again when the lock was released to this waiter. If it loses that round,
// it was as a rule too early on a server that has yet to get the delete, and no other
// notification will come.
func (w *wait) pause(last *RoundError, notified bool) time.Duration {
	bound := w.c.cfg.BackoffMax
	// BackoffMin<<shift may overflow, so BackoffMax is shifted.
	if shift := max(w.tries-w.notifiedTry-1, 0); !notified && shift < 63 && w.c.cfg.BackoffMin <= bound>>shift {
		bound = w.c.cfg.BackoffMin << shift
	}
	pause := w.c.random.jitter(bound)
	if last == nil {
		return pause
	}
	if h := last.Holder; h != nil && h.Here && h.Remaining > 0 {
		return min(pause, h.Remaining)
	}
	if free := freeIn(last.Votes, w.c.quarantines(w.c.reader.Now()), w.c.majority.Q); free > 0 {
		pause = min(pause, free)
	}
	return pause
}

// freeIn is when a quorum can be free at the latest, if no holder extends: the Q-th smallest
// of the times that instances gave, 0 if they gave none. Instances that granted are free now.
//
// It takes the quarantines from the members, and not from the failed votes: these come all at
// once, and it depends on the scheduler which of them were counted before the round was lost.
func freeIn(votes []Ballot, quarantines []*QuarantineError, quorum int) time.Duration {
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
		return 0
	}
	slices.Sort(times)
	// Fewer than a quorum are known if instances are down. Then another try is due when the known
	// ones are free.
	return times[min(quorum, len(times))-1]
}

// gaveUp says why the wait is over.
func (w *wait) gaveUp(caller context.Context) error {
	err := &WaitError{
		Key: w.all.key, Also: slices.Clone(w.all.also), Tries: w.tries, Verdict: ErrExhausted,
		Waited: drift.Elapsed(w.began, w.c.reader.Now()),
	}
	if w.last != nil {
		last := *w.last
		if caller.Err() == nil && errors.Is(last.Verdict, ErrInterrupted) {
			// MaxWait ended the round, not the caller's context. Too few instances had
			// answered.
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
