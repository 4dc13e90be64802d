package oracle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// tally counts what was found in runs, so that a comparison without findings doesn't pass for one.
type tally map[record.ViolationKind]int

// compare requires that porcupine and package check find the same.
func (all tally) compare(t *testing.T, log record.Log, requests bool, format string, args ...any) {
	t.Helper()
	found := judged(log, requests)
	require.Equalf(t, checked(log, requests), found, format, args...)
	for _, b := range found {
		all[b.kind]++
	}
}

// require requires that each promise was broken in some runs.
func (all tally) require(t *testing.T, least int) {
	t.Helper()
	t.Log(all)
	for _, p := range promises {
		assert.GreaterOrEqual(t, all[p.kind], least, "too few runs break the promise: %s", p.kind)
	}
}

func TestScenarios(t *testing.T) {
	found := tally{}
	for _, s := range scenarios.All() {
		for _, d := range s.Designs() {
			for seed := range long.Number[uint64](5, 1) {
				r, err := s.Play(seed, d)
				require.NoError(t, err)
				found.compare(t, r.Log, true, "%s with %s, seed %d", s.ID, d.Name, seed)
			}
		}
	}
	found.require(t, 1)
}

// The library plays every workload, and all other designs play those that work without a Coordinator.
func TestRandomRuns(t *testing.T) {
	workloads, locks := search.Workloads(), designs.All()
	found := tally{}
	library, err := designs.ByName("default")
	require.NoError(t, err)
	play := func(n uint64, w search.Workload, d designs.Design) {
		space := search.Space{Workload: w, Design: d}
		r, err := space.Play(n, space.Schedule(n))
		require.NoError(t, err)
		found.compare(t, r.Log, true, "run %d of %s with %s", n, w.Name, d.Name)
	}
	for n := range long.Number[uint64](1000, 70) {
		play(n, workloads[n%uint64(len(workloads))], library)
	}
	for n := range long.Number[uint64](1000, 60) {
		play(n, search.Mixed(), locks[n%uint64(len(locks))])
	}
	// Tokens that fall are too rare for these runs. TestScenarios has them.
	assert.GreaterOrEqual(t, len(found), long.Number(len(promises)-1, 2), "the broken promises are %v", found)
}
