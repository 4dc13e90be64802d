package search_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// ShrinkSchedule asks only its caller. It leaves out what isn't needed, and makes the rest shorter.
func TestShrinkSchedule(t *testing.T) {
	many := simulation.Schedule{
		{Kind: fault.Crash, Process: "c1", At: time.Second}, {Kind: fault.Hang, Server: "A", At: 1234567 * time.Microsecond, For: 9 * time.Second},
		{Kind: fault.Flush, Server: "B", At: 2 * time.Second}, {Kind: fault.Pause, Process: "c2", At: 3 * time.Second, For: time.Second},
	}
	calls := 0
	hangs := func(s simulation.Schedule) bool {
		calls++
		for _, f := range s {
			if f.Kind == fault.Hang && f.For >= 4*time.Second && f.At > time.Second {
				return true
			}
		}
		return false
	}
	small, runs := search.ShrinkSchedule(t.Context(), many, hangs)
	assert.Equal(t, calls, runs)
	require.Len(t, small, 1)
	assert.Equal(t, fault.Hang, small[0].Kind)
	assert.True(t, hangs(small))
	assert.Equal(t, 5*time.Second, small[0].For, "shorter, and round")
	assert.Len(t, many, 4, "the caller's schedule is unchanged")
	assert.Equal(t, 9*time.Second, many[1].For)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	same, runs := search.ShrinkSchedule(ended, many, hangs)
	assert.Equal(t, many, same)
	assert.Zero(t, runs)
}

// Many faults at once break a lock without a guard before the resource. Shrinking leaves one or
// two, with round numbers, that still break it.
func TestShrinkToOneOrTwoFaults(t *testing.T) {
	space := draw("default")
	space.Most = 12
	space.Faults = []fault.Kind{fault.Duplicate, fault.Pause, fault.Crash, fault.Hang, fault.Cut}
	f := first(t, space, record.LostUpdate, 0)
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
	f := kind(t, find(t, draw("forgetful"), 40), record.TwoHolders)
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

// If servers fail, their share of all servers matters: none is removed.
func TestShrinkKeepsTheServersThatFail(t *testing.T) {
	s := search.Setup{Workload: "mixed", Design: "unwatched", Seed: 13}
	for i := range 5 {
		for at := range 40 {
			s.Schedule = append(s.Schedule, fault.Fault{Kind: fault.Evict, Server: string(rune('A' + i)), At: time.Duration(at) * 250 * time.Millisecond})
		}
	}
	shrunk, err := search.Shrink(t.Context(), registry(), s, record.TwoHolders)
	require.NoError(t, err)
	assert.Nil(t, shrunk.Setup.Changes.Servers)
	assert.LessOrEqual(t, len(shrunk.Setup.Schedule), 5, "of 200")
	assert.NotEmpty(t, shrunk.Setup.Schedule)
}

func TestShrinkNeedsAViolation(t *testing.T) {
	_, err := search.Shrink(t.Context(), registry(), setup("default"), record.TwoHolders)
	require.ErrorIs(t, err, search.ErrSetup)
	assert.ErrorContains(t, err, `doesn't show "two holders"`)
	_, err = search.Shrink(t.Context(), registry(), setup("nothing"), record.TwoHolders)
	require.ErrorIs(t, err, search.ErrSetup)

	// If stopped at once it returns its input.
	f := kind(t, find(t, draw("forgetful"), 40), record.TwoHolders)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	shrunk, err := search.Shrink(ctx, registry(), f.Setup, f.Kind)
	require.NoError(t, err)
	assert.Equal(t, f.Setup, shrunk.Setup)
}
