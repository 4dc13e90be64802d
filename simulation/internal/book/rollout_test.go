package book_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

// rolloutRuns is how many runs test each right order with REDLOCK_LONG set.
const rolloutRuns = 100

// Right orders have no violations. Only clients with the old settings lose leases meanwhile.
func TestRightOrders(t *testing.T) {
	runs := long.Number(rolloutRuns, 2)
	for _, r := range rollouts() {
		if r.Wrong != "" {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			o, err := r.Play(0, runs)
			require.NoError(t, err)
			assert.Zero(t, o.Violated, "seed %d: %v", o.Seed, o.Kinds)
			assert.Zero(t, o.Tokenless)
			assert.Greater(t, o.Leases, 10*runs, "nothing was locked")
			assert.Equal(t, r.Steps[0].Version != r.Steps[len(r.Steps)-1].Version, o.Mismatched > 0, "refused for another set: %d", o.Mismatched)
		})
	}
}

// Each wrong order has a run with a violation.
func TestWrongOrders(t *testing.T) {
	for _, r := range rollouts() {
		if r.Wrong == "" {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			o, err := r.Play(r.Shows, 1)
			require.NoError(t, err)
			if o.Tokenless == 0 {
				assert.Contains(t, o.Kinds, record.TwoHolders, "seed %d doesn't show it any more: look for another one with Play", r.Shows)
			}
		})
	}
}

// A run is the same each time.
func TestARunIsTheSameEachTime(t *testing.T) {
	r := rollouts()[1]
	one, err := r.Run(7)
	require.NoError(t, err)
	other, err := r.Run(7)
	require.NoError(t, err)
	assert.Equal(t, one.Log.Digest(), other.Log.Digest())
}
