package quorum

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gate is an admission on a clock that a test moves.
type gate struct {
	*admission
	t   *testing.T
	now time.Duration
}

func newGate(t *testing.T) *gate {
	return &gate{newAdmission(400*time.Millisecond, 4096), t, time.Hour}
}

// rounds begins n rounds at once that end after took, and returns how many were admitted.
func (g *gate) rounds(n int, took time.Duration, won bool) (admitted int) {
	for range n {
		if err := g.enter(); err != nil {
			require.ErrorIs(g.t, err, ErrOverloaded)
			continue
		}
		admitted++
	}
	began := g.now
	g.now += took
	for range admitted {
		g.end(won, won, began, g.now)
	}
	return admitted
}

// Rounds that time out halve the limit each time, once for all that were under way together, until it
// is at its minimum. Rounds that are answered raise it again. Others show nothing.
func TestLateRoundsAreThinnedOut(t *testing.T) {
	g := newGate(t)
	var admitted []int
	for range 8 {
		admitted = append(admitted, g.rounds(1000, 400*time.Millisecond, false))
	}
	require.Equal(t, []int{1000, 500, 250, 125, 63, 32, 16, 16}, admitted)
	for range 1000 {
		g.rounds(1, time.Millisecond, false)
	}
	require.Equal(t, 16, g.rounds(1000, time.Millisecond, false), "those that fail at once raise nothing")
	require.NoError(t, g.enter())
	for range 15 {
		require.NoError(t, g.enter())
	}
	assert.ErrorContains(t, g.enter(), "16 rounds for locks are under way, and with more of them they timed out; try again later")
	for range 16 {
		g.end(false, false, g.now, g.now)
	}
	n := 0
	for ; g.rounds(1000, 2*time.Millisecond, true) < 1000; n++ {
		require.Less(t, n, 100)
	}
	require.Greater(t, n, 10, "not at once")
}
