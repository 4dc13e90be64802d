package quorum

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redlock/drift"
)

// wait is one Acquire.
type wait struct {
	c        *Coordinator
	key      string
	began    drift.Instant
	ctx      context.Context // the caller's, bounded by Terms.MaxWait
	ticket   ticket
	ear      *hearing // by which it is to be called, nil if it doesn't listen
	tries    int
	split    bool        // the last round was split between clients
	followed *succession // what the last round followed, nil for nothing
	last     *RoundError
}

func (w *wait) run(caller context.Context) (*Lease, error) {
	if turn := w.ticket.turn; turn != nil {
		select {
		case <-turn:
		case <-w.ctx.Done():
			return nil, w.gaveUp(caller)
		case <-w.c.background.done:
			return nil, w.gaveUp(caller)
		}
	}
	for {
		way, ok := w.next()
		if !ok {
			return nil, w.gaveUp(caller)
		}
		w.followed = way.former
		if way.former != nil {
			if lease := w.inherit(way.former); lease != nil {
				return lease, nil
			}
		}
		w.tries++
		way.spare = w.spares(way)
		lease, err := w.c.tryOnce(w.ctx, w.key, w.tries, way)
		if err == nil {
			return lease, nil
		}
		if w.ctx.Err() != nil || w.c.closed() {
			if w.last == nil || !errors.Is(err.Verdict, ErrInterrupted) {
				w.last = err
			}
			return nil, w.gaveUp(caller)
		}
		w.last = err
		if w.hopeless(err) {
			return nil, err
		}
		if w.c.terms.MaxTries > 0 && w.tries >= w.c.terms.MaxTries {
			return nil, w.gaveUp(caller)
		}
		// Some granted and some refused: other clients took the rest at the same
		// time. The next round goes through one instance, once; if that refuses,
		// a full round follows, so that one stale key can't block for ever.
		granted, refused, _ := count(err.Votes)
		w.split = !w.split && granted > 0 && refused > 0
	}
}

// next waits until another round is due, and says how to run it; false means that
// the wait is over.
func (w *wait) next() (way way, ok bool) {
	if w.last != nil {
		if way, ok = w.rest(w.last, false); !ok {
			return way, false
		}
	}
	for {
		// While a lease of this very process is held nobody needs to ask the
		// instances: its release, or its end, is what is waited for.
		if left := w.heldFor(); left > 0 {
			w.ticket.park()
			ok := w.sleep(left)
			news := w.ticket.read()
			switch {
			case news.gift != nil && ok:
				way.oneFirst, way.former = false, news.gift
				return way, true
			case news.gift != nil:
				news.gift.decline()
				return way, false
			case !ok:
				return way, false
			}
			way.oneFirst = way.oneFirst || news.called
			continue
		}
		if !w.ticket.yields() {
			return way, true
		}
		if way, ok = w.rest(nil, true); !ok {
			return way, false
		}
	}
}

// heldFor is for how long a lease of this process is to be waited for, 0 if there
// is none.
func (w *wait) heldFor() time.Duration {
	holder := w.c.locals.holder(w.key)
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
		return w.c.cfg.InstanceTimeout
	}
	return 0
}

// rest waits between two rounds: for a call by who releases the lock, if it can be
// called, and for a pause in any case. Last is the round that was lost, nil if none
// was tried because others are to be let in.
func (w *wait) rest(last *RoundError, yield bool) (next way, ok bool) {
	pause := w.pause(last, false)
	if pause <= 0 {
		return way{oneFirst: w.split}, w.ctx.Err() == nil && !w.c.closed()
	}
	timer := w.c.clock.After(pause)
	place := w.listen()
	address := "" // that it was tried with
	for {
		if at := w.address(); at != "" && at != address {
			address = at
			placed, free, ok := w.enlist(at, place.called, yield)
			switch {
			case !ok:
				return way{}, false
			case placed:
				timer = w.c.clock.After(w.pause(last, true))
			case free && w.refusedThere(last):
				// It was released since that vote.
				return way{oneFirst: true}, true
			}
		}
		over := false
		select {
		case <-timer:
			over = true
		case <-w.ticket.heard():
		case <-w.ctx.Done():
			return way{}, false
		case <-w.c.background.done:
			return way{}, false
		}
		// Also at the end of the pause: a call may have come while a place was asked for.
		switch news := w.ticket.read(); {
		case news.called:
			// The release that called was on its way to all of them before, and only
			// this process was called: there is no need to feel one's way.
			return way{}, true
		case news.freed || over:
			return way{oneFirst: w.split}, true
		}
		// The ear was opened, or lost.
	}
}

// listen has this process called at the instance where the waiters meet, if that
// can call, and gives the place that it has in the line there.
func (w *wait) listen() place {
	ear := w.c.hearings[w.c.meetingPlace(w.key)]
	if ear != w.ear {
		w.unlisten()
		if ear != nil {
			ear.use()
		}
		w.ear = ear
	}
	return w.ticket.listen(ear)
}

func (w *wait) unlisten() {
	if w.ear != nil {
		w.ear.leave()
	}
	w.ear = nil
}

// address is what to be called by, empty if that isn't possible now.
func (w *wait) address() string {
	if w.ear == nil {
		return ""
	}
	return w.ear.open()
}

// enlist asks for a place in the line; ok is false when the wait is over.
func (w *wait) enlist(address string, front, yield bool) (placed, free, ok bool) {
	// Before it is sent, as the call may come before the answer.
	w.c.withdraw(w.key, w.ticket.stand(place{ear: w.ear, address: address}))
	// Variables of its own: the answer may come when nobody waits for it any more.
	var answer struct{ placed, free bool }
	ear, done := w.ear, make(chan struct{})
	w.c.background.start(func() {
		defer close(done)
		answer.placed, answer.free = ear.enlist(context.WithoutCancel(w.ctx), w.key, address, front, yield)
	})
	select {
	case <-done:
		placed, free = answer.placed, answer.free
	case <-w.ctx.Done():
		return false, false, false
	case <-w.c.background.done:
		return false, false, false
	}
	if !placed {
		w.ticket.stand(place{})
	}
	return placed, free, true
}

// refusedThere reports whether the round was refused at the instance where the
// waiters meet, for the key's sake.
func (w *wait) refusedThere(last *RoundError) bool {
	if last == nil || len(last.Votes) == 0 {
		return false
	}
	vote := last.Votes[w.ear.index].Vote
	return vote.Outcome == Refused && vote.Err == nil
}

// leave ends the wait.
func (w *wait) leave(won bool) {
	if w.followed != nil {
		// For a hook that panicked before the round was sent: who gave the lease
		// back waits for it.
		w.followed.decline()
	}
	w.c.withdraw(w.key, w.ticket.leave(won))
	w.unlisten()
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
	pause := w.c.jitter(bound)
	if last == nil {
		return pause
	}
	if free, known := freeIn(last.Votes, w.c.quarantines(), w.c.majority.Q); known {
		pause = min(pause, free)
	}
	return pause
}

// quarantines is for how long each instance may not vote yet, 0 if it may.
func (c *core) quarantines() []time.Duration {
	now := c.reader.Now()
	left := make([]time.Duration, len(c.members))
	for i, m := range c.members {
		m.mu.Lock()
		if q := m.quarantine.check(now); q != nil {
			left[i] = q.Remaining
		}
		m.mu.Unlock()
	}
	return left
}

// freeIn is when a quorum can be free at the latest, if no holder extends: the
// Q-th smallest of the times that instances gave. Instances that granted are free
// now.
//
// It takes the quarantines from the instances, and not from the votes that they
// failed: these come all at once, and which of them were counted before the round
// was lost is the scheduler's choice.
func freeIn(votes []Ballot, quarantines []time.Duration, quorum int) (time.Duration, bool) {
	var times []time.Duration
	for i, ballot := range votes {
		vote := ballot.Vote
		switch {
		case quarantines[i] > 0:
			times = append(times, quarantines[i]+time.Millisecond)
		case vote.Outcome == Granted:
			times = append(times, 0)
		case vote.Outcome == Refused && vote.Remaining > 0:
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
	for _, ballot := range err.Votes {
		if ballot.Vote.Err != nil && permanent(ballot.Vote.Err) {
			n++
		}
	}
	return n >= w.c.majority.Blocking() || !errors.Is(err.Verdict, ErrTaken) && len(err.Votes) == 0
}

// sleep waits, or until there is news; false means that the wait is over.
func (w *wait) sleep(d time.Duration) bool {
	select {
	case <-w.c.clock.After(d):
		return true
	case <-w.ticket.heard():
		return true
	case <-w.ctx.Done():
		return false
	case <-w.c.background.done:
		return false
	}
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
