package quorum

import (
	"context"
	"slices"

	"github.com/redquorum/redlock/drift"
)

// probeTurn is a turn to probe a server. Probes of one server are sent one at a time: of two
// at once, the answer that the server gave first could be taken in last, and a run that has
// ended would pass for the present one.
type probeTurn struct {
	// enough reports whether another goroutine's probe has answered the question. It is
	// called under the member's lock.
	enough func(now drift.Instant) bool
	// ready gets true with the turn, or false if no probe is needed any more.
	ready chan bool
}

// turnLocked takes the turn to probe, or queues for it.
func (m *member) turnLocked(enough func(now drift.Instant) bool) *probeTurn {
	t := &probeTurn{enough: enough, ready: make(chan bool, 1)}
	if m.probing {
		m.turns = append(m.turns, t)
	} else {
		m.probing = true
		t.ready <- true
	}
	return t
}

// await waits for the turn; mine is false if no probe is needed any more. A caller that gets
// the turn must end it (see probe).
func (m *member) await(ctx context.Context, t *probeTurn) (mine bool, err error) {
	select {
	case mine = <-t.ready:
	case <-ctx.Done():
		if m.leaveTurns(t) {
			return false, ctx.Err()
		}
		mine = <-t.ready // it came at the same moment
	}
	if mine && ctx.Err() != nil {
		m.endTurn()
		return false, ctx.Err()
	}
	return mine, nil
}

// leaveTurns removes a turn from the queue. It reports false if ready was sent already.
func (m *member) leaveTurns(t *probeTurn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.turns, t)
	if i >= 0 {
		m.turns = slices.Delete(m.turns, i, i+1)
	}
	return i >= 0
}

// endTurn ends a turn. The last in the queue is next, because it has the most time left. So
// a server that hangs is probed about once in each timeout, and not once for each vote that
// is wanted from it.
func (m *member) endTurn() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.reader.Now()
	m.turns = slices.DeleteFunc(m.turns, func(t *probeTurn) bool {
		enough := t.enough(now)
		if enough {
			t.ready <- false
		}
		return enough
	})
	m.probing = len(m.turns) > 0
	if m.probing {
		last := m.turns[len(m.turns)-1]
		m.turns = slices.Delete(m.turns, len(m.turns)-1, len(m.turns))
		last.ready <- true
	}
}
