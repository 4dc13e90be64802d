package quorum

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// AcquireAny takes the lock on one of the keys, whichever is free first, and Lease.Key says which.
// So n keys let n holders in, and never more: each is a lock of its own, with its own tokens, and
// may be used by Acquire and AcquireAll, too. At most wire.MaxKeys, 16, each given once.
//
// It asks for one key after the other, in an order drawn at random, so that clients spread over
// the keys. If all are taken it waits at one of them for up to Config.BackoffMax, in the queues of
// that key, then at the next. So a key that is freed where nobody waits is found within n times
// that. Waiters don't get their turns in the order in which they came. A key that the caller has
// already is passed over.
//
// Errors: those of Acquire. A *WaitError names the keys. ErrConfig as with AcquireAll, and
// ErrHeldByCaller if the caller has all of them. An error that waiting can't cure counts only if
// all keys have one.
func (c *Coordinator) AcquireAny(ctx context.Context, keys ...string) (*Lease, error) {
	a, err := c.newAny(ctx, keys)
	if err != nil {
		return nil, err
	}
	bounded := ctx
	if c.terms.MaxWait > 0 {
		var cancel context.CancelFunc
		bounded, cancel = c.clock.WithTimeout(ctx, c.terms.MaxWait)
		defer cancel()
	}
	lease, err := a.pass(bounded)
	if err == nil || errors.Is(err, ErrClosed) {
		return lease, err
	}
	// Each wait at a key is an Acquire with a bound.
	patient := &Coordinator{core: c.core, terms: c.terms}
	patient.terms.MaxWait = c.cfg.BackoffMax
	hopeless := 0
	for i := 0; ; i++ {
		if bounded.Err() != nil || c.closed() || c.terms.MaxTries > 0 && a.tries >= c.terms.MaxTries {
			return nil, a.gaveUp(ctx)
		}
		patient.terms.MaxTries = max(0, c.terms.MaxTries-a.tries)
		lease, err := patient.Acquire(bounded, a.order[i%len(a.order)])
		if err == nil {
			return lease, nil
		}
		var waited *WaitError
		switch {
		case errors.As(err, &waited):
			a.note(waited.Last)
			a.tries, hopeless = a.tries+waited.Tries, 0
		case errors.Is(err, ErrInterrupted):
		default:
			a.note(err)
			if hopeless++; hopeless == len(a.order) {
				return nil, err
			}
		}
	}
}

// TryAcquireAny tries once to take the lock on each of the keys, one after the other, until it has
// one, see AcquireAny. ErrTaken means that all are taken; other errors are those of TryAcquire, for
// the last of the keys that failed so.
func (c *Coordinator) TryAcquireAny(ctx context.Context, keys ...string) (*Lease, error) {
	a, err := c.newAny(ctx, keys)
	if err != nil {
		return nil, err
	}
	return a.pass(ctx)
}

// anyWait is one AcquireAny.
type anyWait struct {
	c     *Coordinator
	all   keys
	order []string // in which the keys are asked for
	began drift.Instant
	tries int
	last  error
}

func (c *Coordinator) newAny(ctx context.Context, names []string) (*anyWait, error) {
	all, err := keysOf(names)
	if err != nil {
		return nil, err
	}
	a := &anyWait{c: c, all: all, began: c.reader.Now()}
	for key := range all.each() {
		switch err := c.ready(ctx, wire.Acquire, key); {
		case err == nil:
			a.order = append(a.order, key)
		case !errors.Is(err, ErrHeldByCaller):
			return nil, err
		default:
			a.last = err
		}
	}
	if len(a.order) == 0 {
		return nil, a.last
	}
	for i := len(a.order) - 1; i > 0; i-- {
		j := int(c.random.Jitter(time.Duration(i)))
		a.order[i], a.order[j] = a.order[j], a.order[i]
	}
	return a, nil
}

// pass asks for each key once. A key that is taken is no error if another one failed for another
// reason.
func (a *anyWait) pass(ctx context.Context) (*Lease, error) {
	var failed error
	for _, key := range a.order {
		lease, err := a.c.TryAcquire(ctx, key)
		if err == nil {
			return lease, nil
		}
		a.tries++
		a.note(err)
		if failed == nil || !errors.Is(err, ErrTaken) {
			failed = err
		}
		if ctx.Err() != nil || a.c.closed() || a.c.terms.MaxTries > 0 && a.tries >= a.c.terms.MaxTries {
			break
		}
	}
	return nil, failed
}

// note keeps the last error that says why there was no lock, rather than that time ran out.
func (a *anyWait) note(err error) {
	if a.last == nil || err != nil && !errors.Is(err, ErrInterrupted) {
		a.last = err
	}
}

// gaveUp says why the wait is over.
func (a *anyWait) gaveUp(caller context.Context) error {
	err := &WaitError{
		Key: a.all.key, Also: a.all.also, Tries: a.tries, Verdict: ErrExhausted, Last: a.last,
		Waited: drift.Elapsed(a.began, a.c.reader.Now()),
	}
	switch {
	case caller.Err() != nil:
		err.Verdict, err.Cause = ErrInterrupted, causeOf(caller)
	case a.c.closed():
		err.Verdict = ErrClosed
	}
	return err
}
