package simulation

import (
	"context"
	"sync"
	"time"
)

// timeout is a context of a Clock.
type timeout struct {
	parent   context.Context
	deadline time.Time
	timer    timer
	stop     func() bool

	mu    sync.Mutex
	done  chan struct{} // made when somebody asks for it
	armed bool          // its timer was set
	err   error
	after []*func()
	call  *call // whose context this is, while it waits
}

// watch has the call told when the context ends, as AfterFunc would but without
// a goroutine. It is for one call at a time; false means that it isn't free, or
// has ended.
func (t *timeout) watch(c *call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil || t.call != nil {
		return false
	}
	t.call = c
	return true
}

func (t *timeout) unwatch(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.call == c {
		t.call = nil
	}
}

type timeoutKey struct{}

func (t *timeout) Deadline() (time.Time, bool) { return t.deadline, true }

func (t *timeout) Done() <-chan struct{} {
	t.arm()
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
	if t.err != nil || t.armed || t.timer.p == nil || t.timer.p.clock.mono() < t.timer.due {
		defer t.mu.Unlock()
		return t.err
	}
	t.mu.Unlock()
	t.end(context.DeadlineExceeded) // nobody has waited for it
	return context.DeadlineExceeded
}

// ended reports whether the context was ended, without looking at the time.
func (t *timeout) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err != nil
}

// arm sets the timer, once, when the first one waits for the context's end: that
// of a call alone is seen to by the call, see process.bind.
func (t *timeout) arm() {
	t.mu.Lock()
	needed := !t.armed && t.err == nil && t.timer.p != nil
	t.armed = true
	t.mu.Unlock()
	switch {
	case !needed:
	case t.timer.p.dead.Load():
		t.end(context.DeadlineExceeded)
	default:
		t.timer.p.set(&t.timer)
	}
}

func (t *timeout) Value(key any) any {
	if key == (timeoutKey{}) {
		return t
	}
	return t.parent.Value(key)
}

// AfterFunc is what context.AfterFunc and derived contexts look for: without it
// each would cost a goroutine.
func (t *timeout) AfterFunc(f func()) func() bool {
	t.arm()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		go f()
		return func() bool { return false }
	}
	entry := &f
	t.after = append(t.after, entry)
	return func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		for i, e := range t.after {
			if e == entry {
				t.after = append(t.after[:i:i], t.after[i+1:]...)
				return true
			}
		}
		return false
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
	after, stop, waiting := t.after, t.stop, t.call
	t.after, t.call = nil, nil
	t.mu.Unlock()
	if waiting != nil {
		waiting.cancel(err)
	}
	if stop != nil {
		stop()
	}
	for _, f := range after {
		go (*f)()
	}
}
