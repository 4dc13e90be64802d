package search_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/search"
)

// Many faults at once break a lock without a guard before the resource. Shrinking leaves one or
// two, with round numbers, that still break it.
func TestShrinkToOneOrTwoFaults(t *testing.T) {
	space := draw("default")
	space.Most = 12
	space.Faults = []simulation.Kind{simulation.Duplicate, simulation.Pause, simulation.Crash, simulation.Hang, simulation.Cut}
	f := first(t, space, simulation.LostUpdate, 0)
	shrunk, err := search.Shrink(t.Context(), registry(), f.Setup, f.Kind)
	require.NoError(t, err)
	t.Logf("%d runs: from %d faults to %+v, changes %+v", shrunk.Runs, len(f.Setup.Schedule), shrunk.Setup.Schedule, shrunk.Setup.Changes)
	assert.LessOrEqual(t, len(shrunk.Setup.Schedule), 2)
	assert.NotEmpty(t, shrunk.Setup.Schedule)
	assert.Less(t, shrunk.Runs, 1000)

	file, err := search.Record(registry(), shrunk.Setup, f.Kind)
	require.NoError(t, err)
	replay, err := file.Replay(t.Context(), registry())
	require.NoError(t, err)
	assert.True(t, replay.Identical)
	assert.Contains(t, replay.Kinds(), f.Kind)
	for i := range shrunk.Setup.Schedule { // none is there without need
		less := shrunk.Setup
		less.Schedule = append(append(simulation.Schedule{}, less.Schedule[:i]...), less.Schedule[i+1:]...)
		r, err := registry().Play(less)
		require.NoError(t, err)
		assert.NotContains(t, r.Kinds(), f.Kind)
	}
	again, err := search.Shrink(t.Context(), registry(), f.Setup, f.Kind)
	require.NoError(t, err)
	assert.Equal(t, shrunk, again, "it is deterministic")
}

// Servers that grant everything need no fault at all, and one round.
func TestShrinkToNoFault(t *testing.T) {
	f := kind(t, find(t, draw("forgetful"), 40), simulation.TwoHolders)
	shrunk, err := search.Shrink(t.Context(), registry(), f.Setup, f.Kind)
	require.NoError(t, err)
	assert.Empty(t, shrunk.Setup.Schedule)
	require.NotNil(t, shrunk.Setup.Changes.Servers)
	assert.Equal(t, 3, *shrunk.Setup.Changes.Servers)
	require.NotNil(t, shrunk.Setup.Changes.Processes)
	assert.Equal(t, 2, *shrunk.Setup.Changes.Processes)
	require.NotNil(t, shrunk.Setup.Changes.Rounds)
	assert.Less(t, *shrunk.Setup.Changes.Rounds, 3)
}

// Of one pause among many harmless faults only the pause is left, no longer than necessary, rounded
// up.
func TestShrinkFindsTheNumbers(t *testing.T) {
	const odd = 137*time.Microsecond + 13
	s := search.Setup{Workload: "mixed", Design: "unwatched", Seed: 8, Schedule: simulation.Schedule{
		{Kind: simulation.Step, Process: "c1", At: odd, By: odd},
		{Kind: simulation.Delay, Process: "c2", Server: "A", At: time.Second + odd, For: odd, By: odd},
		{Kind: simulation.Pause, Process: "c1", Op: "write", Nth: 1, For: 23*time.Second + odd, Shuffled: true},
		{Kind: simulation.Rate, Server: "B", At: 3 * odd, PPM: 17},
	}}
	shrunk, err := search.Shrink(t.Context(), registry(), s, simulation.LostUpdate)
	require.NoError(t, err)
	require.Len(t, shrunk.Setup.Schedule, 1)
	f := shrunk.Setup.Schedule[0]
	assert.Equal(t, simulation.Pause, f.Kind)
	assert.False(t, f.Shuffled)
	assert.Zero(t, f.For%(100*time.Millisecond), "%v", f.For)
	assert.Less(t, f.For, 12*time.Second)
	assert.Greater(t, f.For, 2*time.Second)
}

// If servers fail, their share of all servers matters: none is removed.
func TestShrinkKeepsTheServersThatFail(t *testing.T) {
	s := search.Setup{Workload: "mixed", Design: "unwatched", Seed: 13}
	for i := range 5 {
		for at := range 40 {
			s.Schedule = append(s.Schedule, simulation.Fault{Kind: simulation.Evict, Server: string(rune('A' + i)), At: time.Duration(at) * 250 * time.Millisecond})
		}
	}
	shrunk, err := search.Shrink(t.Context(), registry(), s, simulation.TwoHolders)
	require.NoError(t, err)
	assert.Nil(t, shrunk.Setup.Changes.Servers)
	assert.LessOrEqual(t, len(shrunk.Setup.Schedule), 5, "of 200")
	assert.NotEmpty(t, shrunk.Setup.Schedule)
}

func TestShrinkNeedsAViolation(t *testing.T) {
	_, err := search.Shrink(t.Context(), registry(), setup("default"), simulation.TwoHolders)
	require.ErrorIs(t, err, search.ErrSetup)
	assert.ErrorContains(t, err, `doesn't show "two holders"`)
	_, err = search.Shrink(t.Context(), registry(), setup("nothing"), simulation.TwoHolders)
	require.ErrorIs(t, err, search.ErrSetup)

	// If stopped at once it returns its input.
	f := kind(t, find(t, draw("forgetful"), 40), simulation.TwoHolders)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	shrunk, err := search.Shrink(ctx, registry(), f.Setup, f.Kind)
	require.NoError(t, err)
	assert.Equal(t, f.Setup, shrunk.Setup)
}
