package kernel

import (
	"context"
	"sync"
	"time"
)

// timeout is a context of a Process.
type timeout struct {
	context.Context // the parent

	deadline time.Time
	stop     func() bool

	mu    sync.Mutex
	done  chan struct{} // made by the first call of Done
	err   error
	after map[*func()]bool
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
	if parent.Done() != nil {
		ctx.mu.Lock() // end may come at once, on another goroutine
		ctx.stop = context.AfterFunc(parent, func() { ctx.end(parent.Err()) })
		ctx.mu.Unlock()
	}
	switch {
	case parent.Err() != nil:
		ctx.end(parent.Err())
	case d <= 0 || p.Dead.Load():
		ctx.Expire()
	default:
		p.set(&Timer{p: p, due: p.Mono() + int64(d), ends: ctx})
	}
	return ctx, func() { ctx.end(context.Canceled) }
}

func (t *timeout) Deadline() (time.Time, bool) { return t.deadline, true }

func (t *timeout) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		if t.err != nil {
			close(t.done)
		}
	}
	return t.done
}

func (t *timeout) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Waiting reports whether the context has not been ended. It doesn't look at the time.
func (t *timeout) Waiting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err == nil
}

func (t *timeout) Expire() { t.end(context.DeadlineExceeded) }

// AfterFunc is used by context.AfterFunc and derived contexts. Without it, each would need a
// goroutine.
func (t *timeout) AfterFunc(f func()) func() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		go f()
		return func() bool { return false }
	}
	if t.after == nil {
		t.after = map[*func()]bool{}
	}
	t.after[&f] = true
	return func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		stopped := t.after[&f]
		delete(t.after, &f)
		return stopped
	}
}

// end ends the context, once.
func (t *timeout) end(err error) {
	t.mu.Lock()
	if t.err != nil {
		t.mu.Unlock()
		return
	}
	t.err = err
	if t.done != nil {
		close(t.done)
	}
	after, stop := t.after, t.stop
	t.after = nil
	t.mu.Unlock()
	if stop != nil {
		stop()
	}
	for f := range after {
		go (*f)()
	}
}
