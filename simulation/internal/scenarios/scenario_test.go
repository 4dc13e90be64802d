package scenarios_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// Every scenario ends as expected, with every design and every seed.
func TestVerdicts(t *testing.T) {
	seeds := seeds()
	for _, s := range scenarios.All() {
		t.Run(s.ID, func(t *testing.T) {
			for _, d := range s.Designs() {
				violated := 0
				for seed := range seeds {
					r, err := s.Play(seed, d)
					require.NoError(t, err)
					if err := s.Check(r, d); !assert.NoError(t, err, "seed %d", seed) {
						t.Logf("%s", r.Log)
						break
					}
					if len(r.Log.Violations()) > 0 {
						violated++
					}
				}
				assert.NoError(t, s.CheckRate(violated, int(seeds), d))
			}
		})
	}
}

// seeds returns the number of seeds of each design.
func seeds() uint64 { return long.Number[uint64](20, 3) }
