package scenarios_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// Every scenario ends as expected, with every design and every seed.
func TestVerdicts(t *testing.T) {
	seeds, counted := seeds(), map[string]bool{}
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
					for what := range r.Log.Counts() {
						counted[what] = true
					}
				}
				assert.GreaterOrEqual(t, float64(violated)/float64(seeds), s.Verdicts[d.Name].AtLeast, d.Name)
			}
		})
	}
	unreached := slices.DeleteFunc(record.Counters(), func(name string) bool {
		return counted[name] || strings.HasPrefix(name, "no lease: ") // some errors end no acquisition
	})
	assert.Subset(t, []string{
		"a lease was handed off", "a lease was resumed", "a notification was lost", "a subscription was lost", "raise refused", "restore refused",
		"the resource recognised a repeated write",
	}, unreached, "no scenario reaches it")
	for what := range counted {
		assert.Contains(t, record.Counters(), what)
	}
}

// seeds returns the number of seeds of each design.
func seeds() uint64 { return long.Number[uint64](20, 3) }
