package election

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/quorum"
)

// term is the context of a leader. It ends with its lease or before it, see doc.go. Like a
// lease's context it reads the clocks at each call of Err, so a leader that looks before it acts
// sees the end even if no timer has fired yet.
type term struct {
	context.Context // of the lease, under the context that end ends
	lease           *quorum.Lease
	margin          time.Duration
	end             context.CancelCauseFunc
}

// Err is not nil from a margin before the lease's end on.
func (t *term) Err() error {
	t.left()
	return t.Context.Err()
}

// left is how much of the term is left. It ends the context if that is nothing.
func (t *term) left() time.Duration {
	//guard:term-ends-before-lease  a leader's context ends a margin before its lease
	left := t.lease.Validity() - t.margin
	if left <= 0 {
		why := t.lease.Err()
		if why == nil {
			why = fmt.Errorf("%w: %v before the end of its lease, which wasn't extended", ErrTermOver, t.margin)
		}
		t.end(why)
	}
	return max(0, left)
}

// watch ends the context in time. stop ends the watch.
func (t *term) watch(c clock.Clock) (stop func()) {
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for left := t.left(); left > 0; left = t.left() {
			select {
			// In parts, because timers stand still while the machine is suspended.
			case <-c.After(min(left, max(left/4, 20*time.Millisecond))):
			case <-t.Done():
				return
			case <-stopped:
				return
			}
		}
	}()
	return func() {
		close(stopped)
		<-ended
	}
}
