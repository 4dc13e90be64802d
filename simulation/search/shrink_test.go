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
// two that still break it.
func TestShrinkToOneOrTwoFaults(t *testing.T) {
	space := draw("default")
	space.Most = 12
	space.Faults = []fault.Kind{fault.Duplicate, fault.Pause, fault.Crash, fault.Hang, fault.Cut}
	f := first(t, space, record.LostUpdate, 0)
	small, runs, err := search.Shrink(t.Context(), registry(), f.Setup, f.Kind)
	require.NoError(t, err)
	t.Logf("%d runs: from %d faults to %+v", runs, len(f.Setup.Schedule), small.Schedule)
	assert.LessOrEqual(t, len(small.Schedule), 2)
	assert.NotEmpty(t, small.Schedule)
	assert.Less(t, runs, 1000)
	r, err := registry().Play(small)
	require.NoError(t, err)
	assert.Contains(t, r.Kinds(), f.Kind)
	for i := range small.Schedule { // none is there without need
		less := small
		less.Schedule = append(append(simulation.Schedule{}, less.Schedule[:i]...), less.Schedule[i+1:]...)
		r, err := registry().Play(less)
		require.NoError(t, err)
		assert.NotContains(t, r.Kinds(), f.Kind)
	}
	again, _, err := search.Shrink(t.Context(), registry(), f.Setup, f.Kind)
	require.NoError(t, err)
	assert.Equal(t, small, again, "it is deterministic")
}

func TestShrinkNeedsAViolation(t *testing.T) {
	_, _, err := search.Shrink(t.Context(), registry(), setup("default"), record.TwoHolders)
	require.ErrorIs(t, err, search.ErrSetup)
	assert.ErrorContains(t, err, `doesn't show "two holders"`)
	_, _, err = search.Shrink(t.Context(), registry(), setup("nothing"), record.TwoHolders)
	require.ErrorIs(t, err, search.ErrSetup)

	// If stopped at once it returns its input.
	f := kind(t, find(t, draw("forgetful"), 40), record.TwoHolders)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	same, _, err := search.Shrink(ctx, registry(), f.Setup, f.Kind)
	require.NoError(t, err)
	assert.Equal(t, f.Setup, same)
}
