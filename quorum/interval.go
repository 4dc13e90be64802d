package quorum

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// interval is what a waiter does between two rounds. It looks at the queue of this process, and sleeps
// while this process has the lock or other waiters come first. Or it rests before a round: until the
// pause is over, or a release notifies it.
type interval struct {
	*wait
	handed *Lease // to the waiter
	waited bool   // it has slept since its last look

	nextIsTry  bool             // the next look counts as a try
	nextTry    <-chan time.Time // receives when the next look counts again
	holderEnd  <-chan time.Time // receives when the holder may be over, while the waiter is the first
	overHolder *Lease           // the holder, if it is over

	pause   <-chan time.Time // receives when a round is due, nil if the waiter doesn't rest
	lost    *RoundError      // the round before, nil if there was none because the waiter steps back
	yields  bool             // it steps back for another process
	front   bool             // it was notified before, and may queue at the front
	address string           // of the last try to queue
}

// action is what a waiter does next.
type action uint8

const (
	look action = iota
	sleep
	compete // ask the instances
	take    // the lease that it was handed
	giveUp
)

// look looks at the queue of this process.
func (i *interval) look() action {
	v := i.lookOrCompete(i.waited, i.overHolder)
	switch {
	case v.Handed != nil && v.Handed.fit():
		i.handed = v.Handed
		return take
	case v.Handed != nil:
		i.decline(v.Handed) // this goroutine ran too late
		return look
	case v.competes:
		i.successors = v.successors
		return compete
	case v.yields > 0 && i.c.queues.polls():
		return i.rest(nil, v.yields, true)
	case v.yields > 0:
		return i.rest(nil, i.wait.pause(nil, false), true) // or until it is notified
	}
	left := heldFor(v.Holder)
	if v.First && left == 0 {
		i.overHolder = v.Holder
		return look
	}
	i.waited, i.here = true, true
	if i.nextIsTry && !i.countLook(v.Holder) {
		return giveUp
	}
	if i.holderEnd = nil; v.First {
		i.holderEnd = i.c.clock.After(left)
	}
	return sleep
}

// countLook counts a look at a lock that this process has as a try. It reports false if it was the last.
func (i *interval) countLook(holder *Lease) bool {
	i.nextIsTry = false
	//guard:looks-count-as-tries  a look at a lock that this process holds counts as a try
	i.tries++
	i.last = i.lookError(holder)
	if i.exhausted() {
		return false
	}
	if i.c.terms.MaxTries > 0 {
		i.nextTry = i.c.clock.After(i.wait.pause(i.last, i.c.notifiesAt(i.key) >= 0))
	}
	return true
}

// rest begins a pause before a round. lost is the round before, nil if there was none because the
// waiter steps back.
func (i *interval) rest(lost *RoundError, pause time.Duration, yields bool) action {
	i.waited = false
	if pause <= 0 {
		if i.over() && !yields {
			return giveUp
		}
		return look
	}
	i.pause, i.lost, i.yields, i.address = i.c.clock.After(pause), lost, yields, ""
	if !i.overloaded() {
		i.front = i.subscribe().Notified
	}
	return i.queueUp()
}

// overloaded reports whether the last round was not admitted, because too many requests were under
// way. Then the waiter sends no others to queue.
func (i *interval) overloaded() bool {
	return i.lost != nil && errors.Is(i.lost.Verdict, ErrOverloaded)
}

// queueUp has this process wait in the queue at an instance, if that can notify, and it doesn't yet.
func (i *interval) queueUp() action {
	now := i.currentAddress()
	if i.overloaded() || now == "" || now == i.address {
		return sleep
	}
	i.address = now
	queued, free, ok := i.enqueue(now, i.front, i.yields)
	switch {
	case !ok:
		return giveUp
	case queued:
		pause := i.wait.pause(i.lost, true)
		if i.yields {
			//guard:let-in-within-a-timeout  a waiter that steps back for another process tries when that one must have asked
			pause = min(pause, i.c.cfg.InstanceTimeout)
		}
		i.pause = i.c.clock.After(pause)
	case free && i.refusedThere(i.lost):
		// It was released since that vote.
		i.wasNotified()
		i.pause = nil
		return look
	}
	return sleep
}

// sleep sleeps until something happens.
func (i *interval) sleep() action {
	holderEnd, nextTry := i.holderEnd, i.nextTry
	if i.pause != nil {
		holderEnd, nextTry = nil, nil
	}
	rested := false
	select {
	case <-i.pause:
		rested = true
	case <-holderEnd:
	case <-nextTry:
		i.nextIsTry = true
	case <-i.news():
	case <-i.ctx.Done():
		return giveUp
	case <-i.c.background.closing:
		return giveUp
	}
	if i.pause == nil {
		return look
	}
	// Also at the end of the pause: a notification may have come while the waiter queued.
	switch seen := i.wait.look(true); {
	case seen.Handed != nil: // which is found again
	case seen.Notified:
		i.wasNotified()
	case !seen.Freed && !rested:
		return i.queueUp() // the subscription was opened or lost
	}
	// If a lease of this process is over, or the pause, another process has the lock as a rule, or has
	// died, or was this one.
	i.pause = nil
	return look
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
		return holder.state.c.cfg.InstanceTimeout
	}
	return 0
}

// decline gives up a lease that the waiter was handed, and stays in the queue.
func (w *wait) decline(lease *Lease) {
	w.queue.mu.Lock()
	w.queue.Decline()
	w.queue.mu.Unlock()
	w.c.discard(lease)
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

// currentAddress is the address to be notified at, empty if that isn't possible now.
func (w *wait) currentAddress() string {
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
