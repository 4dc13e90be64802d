package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redquorum/redlock/quorum/wire"
)

// TryAcquire tries once to take the lock on key, with one round that asks all instances. If
// several clients try at once on a free lock, exactly one of them gets it, as long as a quorum of
// instances answers. If the votes are split between the clients, each client from then on asks
// one instance first, the same one for all clients. The client that gets this instance's vote
// asks the other instances, and the other clients look until they see who has the lock. That
// usually takes two more round trips and a few milliseconds, and at most about six
// InstanceTimeouts. If very many rounds of this Coordinator are under way, TryAcquire also waits
// for its turn, for at most as long (ErrOverloaded, see Lab.MaxInFlight). If the winner has
// already released the lock by then, another client gets it: hold the lock for longer, or use
// package once, if the work is to be done once. If a client died and left its key on that first
// instance, tries whose votes are split get ErrSplit until the key has expired.
//
// Errors: ErrConfig for a key that can't be used, ErrHeldByCaller, ErrClosed; and as
// *RoundError ErrTaken, ErrSplit if nobody was seen to get the lock, ErrNoQuorum, ErrTooSlow, ErrUnsettled, ErrSetMismatch, ErrOverloaded,
// ErrInterrupted with ctx's error if that ended first, ErrClosed, and a failure of
// Config.Lab.Random. It is ErrTaken without a round if this Coordinator has the lock. After an error the
// key is deleted on every instance that granted it. A delete may still be under way, if the grant
// came late or the call was interrupted. It stays pending on an instance that doesn't answer.
func (c *Coordinator) TryAcquire(ctx context.Context, key string) (*Lease, error) {
	return c.tryAcquire(ctx, keys{key})
}

// tryAcquire is TryAcquire and TryAcquireAll.
func (c *Coordinator) tryAcquire(ctx context.Context, all keys) (*Lease, error) {
	if err := c.ready(ctx, wire.Acquire, all); err != nil {
		return nil, err
	}
	lease, err := c.contend(ctx, all, 1)
	if err != nil {
		return nil, err
	}
	c.queues.acquired(lease, "", c.reader.Now().Mono)
	return c.deliver(ctx, lease), nil
}

// Acquire takes the lock on key, and waits for it until ctx ends or Terms.MaxTries or
// Terms.MaxWait is used up. Goroutines of one process get the lock in the order of arrival, and
// so do processes if they can be notified (see Config.Lab.Notifications). A process has as many
// turns in a row as goroutines wait in it, up to 128. A caller that has the lock already
// gets ErrHeldByCaller.
//
// Errors: those of TryAcquire if waiting can't cure them or ctx had ended before; otherwise a
// *WaitError, which Is ErrExhausted for the bounds, ErrInterrupted (with ctx's error) for the
// context, or ErrClosed for Close, and also Is the last round's error.
func (c *Coordinator) Acquire(ctx context.Context, key string) (*Lease, error) {
	return c.acquire(ctx, keys{key})
}

// acquire is Acquire and AcquireAll.
func (c *Coordinator) acquire(ctx context.Context, all keys) (*Lease, error) {
	if err := c.ready(ctx, wire.Acquire, all); err != nil {
		return nil, err
	}
	w := &wait{c: c, began: c.reader.Now(), waiter: waiter{queues: c.queues, ctx: ctx, terms: &c.terms, all: all, key: all[0]}}
	if c.terms.MaxWait > 0 {
		bounded, cancel := c.clock.WithTimeout(ctx, c.terms.MaxWait)
		defer cancel()
		w.ctx = bounded
	}
	lease, err := w.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return c.deliver(ctx, lease), nil
}

// Do takes the lock, keeps it alive while work runs, and releases it. The context of work ends
// with ctx or with the lease, whichever is first. Its cause says which. It carries the lease's
// token (fencing.FromContext), as Lease.Context does.
//
// If the lock was not taken the error is Acquire's. Otherwise it is work's, joined with ErrLost
// or ErrClosed if the lease was over before work had ended, or with Release's ErrNotHeld if its
// keys were gone. Both mean that work went on without the lock. A panic in work passes on after
// the release.
func (c *Coordinator) Do(ctx context.Context, key string, work func(ctx context.Context, lease *Lease) error) error {
	return c.DoUnder(ctx, func(ctx context.Context) (*Lease, error) { return c.Acquire(ctx, key) }, work)
}

// DoUnder is like Do, but calls acquire to take the lease.
func (c *Coordinator) DoUnder(
	ctx context.Context,
	acquire func(ctx context.Context) (*Lease, error),
	work func(ctx context.Context, lease *Lease) error,
) error {
	if acquire == nil || work == nil {
		return fmt.Errorf("%w: the function to call under the lock is nil", ErrConfig)
	}
	if err := c.none(); err != nil {
		return err
	}
	// Close waits until Do has released its keys.
	c.background.enter()
	defer c.background.leave()
	lease, err := acquire(ctx)
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
			_ = release() // work panicked, and the caller must see that
		}
	}()
	err = work(lease.Within(ctx), lease)
	over := lease.Err()
	if errors.Is(over, ErrReleased) || errors.Is(over, ErrHandedOff) {
		released = true // by work
		return err
	}
	if relErr := release(); over == nil && errors.Is(relErr, ErrNotHeld) {
		over = relErr
	}
	// ErrUnreachable isn't returned: the lease was valid, and the deletes stay pending.
	// Hooks.Released reports it.
	if over == nil || errors.Is(err, over) {
		return err // as a rule work returns why its context ended
	}
	return errors.Join(err, over)
}

// ready makes the checks that are common to all calls.
func (c *Coordinator) ready(ctx context.Context, op wire.Op, all keys) error {
	if err := cmp.Or(c.none(), ValidateKey(all[0])); err != nil {
		return err
	}
	if c.closed() {
		return fmt.Errorf("%w (%s %v)", ErrClosed, op, all)
	}
	if ctx.Err() != nil {
		err := c.roundError(op, all, ErrInterrupted)
		err.Cause = causeOf(ctx)
		return err
	}
	//guard:no-self-deadlock  a caller that asks for a lock that it has is told so
	if held := c.heldUnder(ctx, all); op == wire.Acquire && held != "" {
		return fmt.Errorf("%w (%s %q): it would wait for itself; use the lease that it has, or release it first", ErrHeldByCaller, op, held)
	}
	c.clockMonitor.start()
	return nil
}

// deliver gives a lease to its holder.
func (c *Coordinator) deliver(ctx context.Context, lease *Lease) *Lease {
	if acquired := c.cfg.Hooks.Acquired; acquired != nil {
		c.withHook(lease, func() { acquired(ctx, lease.event(nil)) })
	}
	if c.terms.KeepAlive {
		lease.KeepAlive()
	}
	return lease
}

// AcquireAll takes one lease on all of the keys, or none. It is Acquire for several keys: at most
// wire.MaxKeys, 16, each given once, in any order. The lease has one token, which is larger than
// that of every earlier lease on any of the keys, and smaller than that of every later one.
// The lease is extended, lost and released as a whole: if too many instances have lost any of its
// keys, it is lost.
//
// No client ever has some of the keys and waits for the others, so the order in which clients
// name their keys doesn't matter. But a client that needs many keys may wait for a long time
// while others take them one by one. Terms.MaxWait and ctx bound that.
//
// Errors: those of Acquire. ErrConfig also if there are no keys, too many, or one twice.
// RoundError.Holder says which key is in the way. With a single key it is Acquire.
func (c *Coordinator) AcquireAll(ctx context.Context, keys ...string) (*Lease, error) {
	all, err := keysOf(keys)
	if err != nil {
		return nil, err
	}
	return c.acquire(ctx, all)
}

// TryAcquireAll tries once to take one lease on all of the keys, see AcquireAll. Errors are those
// of TryAcquire, and ErrConfig as with AcquireAll.
func (c *Coordinator) TryAcquireAll(ctx context.Context, keys ...string) (*Lease, error) {
	all, err := keysOf(keys)
	if err != nil {
		return nil, err
	}
	return c.tryAcquire(ctx, all)
}

// DoAll is Do under one lease on all of the keys, see AcquireAll.
func (c *Coordinator) DoAll(ctx context.Context, keys []string, work func(ctx context.Context, lease *Lease) error) error {
	return c.DoUnder(ctx, func(ctx context.Context) (*Lease, error) { return c.AcquireAll(ctx, keys...) }, work)
}
