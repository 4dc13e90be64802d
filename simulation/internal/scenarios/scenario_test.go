package scenarios_test

import (
	"math"
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
				violated := 0
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
		"a lease was handed off", "a lease was resumed", "a value was replaced by the next one", "a notification was lost", "a process was rebooted", "a subscription was lost", "connections were cut", "dequeue refused", "pass granted", "pass refused", "raise refused", "restore refused",
		"the resource recognised a repeated write",
	}, unreached, "no scenario reaches it")
	for what := range counted {
		assert.Contains(t, record.Counters(), what)
	}
}

// k clients that ask N servers at the same moment can split the votes in k^N ways, and in these
// shares of them nobody has a majority: S12 says .710, and docs/evidence.md the last three.
func TestSplitVotes(t *testing.T) {
	for _, test := range []struct {
		clients, servers int
		lost             float64
	}{{2, 3, 0}, {3, 3, .222}, {3, 5, .370}, {5, 5, .710}, {10, 5, .914}} {
		ways, lost := int(math.Pow(float64(test.clients), float64(test.servers))), 0
		for way := range ways {
			votes := make([]int, test.clients)
			for range test.servers {
				votes[way%test.clients]++
				way /= test.clients
			}
			if slices.Max(votes) <= test.servers/2 {
				lost++
			}
		}
		assert.InDelta(t, test.lost, float64(lost)/float64(ways), .0005, "%+v", test)
	}
}

// seeds returns the number of seeds of each design.
func seeds() uint64 { return long.Number[uint64](20, 3) }
