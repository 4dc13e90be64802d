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

	queue     *queue
	wake      chan struct{} // gets an element when the waiter should look at its queue
	inherited *inheritance  // that was passed on to this waiter; guarded by the queues' lock

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
	round := w.c.round
	if w.exhausted() {
		round = w.c.contend // no other try follows a split
	}
	lease, err := round(w.ctx, w.all, w.tries)
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
				nextTry = w.c.clock.After(w.pause(w.last, w.c.notifiesAt(w.key) >= 0))
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

// rest waits until a pause is over or a release notifies the waiter. Meanwhile this process has a position in the
// queue at an instance, if that can notify. lost is the round before, nil if there was none because the waiter steps
// back (yields). It reports false when the wait is over.
func (w *wait) rest(lost *RoundError, pause time.Duration, yields bool) bool {
	if pause <= 0 {
		return yields || !w.over()
	}
	over, address := w.c.clock.After(pause), ""
	front := w.subscribe().Notified // it was notified before, and may queue at the front
	for {
		if now := w.currentAddress(); now != "" && now != address {
			address = now
			switch queued, free, ok := w.enqueue(now, front, yields); {
			case !ok:
				return false
			case queued:
				pause := w.pause(lost, true)
				if yields {
					pause = min(pause, w.c.cfg.InstanceTimeout)
				}
				over = w.c.clock.After(pause)
			case free && w.refusedThere(lost):
				// It was released since that vote.
				w.wasNotified()
				return true
			}
		}
		rested := false
		select {
		case <-over:
			rested = true
		case <-w.wake:
		case <-w.ctx.Done():
			return false
		case <-w.c.background.closing:
			return false
		}
		// Also at the end of the pause: a notification may have come while the waiter queued. If a lease of this
		// process is over, or the pause, another process has the lock as a rule, or has died, or was this one.
		// Otherwise the subscription was opened or lost.
		switch seen := w.look(true); {
		case seen.Notified:
			w.wasNotified()
			return true
		case seen.Freed || rested:
			return true
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
	w.leaveQueue(lease)
	w.unsubscribe()
}

// pause is how long to wait before the next round: full jitter under a bound that doubles, or
// under the highest bound if the waiter expects a notification; but no longer than until a
// quorum can be free.
//
// The bound starts low again when the lock was released to this waiter. If it loses that round,
// it was as a rule too early on a server that has yet to get the delete, and no other
// notification will come.
func (w *wait) pause(last *RoundError, notified bool) time.Duration {
	bound := w.c.cfg.Lab.BackoffMax
	// BackoffMin<<shift may overflow, so BackoffMax is shifted.
	if shift := max(w.tries-w.notifiedTry-1, 0); !notified && shift < 63 && w.c.cfg.Lab.BackoffMin <= bound>>shift {
		bound = w.c.cfg.Lab.BackoffMin << shift
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
// It takes the quarantines from the servers, and not from the failed votes: these come all at
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
		// In parts, as the lease's own watcher does: after a suspension the timer would be
		// late.
		return checkAgainAfter(left)
	}
	if holder.stageNow() >= released {
		// Its deletes are under way, and would meet the requests of a round.
		return holder.value.c.cfg.InstanceTimeout
	}
	return 0
}

// wasNotified notes that a release notified the waiter, so that its next pauses are short.
//
// A notification may be about the waiter's own key, which it deleted after a lost round. Where
// that goes on, as with a stale key on a quorum, most pauses must be long nevertheless.
func (w *wait) wasNotified() {
	now := w.c.reader.Now().Mono
	if w.notifiedTry == 0 || now-w.notifiedAt > 4*w.c.cfg.Lab.BackoffMax {
		w.notifiedTry = w.tries
		w.notifiedAt = now
	}
}

// refusedThere reports whether the instance with the queue refused the round because of the
// key.
func (w *wait) refusedThere(last *RoundError) bool {
	if last == nil || len(last.Votes) == 0 {
		return false
	}
	vote := last.Votes[w.instance].Vote
	return vote.Outcome == wire.Refused && (vote.InTheWay == 0 || w.all.at(vote.InTheWay) == w.key)
}
