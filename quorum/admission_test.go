package quorum

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// gate is an admission on a clock that a test moves.
type gate struct {
	*admission
	t   *testing.T
	now time.Duration
}

func admissionOf(maxInFlight int) *admission {
	return newAdmission(&env{cfg: Config{InstanceTimeout: 400 * time.Millisecond, Lab: Lab{MaxInFlight: maxInFlight}}})
}

func newGate(t *testing.T) *gate {
	return &gate{admissionOf(4096), t, time.Hour}
}

// rounds begins n rounds at once that end after took, and returns how many were admitted. The others give up.
func (g *gate) rounds(n int, took time.Duration, won bool) (admitted int) {
	var turns []chan struct{}
	for range n {
		if turn := g.enter(false); turn != nil {
			turns = append(turns, turn)
		} else {
			admitted++
		}
	}
	for _, turn := range turns {
		g.giveUp(turn)
	}
	began := g.now
	g.now += took
	for range admitted {
		g.end(won, won, began, g.now)
	}
	require.Zero(g.t, g.underWay)
	return admitted
}

// Rounds that time out halve the limit each time, once for all that were under way together, until it
// is at its minimum. Rounds that are answered raise it again. Others show nothing.
func TestLateRoundsAreThinnedOut(t *testing.T) {
	g := newGate(t)
	require.Equal(t, nearRounds, g.rounds(1000, 50*time.Millisecond, true), "it is not known yet how far away the servers are")
	var admitted []int
	for range 8 {
		admitted = append(admitted, g.rounds(1000, 400*time.Millisecond, false))
	}
	require.Equal(t, []int{628, 314, 157, 79, 40, 20, 16, 16}, admitted)
	for range 1000 {
		g.rounds(1, time.Millisecond, false)
	}
	require.Equal(t, 16, g.rounds(1000, time.Millisecond, false), "those that fail at once raise nothing")
	n := 0
	for ; g.rounds(1000, 50*time.Millisecond, true) < 628; n++ {
		require.Less(t, n, 100)
	}
	require.Greater(t, n, 10, "not at once")
	for range 1000 {
		g.rounds(1000, 50*time.Millisecond, true)
	}
	require.Equal(t, 628, g.rounds(1000, 50*time.Millisecond, true))
}

// However far away the servers are, no more rounds are under way than MaxInFlight allows.
func TestRoundsWithinMaxInFlight(t *testing.T) {
	g := newGate(t)
	g.rounds(1, 10*time.Second, true)
	require.Equal(t, 3072, g.rounds(5000, time.Second, true))
	g.admission = admissionOf(8)
	require.Equal(t, 6, g.rounds(100, 400*time.Millisecond, false))
	require.Equal(t, 6, g.rounds(100, time.Millisecond, false))
}

// Rounds begin in the order in which they came. One that gives up makes room, also when its turn has
// come already. An urgent one doesn't wait.
func TestRoundsBeginInTurn(t *testing.T) {
	g := newGate(t)
	for range nearRounds {
		require.Nil(t, g.enter(false))
	}
	began := func(turn chan struct{}) bool {
		select {
		case <-turn:
			return true
		default:
			return false
		}
	}
	var turns []chan struct{}
	for range 4 {
		turns = append(turns, g.enter(false))
		require.NotNil(t, turns[len(turns)-1])
	}
	require.Nil(t, g.enter(true), "an urgent one")
	g.end(true, true, g.now, g.now)
	require.False(t, began(turns[0]), "there is one more than may be")
	g.giveUp(turns[1])
	g.end(true, true, g.now, g.now)
	require.Equal(t, []bool{true, false, false, false}, []bool{began(turns[0]), began(turns[1]), began(turns[2]), began(turns[3])})
	g.giveUp(turns[0])
	require.True(t, began(turns[2]), "the turn of one that gave up")
	require.False(t, began(turns[3]))
	require.Equal(t, nearRounds, g.underWay)
	require.NotNil(t, g.enter(false), "behind the one that waits")
}
