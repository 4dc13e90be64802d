package quorum

import (
	"context"
	"slices"

	"github.com/redquorum/redlock/drift"
)

// probeTurn is the wait for the turn to probe. There is one probe of a server at a time:
// of two, the answer that the server gave first could be taken in last, and a run that
// has ended be held for the present one, with all that it is allowed and has been granted.
type probeTurn struct {
	// enough reports, under the member's lock, whether somebody else's probe has told
	// all that this one is for.
	enough func(now drift.Instant) bool
	// ready gets true with the turn, or false if no probe is needed any more.
	ready chan bool
}

// turnLocked takes the turn to probe, or a place among those who wait for it.
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

// await waits for the turn; it isn't mine if no probe is needed any more. Whose turn it
// is has to end it (see probe).
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

// leaveTurns takes who waits from the line; false: it has been told something.
func (m *member) leaveTurns(t *probeTurn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.turns, t)
	if i >= 0 {
		m.turns = slices.Delete(m.turns, i, i+1)
	}
	return i >= 0
}

// endTurn ends a turn. The next is who came last, and has the most time left of those
// who wait: a server that hangs is probed about once in a time-out, and not as often as
// it is asked for votes.
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
