package quorum

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// MaxAny is how many keys AcquireAny, TryAcquireAny and DoAny may be given.
const MaxAny = 1024

// AcquireAny takes the lock on one of the keys, whichever is free first, and Lease.Key says which.
// So n keys let n holders in, and never more: each is a lock of its own, with its own tokens, and
// may be used by Acquire and AcquireAll, too. At most MaxAny, each given once.
//
// It asks for one key after the other, in an order drawn at random, so that clients spread over
// the keys. If all are taken it waits for all of them, each in the queues of that key, so it learns
// of each release as Acquire does. If two are freed at one moment it may win both, and releases
// the second at once. A key that the caller has already is passed over. Each key that is taken costs
// a round trip, and a goroutine while the caller waits.
//
// Terms.MaxTries bounds the tries at each key. Hooks.WaitStarted and WaitEnded tell of the wait as a
// whole, under all keys. Hooks of rounds may be called on other goroutines; if one panics,
// AcquireAny panics.
//
// Errors: those of Acquire. A *WaitError names the keys, and all tries. ErrConfig also if there are
// no keys, more than MaxAny, or one twice. ErrHeldByCaller if the caller has all of them. An error that waiting can't cure
// is returned only if all keys have one.
func (c *Coordinator) AcquireAny(ctx context.Context, keys ...string) (lease *Lease, err error) {
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
	if lease, err = a.acquire(ctx, bounded); err != nil {
		return nil, err
	}
	return c.deliver(ctx, lease), nil
}

// DoAny is Do under the lock on one of the keys, see AcquireAny. Lease.Key says which.
func (c *Coordinator) DoAny(ctx context.Context, keys []string, work func(ctx context.Context, lease *Lease) error) error {
	return c.do(ctx, work, func() (*Lease, error) { return c.AcquireAny(ctx, keys...) })
}

// TryAcquireAny tries once to take the lock on each of the keys, one after the other, until it has
// one, see AcquireAny. ErrTaken means that all are taken; other errors are those of TryAcquire, for
// the last of the keys that failed so. If too few instances answer it doesn't ask for the other keys.
func (c *Coordinator) TryAcquireAny(ctx context.Context, keys ...string) (*Lease, error) {
	a, err := c.newAny(ctx, keys)
	if err != nil {
		return nil, err
	}
	lease, err := a.tryEach(ctx, a.order, c.contend)
	if err != nil {
		return nil, err
	}
	return c.deliver(ctx, lease), nil
}

// anyWait is one AcquireAny. Its wait is for the hooks alone: each key has one of its own.
type anyWait struct {
	wait
	order []string // in which the keys are asked for
}

func (c *Coordinator) newAny(ctx context.Context, names []string) (*anyWait, error) {
	if err := c.none(); err != nil {
		return nil, err
	}
	all, err := keysOf(names, MaxAny, "each costs a round trip if it is taken; offer fewer")
	if err != nil {
		return nil, err
	}
	a := &anyWait{wait: wait{c: c, all: all, began: c.reader.Now()}}
	var held error
	for key := range all.each() {
		switch err := c.ready(ctx, wire.Acquire, keys{key: key}); {
		case err == nil:
			a.order = append(a.order, key)
		case !errors.Is(err, ErrHeldByCaller):
			return nil, err
		default:
			held = err
		}
	}
	if len(a.order) == 0 {
		return nil, held
	}
	for i := len(a.order) - 1; i > 0; i-- {
		j := int(c.random.jitter(time.Duration(i)))
		a.order[i], a.order[j] = a.order[j], a.order[i]
	}
	return a, nil
}

// acquire asks for each key, and then waits for all of them, until ctx ends. It calls the hooks of
// waits.
func (a *anyWait) acquire(caller, ctx context.Context) (lease *Lease, err error) {
	if a.c.cfg.Hooks.WaitEnded != nil {
		defer func() { a.reportEnd(caller, lease, err) }() // also if a hook panics
	}
	if started := a.c.cfg.Hooks.WaitStarted; started != nil {
		waiting, _ := a.c.queues.peek(a.all.key)
		started(caller, WaitStart{Key: a.all.key, Also: slices.Clone(a.all.also), Waiters: 1 + waiting})
	}
	free := slices.DeleteFunc(slices.Clone(a.order), func(key string) bool {
		waiting, holder := a.c.queues.peek(key)
		return waiting > 0 || holder != nil
	})
	a.here = len(free) < len(a.order)
	round := a.c.round
	if a.c.terms.MaxTries == 1 {
		round = a.c.contend // no other try follows a split
	}
	if lease, err := a.tryEach(ctx, free, round); lease != nil {
		return lease, err
	}
	if ctx.Err() != nil || a.c.closed() || a.c.terms.MaxTries == 1 && len(free) > 0 {
		return nil, a.gaveUp(caller)
	}
	return a.waitForAll(caller, ctx)
}

// tryFunc is round or contend.
type tryFunc func(ctx context.Context, all keys, try int) (*Lease, *RoundError)

// tryEach asks for each of the keys once. That a key is taken is its error only if no other one failed
// for another reason. If too few instances answer, it doesn't wait for them with each key.
func (a *anyWait) tryEach(ctx context.Context, order []string, try tryFunc) (*Lease, error) {
	var failed *RoundError
	for _, key := range order {
		a.tries++
		lease, err := try(ctx, keys{key: key}, 1)
		if err == nil {
			a.c.queues.acquired(lease, "", a.c.reader.Now().Mono)
			return lease, nil
		}
		a.elsewhere = a.elsewhere || err.Verdict == ErrTaken
		a.keepError(err)
		if failed == nil || err.Verdict != ErrTaken {
			failed = err
		}
		//guard:hung-once  with too many hung instances a pass over many keys costs one timeout
		hung := err.Verdict == ErrNoQuorum && errors.Is(err, ErrTimeout)
		if ctx.Err() != nil || a.c.closed() || hung {
			break
		}
	}
	if failed == nil {
		return nil, nil // there are no keys
	}
	return nil, failed
}

// errOther ends the waits for the other keys.
var errOther = errors.New("quorum: AcquireAny has the lock on another key")

// waitForAll waits for each key on a goroutine of its own, and returns when all of them have ended,
// which the first lease brings about.
//
// Invariant: each lease that a goroutine gets is the caller's or is released. The caller waits for
// all of them, so none comes later.
func (a *anyWait) waitForAll(caller, ctx context.Context) (won *Lease, err error) {
	type end struct {
		*wait
		lease    *Lease
		err      error
		panicked any
	}
	each := &Coordinator{core: a.c.core, terms: a.c.terms}
	if each.terms.MaxTries > 1 {
		each.terms.MaxTries-- // tryEach was one
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ends := make(chan end, len(a.order))
	for _, key := range a.order {
		go func() {
			e := end{wait: &wait{c: each, key: key, all: keys{key: key}, began: a.began, ctx: waiting, partOfAny: true}, err: errPanicked}
			defer func() {
				e.panicked = recover()
				ends <- e
			}()
			e.lease, e.err = e.acquire(caller)
		}()
	}
	var panicked any
	inVain := 0
	for range a.order {
		e := <-ends
		a.tries, a.here, a.elsewhere = a.tries+e.tries, a.here || e.here, a.elsewhere || e.elsewhere
		waited, gaveUp := e.err.(*WaitError)
		switch {
		case e.panicked != nil:
			panicked = e.panicked
			stop(nil)
		case e.err == nil && won == nil:
			won = e.lease
			stop(errOther)
		case e.err == nil:
			//guard:second-key-is-released  AcquireAny releases what it wins beside the key that it returns
			a.c.discard(e.lease)
		case gaveUp:
			a.keepError(waited.Last)
		default:
			a.keepError(e.err)
			inVain++
		}
	}
	switch {
	case panicked != nil:
		if won != nil {
			a.c.discard(won)
		}
		panic(panicked)
	case won != nil:
		return won, nil
	case inVain == len(a.order) && a.last != nil:
		return nil, a.last
	}
	return nil, a.gaveUp(caller)
}

// keepError keeps the last error that says why there was no lock, rather than that time ran out.
func (a *anyWait) keepError(err error) {
	lost, ok := err.(*RoundError)
	if ok && (a.last == nil || !errors.Is(lost.Verdict, ErrInterrupted)) {
		a.last = lost
	}
}
