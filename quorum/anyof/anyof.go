// Package anyof takes the lock on one of several keys, whichever is free first. So n keys let n holders in, and
// never more: they are an exact semaphore. Each key is a lock of its own, with its own tokens, and may be used by
// Coordinator.Acquire and AcquireAll, too.
//
//	err := anyof.Do(ctx, locks, []string{"export/1", "export/2"}, func(ctx context.Context, lease *quorum.Lease) error {
//		return export(ctx, lease.Key())
//	})
package anyof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// Max is how many keys a call may name.
const Max = 1024

// Acquire takes the lock on one of the keys, and Lease.Key says which. At most Max keys, each given once.
//
// It asks for one key after the other, in an order drawn at random, so that clients spread over
// the keys. If all are taken it waits for all of them, each in the queues of that key, so it learns
// of each release as Coordinator.Acquire does. If two are freed at one moment it may win both, and releases
// the second at once. A key that the caller already has is skipped. Each key that is taken costs
// a round trip, and a goroutine while the caller waits.
//
// Terms.MaxTries bounds the tries at each key, and Terms.MaxWait the whole wait. Hooks see the wait for each key,
// perhaps on other goroutines; if one panics, Acquire panics.
//
// Errors: those of Coordinator.Acquire. A *quorum.WaitError names the keys, and all tries. ErrConfig also if there are
// no keys, more than Max, or one twice. ErrHeldByCaller if the caller has all of them. An error that waiting can't cure
// is returned only if all keys have one.
func Acquire(ctx context.Context, locks *quorum.Coordinator, keys ...string) (*quorum.Lease, error) {
	w, err := newWait(ctx, locks, keys)
	if err != nil {
		return nil, err
	}
	most := w.terms.MaxTries
	lease, err := w.each(ctx, 1)
	if err != nil || lease != nil {
		return lease, err
	}
	if ctx.Err() != nil || most == 1 || w.left() < 0 {
		return nil, w.gaveUp(ctx)
	}
	return w.all(ctx, max(0, most-1)) // each was one
}

// TryAcquire tries once to take the lock on each of the keys, one after the other, until it has
// one, see Acquire. ErrTaken means that all are taken; other errors are those of
// Coordinator.TryAcquire, for the last key that failed with one. If too few instances answer it
// doesn't ask for the other keys.
func TryAcquire(ctx context.Context, locks *quorum.Coordinator, keys ...string) (*quorum.Lease, error) {
	w, err := newWait(ctx, locks, keys)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, key := range w.order {
		lease, err := locks.TryAcquire(ctx, key)
		if err == nil {
			return lease, nil
		}
		if failed == nil || !errors.Is(err, quorum.ErrTaken) {
			failed = err
		}
		if endsPass(ctx, err) {
			break
		}
	}
	return nil, failed
}

// Do is Coordinator.Do under the lock on one of the keys, see Acquire. Lease.Key says which.
func Do(ctx context.Context, locks *quorum.Coordinator, keys []string, work func(ctx context.Context, lease *quorum.Lease) error) error {
	return locks.DoUnder(ctx, func(ctx context.Context) (*quorum.Lease, error) { return Acquire(ctx, locks, keys...) }, work)
}

// wait is one call.
type wait struct {
	locks *quorum.Coordinator
	terms quorum.Terms
	keys  []string // in ascending order
	order []string // in which they are asked for, without those that the caller has
	began time.Time
	since func(time.Time) time.Duration
	tries int
	last  error // of the last round that says why there was no lock, rather than that time ran out

	closed bool // the Coordinator is
}

func newWait(ctx context.Context, locks *quorum.Coordinator, keys []string) (*wait, error) {
	if _, err := locks.WithTerms(func(*quorum.Terms) {}); err != nil {
		return nil, err // it is nil, or wasn't made by quorum.New
	}
	cfg := locks.Config()
	w := &wait{
		locks: locks, terms: locks.Terms(), keys: slices.Sorted(slices.Values(keys)),
		began: cfg.Lab.Clock.Now(), since: cfg.Lab.Clock.Since,
	}
	switch n := len(keys); {
	case n == 0:
		return nil, fmt.Errorf("%w: no keys; name the resources; the lease will be for one of them", quorum.ErrConfig)
	case n > Max:
		return nil, fmt.Errorf("%w: %d keys, at most %d are allowed: each costs a round trip if it is taken; offer fewer", quorum.ErrConfig, n, Max)
	}
	for i, key := range w.keys {
		if err := quorum.ValidateKey(key); err != nil {
			return nil, err
		}
		if i > 0 && key == w.keys[i-1] {
			return nil, fmt.Errorf("%w: the key %q is given twice; give each key once", quorum.ErrConfig, key)
		}
	}
	w.order = slices.DeleteFunc(slices.Clone(w.keys), func(key string) bool { return locks.Holds(ctx, key) })
	if len(w.order) == 0 {
		w.order = w.keys[:1] // it fails with ErrHeldByCaller
	}
	var seed [32]byte
	_, _ = io.ReadFull(cfg.Lab.Random, seed[:]) // if that fails, so does the first round
	rand.New(rand.NewChaCha8(seed)).Shuffle(len(w.order), func(i, j int) { w.order[i], w.order[j] = w.order[j], w.order[i] })
	return w, nil
}

// left is how long the caller may still wait, 0 if Terms don't say, and below 0 if that is over.
func (w *wait) left() time.Duration {
	if w.terms.MaxWait == 0 {
		return 0
	}
	if left := w.terms.MaxWait - w.since(w.began); left > 0 {
		return left
	}
	return -1
}

// acquire is Coordinator.Acquire for one of the keys, with what is left of the terms.
func (w *wait) acquire(ctx context.Context, key string, tries int) (*quorum.Lease, error) {
	view, err := w.locks.WithTerms(func(t *quorum.Terms) { t.MaxTries, t.MaxWait = tries, max(0, w.left()) })
	if err != nil {
		return nil, err
	}
	return view.Acquire(ctx, key)
}

// each asks for one key after the other. A key for which other goroutines of this process wait is passed over.
func (w *wait) each(ctx context.Context, tries int) (*quorum.Lease, error) {
	inVain := 0
	for _, key := range w.order {
		if w.left() < 0 {
			break
		}
		lease, err := w.acquire(ctx, key, tries)
		if err == nil {
			return lease, nil
		}
		if !w.note(err) {
			inVain++
		}
		if endsPass(ctx, err) {
			break
		}
	}
	if inVain == len(w.order) {
		return nil, w.last
	}
	return nil, nil
}

// endsPass reports whether the other keys would have the same error.
func endsPass(ctx context.Context, err error) bool {
	hung := errors.Is(err, quorum.ErrNoQuorum) && errors.Is(err, quorum.ErrTimeout)
	return hung || ctx.Err() != nil || errors.Is(err, quorum.ErrClosed)
}

// note takes in the error of one key, and reports whether waiting may cure it.
func (w *wait) note(err error) (curable bool) {
	w.closed = w.closed || errors.Is(err, quorum.ErrClosed)
	waited, curable := err.(*quorum.WaitError)
	if curable {
		w.tries += waited.Tries
		err = waited.Last
	}
	if err != nil && (w.last == nil || !errors.Is(err, quorum.ErrInterrupted)) {
		w.last = err
	}
	return curable
}

// errOther ends the waits for the other keys.
var errOther = errors.New("anyof: the caller has the lock on another key")

// all waits for each key on a goroutine of its own, and returns when all of them have ended,
// which the first lease brings about.
//
// Invariant: each lease that a goroutine gets is the caller's or is released. The caller waits for
// all of them, so none comes later.
func (w *wait) all(ctx context.Context, tries int) (won *quorum.Lease, err error) {
	type end struct {
		lease    *quorum.Lease
		err      error
		panicked any
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ends := make(chan end, len(w.order))
	for _, key := range w.order {
		go func() {
			e := end{err: errOther} // unless a hook ends the goroutine
			defer func() {
				e.panicked = recover()
				ends <- e
			}()
			e.lease, e.err = w.acquire(waiting, key, tries)
		}()
	}
	var panicked any
	release := func(lease *quorum.Lease) { _ = lease.Release(ctx) } // what fails stays pending
	inVain := 0
	for range w.order {
		e := <-ends
		switch {
		case e.panicked != nil:
			panicked = e.panicked
			stop(nil)
		case e.err != nil:
			if !w.note(e.err) {
				inVain++
			}
		case won == nil:
			won = e.lease
			stop(errOther)
		default:
			//guard:second-key-is-released  of the keys that it wins the caller keeps one
			release(e.lease)
		}
	}
	switch {
	case panicked != nil:
		if won != nil {
			release(won)
		}
		panic(panicked)
	case won != nil:
		return won, nil
	case inVain == len(w.order):
		return nil, w.last
	}
	return nil, w.gaveUp(ctx)
}

// gaveUp says why the wait is over.
func (w *wait) gaveUp(ctx context.Context) error {
	err := &quorum.WaitError{Key: w.keys[0], Also: w.keys[1:], Tries: w.tries, Waited: w.since(w.began), Verdict: quorum.ErrExhausted, Last: w.last}
	switch {
	case ctx.Err() != nil:
		err.Verdict, err.Cause = quorum.ErrInterrupted, ctx.Err()
		if cause := context.Cause(ctx); cause != err.Cause {
			err.Cause = fmt.Errorf("%w: %w", err.Cause, cause)
		}
	case w.closed:
		err.Verdict = quorum.ErrClosed
	}
	return err
}
