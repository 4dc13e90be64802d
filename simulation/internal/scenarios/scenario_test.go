package scenarios_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// Every scenario ends as expected, with every design and every seed, and a seed always plays the same run.
func TestVerdicts(t *testing.T) {
	seeds := seeds()
	for _, s := range scenarios.All() {
		t.Run(s.ID, func(t *testing.T) {
			for _, d := range s.Designs() {
				for seed := range seeds {
					r, err := s.Play(seed, d)
					require.NoError(t, err)
					again, err := s.Play(seed, d)
					require.NoError(t, err)
					require.Equal(t, r.Log.Digest(), again.Log.Digest(), "%s, seed %d", d.Name, seed)
					if err := s.Check(r, d); !assert.NoError(t, err, "seed %d", seed) {
						t.Logf("%s", r.Log)
						break
					}
				}
			}
		})
	}
}

// seeds returns the number of seeds of each design.
func seeds() uint64 { return long.Number[uint64](20, 3) }
