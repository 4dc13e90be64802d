package oracle

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// tally counts what was found in runs, so that a comparison without findings doesn't pass for one.
type tally map[record.ViolationKind]int

// compare requires that porcupine and package check find the same.
func (all tally) compare(t *testing.T, log record.Log, format string, args ...any) {
	t.Helper()
	found := sorted(Judge(log, true))
	assert.Equal(t, checked(log, true), found, "%s", fmt.Sprintf(format, args...))
	for _, b := range found {
		all[b.Kind]++
	}
}

func (all tally) require(t *testing.T) {
	t.Helper()
	t.Log(all)
	for _, p := range promises() {
		assert.Positive(t, all[p.kind], "no run breaks the promise: %s", p.kind)
	}
}

func TestScenarios(t *testing.T) {
	found := tally{}
	for _, s := range scenarios.All() {
		for _, d := range s.Designs() {
			for seed := range long.Number[uint64](5, 1) {
				r, err := s.Play(seed, d)
				require.NoError(t, err)
				found.compare(t, r.Log, "%s with %s, seed %d", s.ID, d.Name, seed)
			}
		}
	}
	found.require(t)
}

// The library plays every workload, and all other designs play those that work without a Coordinator.
func TestRandomRuns(t *testing.T) {
	registry := search.Registry{Workloads: search.Workloads(), Designs: designs.All()}
	found := tally{}
	play := func(n uint64, workload, design string) {
		w, err := registry.Workload(workload)
		require.NoError(t, err)
		d, err := registry.Design(design)
		require.NoError(t, err)
		schedule := simulation.Draw(n, d.Configure(w.Base), fault.Kinds(), 6, cmp.Or(w.Span, 10*time.Second))
		r, err := registry.Play(search.Setup{Workload: workload, Design: design, Seed: n, Schedule: schedule})
		require.NoError(t, err)
		found.compare(t, r.Log, "run %d of %s with %s", n, workload, design)
	}
	for n := range long.Number[uint64](1000, 70) {
		play(n, registry.Workloads[n%uint64(len(registry.Workloads))].Name, "default")
	}
	for n := range long.Number[uint64](1000, 60) {
		d := registry.Designs[n%uint64(len(registry.Designs))]
		play(n, []string{"mixed", "crowd"}[n%2], d.Name)
	}
	assert.GreaterOrEqual(t, len(found), long.Number(len(promises()), 2), "the broken promises are %v", found)
}
