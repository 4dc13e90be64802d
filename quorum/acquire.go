package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/drift"
)

// TryAcquire tries once to take the lock on key.
//
// Errors: ErrConfig for a key that can't be used, ErrTaken, ErrNoQuorum,
// ErrTooSlow, ErrTokenRace as *RoundError, ErrInterrupted with ctx's error if
// that ended first, ErrClosed. On an error nothing stays behind: what was set has
// been deleted on every instance that answered, and is owed to the others.
func (c *Coordinator) TryAcquire(ctx context.Context, key string) (*Lease, error) {
	if err := c.ready(ctx, Acquire, key); err != nil {
		return nil, err
	}
	lease, err := c.tryOnce(ctx, key, 1, false)
	if err != nil {
		return nil, err
	}
	return c.handOut(ctx, lease), nil
}

// Acquire takes the lock on key and waits for it until ctx ends, or Terms.MaxTries
// or Terms.MaxWait are used up. Goroutines of one process are served in the order
// in which they came.
//
// Errors: those of TryAcquire for what waiting can't cure and for a ctx that had
// ended before, else a *WaitError: it
// Is ErrExhausted for the bounds and ErrInterrupted (with ctx's error) for the
// context, and has the last round's error beside it.
func (c *Coordinator) Acquire(ctx context.Context, key string) (*Lease, error) {
	if err := c.ready(ctx, Acquire, key); err != nil {
		return nil, err
	}
	w := &wait{c: c, key: key, began: c.reader.Now(), ctx: ctx}
	if c.terms.MaxWait > 0 {
		bounded, cancel := c.clock.WithTimeout(ctx, c.terms.MaxWait)
		defer cancel()
		w.ctx = bounded
	}
	w.ticket = c.locals.enter(key)
	defer w.ticket.leave()
	lease, err := w.run(ctx)
	if err != nil {
		return nil, err
	}
	return c.handOut(ctx, lease), nil
}

// Do takes the lock, keeps it alive while work runs, and releases it. The context
// that work gets ends when ctx does or the lease is over, whichever is first; its
// cause says which.
//
// The error is Acquire's if the lock was not taken; else work's, joined with an
// ErrLost if the lease was over before work had ended, or with Release's
// ErrNotHeld if its keys turned out to have gone: either says that work went on
// without the lock. A panic in work passes on after the release.
func (c *Coordinator) Do(ctx context.Context, key string, work func(ctx context.Context, lease *Lease) error) error {
	lease, err := c.Acquire(ctx, key)
	if err != nil {
		return err
	}
	lease.KeepAlive()
	released := false
	release := func() error {
		released = true
		return lease.Release(ctx)
	}
	defer func() {
		if !released {
			_ = release() // work panicked, and that is what its caller must see
		}
	}()
	err = work(lease.Within(ctx), lease)
	over := lease.Err()
	if errors.Is(over, ErrReleased) {
		released = true // work did it itself
		return err
	}
	if relErr := release(); over == nil && errors.Is(relErr, ErrNotHeld) {
		over = relErr
	}
	// An ErrUnreachable isn't work's concern: the lease was valid, and what is
	// owed will be delivered. Hooks.Released tells of it.
	return errors.Join(err, over)
}

// ready checks what every call needs.
func (c *Coordinator) ready(ctx context.Context, op Op, key string) error {
	if err := validateKey(key); err != nil {
		return err
	}
	if c.closed() {
		return fmt.Errorf("%w (%s %q)", ErrClosed, op, key)
	}
	if ctx.Err() != nil {
		return &RoundError{Op: op, Key: key, Verdict: ErrInterrupted, Cause: causeOf(ctx), Quorum: c.majority.Q}
	}
	c.watch()
	return nil
}

// handOut makes a lease known before its holder gets it.
func (c *Coordinator) handOut(ctx context.Context, lease *Lease) *Lease {
	c.locals.held(lease)
	if c.cfg.Hooks.Acquired != nil {
		c.cfg.Hooks.Acquired(ctx, lease.event(nil))
	}
	if c.terms.KeepAlive {
		lease.KeepAlive()
	}
	return lease
}

// wait is one Acquire.
type wait struct {
	c      *Coordinator
	key    string
	began  drift.Instant
	ctx    context.Context // the caller's, bounded by Terms.MaxWait
	ticket *ticket
	tries  int
	last   *RoundError
}

func (w *wait) run(caller context.Context) (*Lease, error) {
	select {
	case <-w.ticket.turn:
	case <-w.ctx.Done():
		return nil, w.gaveUp(caller)
	case <-w.c.background.done:
		return nil, w.gaveUp(caller)
	}
	split := false
	for {
		// While a lease of this very process is held nobody needs to ask the
		// instances: its release, or its end, is what is waited for.
		if holder := w.c.locals.holder(w.key); holder != nil {
			if left := holder.Validity(); left > 0 {
				// In parts, as the lease's own watcher does: after a suspension the
				// timer would be late.
				if !w.sleep(lookAgain(left)) {
					return nil, w.gaveUp(caller)
				}
				continue
			}
		}
		w.tries++
		lease, err := w.c.tryOnce(w.ctx, w.key, w.tries, split)
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
		split = !split && granted > 0 && refused > 0
		if !w.sleep(w.pause(err)) {
			return nil, w.gaveUp(caller)
		}
	}
}

// pause is how long to wait before the next round: full jitter under a bound that
// doubles, but no longer than until a quorum can be free.
func (w *wait) pause(err *RoundError) time.Duration {
	bound := w.c.cfg.BackoffMax
	// Compared this way round, because BackoffMin<<shift may overflow.
	if shift := w.tries - 1; shift < 63 && w.c.cfg.BackoffMin <= bound>>shift {
		bound = w.c.cfg.BackoffMin << shift
	}
	pause := w.c.jitter(bound)
	if free, known := freeIn(err.Votes, w.c.majority.Q); known {
		pause = min(pause, free)
	}
	return pause
}

// freeIn is when a quorum can be free at the latest, if no holder extends: the
// Q-th smallest of the times that instances gave. Instances that granted are free
// now.
func freeIn(votes []Ballot, quorum int) (time.Duration, bool) {
	var times []time.Duration
	for _, ballot := range votes {
		vote := ballot.Vote
		var quarantined *QuarantineError
		switch {
		case vote.Outcome == Granted:
			times = append(times, 0)
		case vote.Outcome == Refused && vote.Remaining > 0:
			times = append(times, vote.Remaining+time.Millisecond)
		case errors.As(vote.Err, &quarantined):
			times = append(times, quarantined.Remaining+time.Millisecond)
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

// sleep waits, or until the resource may have become free in this process; false
// means that the wait is over.
func (w *wait) sleep(d time.Duration) bool {
	if d <= 0 {
		return w.ctx.Err() == nil && !w.c.closed()
	}
	select {
	case <-w.c.clock.After(d):
		return true
	case <-w.ticket.wake:
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
