package scenarios_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// Each sweep breaks from the value of its formula on, and not before.
func TestSweeps(t *testing.T) {
	for _, sweep := range scenarios.Sweeps() {
		t.Run(sweep.ID, func(t *testing.T) {
			require.Contains(t, sweep.Values, sweep.First)
			require.IsIncreasing(t, sweep.Values)
			require.Less(t, sweep.Values[0], sweep.First, "it has to hold somewhere")
			for _, value := range sweep.Values {
				s := sweep.At(value)
				for seed := range min(10, seeds()) {
					r, err := s.Play(seed, sweep.Design)
					require.NoError(t, err)
					assert.NoError(t, s.Check(r, sweep.Design), "seed %d", seed)
				}
			}
		})
	}
}
