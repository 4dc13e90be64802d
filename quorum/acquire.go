package quorum

import (
	"context"
	"errors"
	"fmt"

	"github.com/redquorum/redlock/quorum/wire"
)

// TryAcquire tries once to take the lock on key.
//
// Errors: ErrConfig for a key that can't be used, ErrHeldByCaller, ErrClosed; and as
// *RoundError ErrTaken, ErrNoQuorum, ErrTooSlow, ErrTokenRace, ErrSetMismatch,
// ErrOverloaded, ErrInterrupted with ctx's error if that ended first, ErrClosed, and a
// failure of Config.Random. On an error nothing stays behind: what was set has
// been deleted on every instance that answered, and is owed to the others.
func (c *Coordinator) TryAcquire(ctx context.Context, key string) (*Lease, error) {
	if err := c.ready(ctx, wire.Acquire, key); err != nil {
		return nil, err
	}
	lease, err := c.tryOnce(ctx, key, 1, &roundOptions{})
	if err != nil {
		return nil, err
	}
	c.queues.held(lease)
	return c.handOut(ctx, lease), nil
}

// Acquire takes the lock on key and waits for it until ctx ends, or Terms.MaxTries
// or Terms.MaxWait are used up. Goroutines of one process are served in the order
// in which they came, and processes too, as far as they can be called (see
// Config.Notifications): each has as many turns in a row as it has goroutines that wait, or
// twice as many where the lock is held for moments (see Config.Cohorts). A caller that
// has the lock already is told so (ErrHeldByCaller).
//
// Errors: those of TryAcquire for what waiting can't cure and for a ctx that had
// ended before, else a *WaitError: it Is ErrExhausted for the bounds, ErrInterrupted
// (with ctx's error) for the context and ErrClosed for Close, and has the last round's
// error beside it.
func (c *Coordinator) Acquire(ctx context.Context, key string) (*Lease, error) {
	if err := c.ready(ctx, wire.Acquire, key); err != nil {
		return nil, err
	}
	w := &wait{c: c, key: key, began: c.reader.Now(), ctx: ctx}
	if c.terms.MaxWait > 0 {
		bounded, cancel := c.clock.WithTimeout(ctx, c.terms.MaxWait)
		defer cancel()
		w.ctx = bounded
	}
	lease, err := w.acquire(ctx)
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
// ErrLost or ErrClosed if the lease was over before work had ended, or with Release's
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
	if errors.Is(over, ErrReleased) || errors.Is(over, ErrHandedOff) {
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
func (c *Coordinator) ready(ctx context.Context, op wire.Op, key string) error {
	if err := validateKey(key); err != nil {
		return err
	}
	if c.closed() {
		return fmt.Errorf("%w (%s %q)", ErrClosed, op, key)
	}
	if ctx.Err() != nil {
		return &RoundError{Op: op, Key: key, Verdict: ErrInterrupted, Cause: causeOf(ctx), Quorum: c.majority.Q}
	}
	//guard:no-self-deadlock  a caller that asks for a lock that it has is told so
	if op == wire.Acquire && c.heldUnder(ctx, key) {
		return fmt.Errorf("%w (%s %q): it would wait for itself; use the lease that it has, or release it first", ErrHeldByCaller, op, key)
	}
	c.watch()
	return nil
}

// handOut gives a lease to its holder.
func (c *Coordinator) handOut(ctx context.Context, lease *Lease) *Lease {
	if acquired := c.cfg.Hooks.Acquired; acquired != nil {
		c.tell(lease, func() { acquired(ctx, lease.event(nil)) })
	}
	if c.terms.KeepAlive {
		lease.KeepAlive()
	}
	return lease
}
