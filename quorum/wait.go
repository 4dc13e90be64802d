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
	fresh        bool          // a round was won

	queue    *queue
	wake     chan struct{} // made by the first call of news
	notified bool          // since the last look; news reads it when it makes wake

	here, elsewhere bool // see WaitEnd
	part            bool // of an AcquireAny, which calls the hooks of waits itself
}

// acquire waits in the queue of this process, and returns the lease.
func (w *wait) acquire(caller context.Context) (lease *Lease, err error) {
	waiters := w.enter()
	defer func() { // also if a hook panics
		w.leave(lease)
		if w.c.cfg.Hooks.WaitEnded != nil && !w.part {
			w.ended(caller, lease, err)
		}
	}()
	if started := w.c.cfg.Hooks.WaitStarted; started != nil && !w.part {
		started(caller, WaitStart{Key: w.all.key, Also: slices.Clone(w.all.also), Waiters: waiters})
	}
	return w.run(caller)
}

// errPanicked is WaitEnd.Err if a hook panicked, so that Acquire returns nothing.
var errPanicked = errors.New("quorum: a hook panicked")

// ended calls Hooks.WaitEnded.
func (w *wait) ended(caller context.Context, lease *Lease, err error) {
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
			w.fresh = true
			return lease, nil
		}
		if w.ctx.Err() != nil || w.c.closed() {
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
		w.follow(err)
	}
}

// try runs a round.
func (w *wait) try() (*Lease, *RoundError) {
	opts := roundOptions{reserve: w.successors}
	round := w.c.tryOnce
	if w.exhausted() {
		round = w.c.contend // no other try follows a split
	}
	lease, err := round(w.ctx, w.all, w.tries, &opts)
	if err != nil {
		if key := w.all.at(inTheWay(err.Votes)); key == "" || key == w.key {
			w.refused(err)
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
	if w.tries > 0 && w.rests() {
		if !w.rest(w.last, w.pause(w.last, false), false) {
			return nil, false
		}
	}
	counts := true             // the next look is a try
	var timer <-chan time.Time // for the next look that is a try
	var over *Lease            // the holder, if it is over
	for waited := false; ; {
		v := w.step(waited, over)
		if lease := v.Handed; lease != nil {
			if lease.fit() {
				return lease, w.ctx.Err() == nil && !w.c.closed()
			}
			w.queue.mu.Lock()
			w.queue.Decline()
			w.queue.mu.Unlock()
			w.c.discard(lease) // this goroutine ran too late
			continue
		}
		if v.competes {
			w.successors = v.successors
			return nil, true
		}
		if v.yields > 0 {
			pause := v.yields
			if !w.c.queues.polls() {
				pause = w.pause(nil, false) // or until it is notified
			}
			if pause > 0 {
				if !w.rest(nil, pause, true) {
					return nil, false
				}
			}
			waited = false
			continue
		}
		left := heldFor(v.Holder)
		if v.First && left == 0 {
			over = v.Holder
			continue
		}
		waited, w.here = true, true
		if counts {
			counts = false
			//guard:looks-count-as-tries  a look at a lock that this process holds counts as a try
			w.tries++
			w.last = w.taken(v.Holder)
			if w.exhausted() {
				return nil, false
			}
			if w.c.terms.MaxTries > 0 {
				timer = w.c.clock.After(w.pause(w.last, w.c.notifiesAt(w.key) >= 0))
			}
		}
		var end <-chan time.Time // the holder's
		if v.First {
			end = w.c.clock.After(left)
		}
		select {
		case <-end:
		case <-timer:
			counts = true
		case <-w.news():
		case <-w.ctx.Done():
			return nil, false
		case <-w.c.background.closing:
			return nil, false
		}
	}
}

// taken is the error of a look at a lock that this process has or waits for.
func (w *wait) taken(holder *Lease) *RoundError {
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

// heldFor is how long to wait for a lease of this process, 0 if it is over or there is none.
func heldFor(holder *Lease) time.Duration {
	if holder == nil {
		return 0
	}
	if left := holder.Validity(); left > 0 {
		// In parts, as the lease's own watcher does: after a suspension the timer would be
		// late.
		return lookAgain(left)
	}
	if holder.at() >= released {
		// Its deletes are under way, and would meet the requests of a round.
		return holder.state.c.cfg.InstanceTimeout
	}
	return 0
}

// rest waits before a round: until the pause is over, or a release notifies the waiter. last
// is the round that was lost, nil if there was none because the waiter steps back. It reports false
// when the wait is over.
func (w *wait) rest(last *RoundError, pause time.Duration, yield bool) bool {
	if pause <= 0 {
		return w.ctx.Err() == nil && !w.c.closed()
	}
	timer := w.c.clock.After(pause)
	var at position
	// A round that was not admitted found too many requests under way. The waiter sends no
	// others to queue.
	overloaded := last != nil && errors.Is(last.Verdict, ErrOverloaded)
	if !overloaded {
		at = w.subscribe()
	}
	address := "" // of the last try to queue
	for {
		if now := w.address(); !overloaded && now != "" && now != address {
			address = now
			queued, free, ok := w.enqueue(now, at.Notified, yield)
			switch {
			case !ok:
				return false
			case queued:
				pause = w.pause(last, true)
				if yield {
					//guard:let-in-within-a-timeout  a waiter that steps back for another process tries when that one must have asked
					pause = min(pause, w.c.cfg.InstanceTimeout)
				}
				timer = w.c.clock.After(pause)
			case free && w.refusedThere(last):
				// It was released since that vote.
				w.wasNotified()
				return true
			}
		}
		over := false
		select {
		case <-timer:
			over = true
		case <-w.news():
		case <-w.ctx.Done():
			return false
		case <-w.c.background.closing:
			return false
		}
		// Also at the end of the pause: a notification may have come while the waiter queued.
		switch news := w.look(true); {
		case news.Handed != nil:
			return true // for untilDue to take
		case news.Notified:
			w.wasNotified()
			return true
		case news.Freed || over:
			// The other process has the lock as a rule, or has died, or was this one.
			return true
		}
		// The subscription was opened or lost.
	}
}

// wasNotified notes that a release notified the waiter, so that its next pauses are short.
//
// A notification may be about the waiter's own key, which it deleted after a lost round. Where
// that goes on, as with a stale key on a quorum, most pauses must be long nevertheless.
func (w *wait) wasNotified() {
	now := w.c.reader.Now().Mono
	if w.notifiedTry == 0 || now-w.notifiedAt > 4*w.c.cfg.BackoffMax {
		//guard:notified-tries-soon  a waiter that was notified and lost the round tries again soon
		w.notifiedTry = w.tries
		w.notifiedAt = now
	}
}

// subscribe uses the subscription at the instance at which processes queue, if that can
// notify, and returns this process's position in the queue there.
func (w *wait) subscribe() position {
	at := w.c.queueInstance(w.key)
	s := w.c.subscriptions[at]
	if s != w.subscription {
		w.unsubscribe()
		if s != nil {
			s.use()
		}
		w.instance, w.subscription = at, s
	}
	if s == nil {
		at = -1
	}
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	return w.queue.Subscribe(at)
}

func (w *wait) unsubscribe() {
	if w.subscription != nil {
		w.subscription.drop()
	}
	w.subscription = nil
}

// address is the address to be notified at, empty if that isn't possible now.
func (w *wait) address() string {
	if w.subscription == nil {
		return ""
	}
	return w.subscription.currentAddress()
}

// enqueue asks for a position in the queue; ok is false when the wait is over.
func (w *wait) enqueue(address string, front, yield bool) (queued, free, ok bool) {
	// Before the request is sent, because the notification may come before the answer.
	w.c.dequeue(w.key, w.setPosition(position{Instance: w.instance, Address: address}))
	select {
	case answer := <-w.subscription.enqueue(context.WithoutCancel(w.ctx), w.key, address, front, yield):
		if answer != wire.Granted {
			w.setPosition(position{})
		}
		return answer == wire.Granted, answer == wire.Refused, true
	case <-w.ctx.Done():
	case <-w.c.background.closing:
	}
	return false, false, false
}

// refusedThere reports whether the instance with the queue refused the round because of the
// key.
func (w *wait) refusedThere(last *RoundError) bool {
	if last == nil || len(last.Votes) == 0 {
		return false
	}
	vote := last.Votes[w.instance].Vote
	return vote.Outcome == wire.Refused && vote.Err == nil && (vote.InTheWay == 0 || w.all.at(vote.InTheWay) == w.key)
}

// leave ends the wait, with that lease if it isn't nil. A lease that the waiter was handed and doesn't
// take is released, and so handed to the next waiter.
func (w *wait) leave(lease *Lease) {
	handed := w.leaveQueue(lease, w.fresh && lease != nil)
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
