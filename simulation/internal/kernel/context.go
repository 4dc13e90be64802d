package kernel

import (
	"context"
	"errors"
	"time"
)

// timeout is a context that ends at a moment of a Process's clock.
type timeout struct {
	context.Context // the parent, for its values

	deadline time.Time
	own      context.Context // a child of the parent, which the timer ends
	end      context.CancelCauseFunc
}

// WithDeadline is context.WithDeadline on the process's clock.
func (p *Process) WithDeadline(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	return p.with(parent, deadline, p.Until(deadline))
}

// WithTimeout is context.WithTimeout on the process's clock.
func (p *Process) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return p.with(parent, p.Now().Add(d), d)
}

func (p *Process) with(parent context.Context, deadline time.Time, d time.Duration) (context.Context, context.CancelFunc) {
	ctx := &timeout{Context: parent, deadline: deadline}
	if outer, ok := parent.Deadline(); ok && outer.Before(deadline) {
		ctx.deadline = outer
	}
	ctx.own, ctx.end = context.WithCancelCause(parent)
	switch {
	case !ctx.Waiting():
	case d <= 0 || p.Dead.Load():
		ctx.Expire()
	default:
		p.set(&Timer{p: p, due: p.Mono() + int64(d), ends: ctx})
	}
	return ctx, func() { ctx.end(context.Canceled) }
}

func (t *timeout) Deadline() (time.Time, bool) { return t.deadline, true }

func (t *timeout) Done() <-chan struct{} { return t.own.Done() }

func (t *timeout) Err() error {
	if errors.Is(context.Cause(t.own), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return t.own.Err()
}

// AfterFunc is used by context.AfterFunc and derived contexts. Without it, each would need a
// goroutine.
func (t *timeout) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(t.own, f) }

// Waiting reports whether the context has not been ended. It doesn't look at the time.
func (t *timeout) Waiting() bool { return t.own.Err() == nil }

func (t *timeout) Expire() { t.end(context.DeadlineExceeded) }
