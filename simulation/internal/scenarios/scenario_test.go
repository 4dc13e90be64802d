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

// Every scenario ends as expected, with every design and every seed, and a seed always plays the same run.
func TestVerdicts(t *testing.T) {
	seeds, counted := seeds(), map[string]bool{}
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
					for what := range r.Log.Counts() {
						counted[what] = true
					}
				}
			}
		})
	}
	unreached := slices.DeleteFunc(record.Counters(), func(name string) bool {
		return counted[name] || strings.HasPrefix(name, "no lease: ") // some errors end no acquisition
	})
	assert.Subset(t, []string{
		"a lease was handed off", "a lease was resumed", "a value was replaced by the next one", "a notification was lost", "a process was rebooted", "a subscription was lost", "connections were cut", "dequeue refused", "pass granted", "pass refused", "raise refused", "restore refused",
		"the resource recognised a repeated write",
	}, unreached, "no scenario reaches it")
	for what := range counted {
		assert.Contains(t, record.Counters(), what)
	}
}

// seeds returns the number of seeds of each design.
func seeds() uint64 { return long.Number[uint64](20, 3) }
