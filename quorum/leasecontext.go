package quorum

import (
	"context"
	"slices"

	"github.com/redquorum/redlock/fencing"
)

// Context returns a context that ends with the lease: at its deadline, by the monotonic or the
// wall clock, or when it is lost, released or handed off. context.Cause says which (ErrExpired,
// ErrLost, ErrReleased, ErrHandedOff, ErrClosed). It has the values of the context that the
// lease was acquired with. Each call returns the same one.
//
// A process that was paused beyond the deadline finds the context ended when it continues, but
// may have carried out a few more instructions first. No context can close that gap. A fencing
// token that the resource checks does.
//
// The context carries the fencing token (fencing.FromContext), for guards and for
// httpguard.Transport. It also marks its users as the holder: under it Acquire on the same key
// fails with ErrHeldByCaller, because it would wait for itself. All goroutines that use the
// context, or one derived from it, count as the same caller.
//
// The context has no Deadline, because an extension moves it.
func (l *Lease) Context() context.Context {
	if l.none() {
		return l.Within(context.Background())
	}
	l.mu.Lock()
	own := l.own
	l.mu.Unlock()
	if own != nil {
		return own
	}
	fresh := l.Within(l.parent)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		l.own = fresh
	}
	return l.own
}

// Within returns a context like Context that also ends with parent, and has parent's values.
func (l *Lease) Within(parent context.Context) context.Context {
	// A lease without a token hides that of an outer one.
	parent = fencing.NewContext(parent, l.Token())
	inner, cancel := context.WithCancelCause(parent)
	if l.none() {
		cancel(errNoLease)
		return inner
	}
	ctx := &leaseContext{Context: inner, lease: l, end: cancel}
	l.mu.Lock()
	over := l.over
	if l.stage == held {
		if n := len(l.contexts); n == cap(l.contexts) {
			// Ended contexts are dropped when the slice is full. So a lease that is held for long keeps
			// no more ended contexts than live ones. A callback for each context would cost more.
			l.contexts = slices.DeleteFunc(l.contexts, func(ctx *leaseContext) bool { return ctx.Context.Err() != nil })
			l.contexts = slices.Grow(l.contexts, len(l.contexts)+1)
		}
		l.contexts = append(l.contexts, ctx)
	}
	l.mu.Unlock()
	if over != nil {
		cancel(over)
	}
	l.watch()
	return ctx
}

// leaseContext reads the clocks at each call of Err, so that a holder that checks it before it
// acts sees the end even if no timer has fired yet.
type leaseContext struct {
	context.Context
	lease *Lease
	end   context.CancelCauseFunc
}

// Err is not nil from the deadline on.
func (c *leaseContext) Err() error {
	// This ends the inner context if the validity is used up, so that Done and Err agree.
	if c.lease.Validity() <= 0 && c.Context.Err() == nil {
		c.lease.end(ErrExpired) // another goroutine is about to
	}
	return c.Context.Err()
}

// heldKey is the key under which a lease's context has the lease.
type heldKey struct {
	c   *core
	key string
}

// Value is the parent's, except under heldKey while the lease lasts.
func (c *leaseContext) Value(key any) any {
	if held, ok := key.(heldKey); ok && held.c == c.lease.c && slices.Contains(c.lease.value.keys, held.key) && c.lease.leftNow() > 0 {
		return c.lease
	}
	return c.Context.Value(key)
}

// Holds reports whether ctx belongs to a lease on one of the keys that isn't over (Lease.Context, Lease.Within, or
// the context that Do passes to its work). If so, Acquire returns ErrHeldByCaller.
func (c *Coordinator) Holds(ctx context.Context, keys ...string) bool {
	return c.none() == nil && c.heldUnder(ctx, keys) != ""
}

// heldUnder is the first of the keys on which the context's user has a lease that isn't over, empty if
// there is none.
func (c *core) heldUnder(ctx context.Context, keys []string) string {
	for _, key := range keys {
		if ctx.Value(heldKey{c, key}) != nil {
			return key
		}
	}
	return ""
}
