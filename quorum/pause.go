package quorum

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

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
	if free := freeIn(last.Votes, w.c.servers.quarantines(w.c.reader.Now()), w.c.majority.Q); free > 0 {
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

// subscribe uses the subscription at the instance at which processes queue, if that can
// notify, and returns this process's position in the queue there.
func (w *wait) subscribe() position {
	at := w.c.servers.queueInstance(w.key)
	s := w.c.subscriptions.at[at]
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
	w.queues.mu.Lock()
	defer w.queues.mu.Unlock()
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
	w.c.subscriptions.dequeue(w.key, w.setPosition(position{Instance: w.instance, Address: address}))
	select {
	case answer := <-w.subscription.enqueue(w.ctx, w.key, address, front, yield):
		if answer != wire.Granted {
			w.setPosition(position{})
		}
		return answer == wire.Granted, answer == wire.Refused, true
	case <-w.ctx.Done():
	case <-w.c.background.closing:
	}
	return false, false, false
}
