// Package turns lets goroutines probe a server one after the other.
package turns

import (
	"context"
	"slices"
	"sync"

	"github.com/redquorum/redlock/drift"
)

// Queue gives one goroutine at a time the turn to probe a server. Of two probes at once, the
// answer that the server gave first could be taken in last, and a run that has ended would
// pass for the present one.
//
// Its owner's lock guards it.
type Queue struct {
	Owner  sync.Locker
	Reader *drift.Reader

	taken   bool
	waiting []*turn // in the order of arrival
}

// turn is a goroutine's turn, or its position in the queue.
type turn struct {
	queue  *Queue
	enough func(now drift.Instant) bool
	// ready gets true with the turn, or false if no probe is needed any more.
	ready chan bool
}

// Enter takes the turn, or queues for it. enough reports, under the owner's lock, whether
// another goroutine's probe has answered the question. The caller holds the owner's lock.
func (q *Queue) Enter(enough func(now drift.Instant) bool) *turn {
	t := &turn{queue: q, enough: enough, ready: make(chan bool, 1)}
	if q.taken {
		q.waiting = append(q.waiting, t)
	} else {
		q.taken = true
		t.ready <- true
	}
	return t
}

// Wait waits for the turn; mine is false if no probe is needed any more. A caller that gets
// the turn must End it.
func (t *turn) Wait(ctx context.Context) (mine bool, err error) {
	select {
	case mine = <-t.ready:
	case <-ctx.Done():
		if t.leave() {
			return false, ctx.Err()
		}
		mine = <-t.ready // it came at the same moment
	}
	if mine && ctx.Err() != nil {
		t.queue.End()
		return false, ctx.Err()
	}
	return mine, nil
}

// leave leaves the queue. It reports false if ready was sent already.
func (t *turn) leave() bool {
	q := t.queue
	q.Owner.Lock()
	defer q.Owner.Unlock()
	i := slices.Index(q.waiting, t)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// End ends a turn. The last in the queue is next, because it has the most time left. So a
// server that hangs is probed about once in each timeout, and not once for each vote that is
// wanted from it. The caller doesn't hold the owner's lock.
func (q *Queue) End() {
	q.Owner.Lock()
	defer q.Owner.Unlock()
	now := q.Reader.Now()
	q.waiting = slices.DeleteFunc(q.waiting, func(t *turn) bool {
		enough := t.enough(now)
		if enough {
			t.ready <- false
		}
		return enough
	})
	q.taken = len(q.waiting) > 0
	if q.taken {
		last := q.waiting[len(q.waiting)-1]
		q.waiting = slices.Delete(q.waiting, len(q.waiting)-1, len(q.waiting))
		last.ready <- true
	}
}

// Taken reports whether a goroutine has the turn. The caller holds the owner's lock.
func (q *Queue) Taken() bool { return q.taken }
