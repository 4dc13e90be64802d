package quorum

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
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

func (g *gate) instant() drift.Instant { return drift.Instant{Mono: g.now} }

// begin begins n rounds, and returns how many were admitted and whether the first of them is the
// sample.
func (g *gate) begin(n int) (admitted int, sample bool) {
	for range n {
		is, err := g.enter(g.instant())
		if err != nil {
			require.ErrorIs(g.t, err, ErrOverloaded)
			continue
		}
		sample = sample || is
		admitted++
	}
	return admitted, sample
}

// roundEnd is how a round ends.
type roundEnd struct{ won, answered bool }

var (
	endedWon     = roundEnd{true, true}
	endedRefused = roundEnd{false, true}
	endedFailed  = roundEnd{false, false}
)

// end ends n rounds.
func (g *gate) end(n int, sample bool, e roundEnd) {
	for i := range n {
		g.admission.end(sample && i == 0, e.won, e.answered, g.instant())
	}
}

// round begins n rounds at once that are won after took, and returns how many were admitted.
func (g *gate) round(n int, took time.Duration) int { return g.rounds(n, took, endedWon) }

// rounds begins n rounds at once that end after took, and returns how many were admitted.
func (g *gate) rounds(n int, took time.Duration, e roundEnd) int {
	admitted, sample := g.begin(n)
	g.now += took
	g.end(admitted, sample, e)
	return admitted
}

func TestRoundsInTimeAreAdmitted(t *testing.T) {
	g := newGate(t)
	for range 100 {
		require.Equal(t, 3072, g.round(3072, 100*time.Millisecond), "a quarter of the timeout")
	}
	require.Equal(t, 3072, g.round(5000, time.Millisecond), "the most")
}

// A pause denies no lock: neither to the rounds in progress nor to as many after them.
func TestOneLateRoundTurnsNobodyAway(t *testing.T) {
	g := newGate(t)
	g.round(500, time.Millisecond)
	require.Equal(t, 500, g.round(500, 399*time.Millisecond))
	require.Equal(t, 500, g.round(500, time.Millisecond))
	for range 100 {
		g.round(1, time.Millisecond)
	}
	require.Equal(t, 3072, g.round(4000, time.Millisecond), "and it is forgotten")

	g.round(3, 399*time.Millisecond)
	require.Equal(t, hiccup, g.round(500, time.Millisecond), "also where few were in progress")
}

// The queue doesn't grow while no round is decided.
func TestNoMoreRoundsBehindALateOne(t *testing.T) {
	g := newGate(t)
	g.round(10, time.Millisecond)
	admitted, _ := g.begin(300)
	require.Equal(t, 300, admitted)
	g.now += 101 * time.Millisecond
	admitted, _ = g.begin(1000)
	require.Zero(t, admitted)
	_, err := g.enter(g.instant())
	require.ErrorIs(t, err, ErrOverloaded)
	for _, says := range []string{"300 rounds", "took 101ms", "where 100ms is too long", "try again later"} {
		assert.ErrorContains(t, err, says)
	}
}

// Rounds that stay late halve the limit each time, until they are in time or the limit is at its
// minimum. Rounds in time raise it again.
func TestLateRoundsAreThinnedOut(t *testing.T) {
	g := newGate(t)
	g.round(10, time.Millisecond)
	var admitted []int
	for range 8 {
		admitted = append(admitted, g.round(1000, 400*time.Millisecond))
	}
	require.Equal(t, []int{1000, 1000, 500, 250, 125, 63, 32, 16}, admitted)
	require.Equal(t, 16, g.round(1000, 400*time.Millisecond), "the least")
	n := 0
	for ; g.round(1000, 2*time.Millisecond) < 1000; n++ {
		require.Less(t, n, 100)
	}
	require.Greater(t, n, 10, "not at once")
}

// If the servers are far away, each round takes a good part of the timeout, and a round that
// settles a token twice that. That is no overload.
func TestALongRouteIsNoOverload(t *testing.T) {
	for _, route := range []time.Duration{120, 250, 330, 399} {
		g := newGate(t)
		for range 20 {
			require.Equal(t, 3072, g.round(3072, route*time.Millisecond))
			require.Equal(t, 3072, g.round(3072, 2*route*time.Millisecond))
		}
		g.rounds(3072, 400*time.Millisecond, endedFailed)
		g.rounds(3072, 400*time.Millisecond, endedFailed)
		require.Equal(t, 1536, g.round(3072, route*time.Millisecond), "but timeouts are one")
	}
}

// A route that becomes longer looks like a queue at first, but not for long.
func TestALongerRouteIsNoOverloadForLong(t *testing.T) {
	g := newGate(t)
	g.round(3072, time.Millisecond)
	for range 6 {
		g.round(3072, 330*time.Millisecond)
	}
	require.Less(t, g.round(3072, 330*time.Millisecond), 300)
	n := 0
	for ; g.round(3072, 330*time.Millisecond) < 3072; n++ {
		require.Less(t, n, 300)
	}
	require.Greater(t, n, 100, "not at once")
}

// The time of a round that one near instance refuses says nothing about rounds that are won.
func TestNearRefusalsAreNoMeasure(t *testing.T) {
	g := newGate(t)
	g.round(1, 250*time.Millisecond)
	for range 20 {
		g.rounds(100, time.Millisecond, endedRefused)
		for range 3 {
			require.Equal(t, 3072, g.round(3072, 250*time.Millisecond))
		}
	}
}

// A limit that isn't reached isn't lowered because of other clients' load.
func TestFewRoundsKeepTheirLimit(t *testing.T) {
	g := newGate(t)
	g.round(1, time.Millisecond)
	for range 20 {
		g.round(5, 400*time.Millisecond)
	}
	require.Equal(t, hiccup, g.round(1000, time.Millisecond))
}

// Rounds that fail at once, because every instance refuses them, are no measure of time.
func TestRoundsThatFailAtOnceRaiseNothing(t *testing.T) {
	g := newGate(t)
	g.round(10, time.Millisecond)
	for range 10 {
		g.round(1000, 400*time.Millisecond)
	}
	for range 1000 {
		sample, err := g.enter(g.instant())
		require.NoError(t, err)
		g.admission.end(sample, false, false, g.instant())
	}
	require.Equal(t, 16, g.round(1000, 2*time.Millisecond))
	require.Equal(t, 17, g.round(1000, 2*time.Millisecond), "and two milliseconds are in time still")
}
