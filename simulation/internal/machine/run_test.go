package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/machine"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/search"
)

// inScope reports whether a design's clients are the library with its tokens. Other designs have no
// tokens, take them from elsewhere, or have another protocol. The machine says nothing about them.
func inScope(cfg simulation.Config) bool {
	return cfg.Locker == nil && cfg.Quorum.Lab.Fencing != quorum.Off
}

// sum adds up the counts of runs.
type sum struct {
	runs   int
	counts machine.Counts
}

func (s *sum) add(c machine.Counts) {
	s.runs++
	s.counts.Rounds += c.Rounds
	s.counts.Lifted += c.Lifted
	for kind, n := range c.Steps {
		s.counts.Steps[kind] += n
	}
}

// assertComplete checks that each kind of step that the real code can take was taken.
func (s *sum) assertComplete(t *testing.T) {
	t.Helper()
	t.Logf("%d runs: %+v", s.runs, s.counts)
	for _, kind := range []machine.Kind{machine.Grant, machine.Try, machine.Probe, machine.Raise, machine.Restore, machine.Delete, machine.Restart, machine.Lose, machine.Win} {
		assert.Positive(t, s.counts.Steps[kind], kind)
	}
	assert.Positive(t, s.counts.Lifted)
}

// Runs of the real code are runs of the machine, step by step.
func TestRunsOfTheMachine(t *testing.T) {
	t.Run("scenarios", scenariosAreRuns)
	t.Run("random", randomRunsAreRuns)
}

func scenariosAreRuns(t *testing.T) {
	total := sum{counts: machine.Counts{Steps: map[machine.Kind]int{}}}
	for _, s := range scenarios.All() {
		for _, d := range s.Designs() {
			if cfg, _ := s.Setting(d); !inScope(cfg) {
				continue
			}
			for seed := range uint64(2) {
				r, err := s.Play(seed, d)
				require.NoError(t, err)
				counts, err := machine.Compare(r.Log)
				require.NoError(t, err, "%s with %s, seed %d", s.ID, d.Name, seed)
				total.add(counts)
			}
		}
	}
	total.assertComplete(t)
}

// Random schedules have faults of all kinds. Some break the library's assumptions. Then two clients may
// have the lock, but each step is still a step of the machine.
func randomRunsAreRuns(t *testing.T) {
	seeds := uint64(30)
	total := sum{counts: machine.Counts{Steps: map[machine.Kind]int{}}}
	registry := search.Registry{Workloads: search.Workloads(), Designs: designs.All()}
	for _, w := range registry.Workloads {
		for _, name := range []string{"default", "token-admit"} {
			d, err := registry.Design(name)
			require.NoError(t, err)
			cfg := d.Configure(w.Base)
			require.True(t, inScope(cfg))
			for seed := range seeds {
				setup := search.Setup{Workload: w.Name, Design: name, Seed: seed, Schedule: simulation.Draw(seed, cfg, fault.Kinds(), 6, w.Span)}
				r, err := registry.Play(setup)
				require.NoError(t, err)
				counts, err := machine.Compare(r.Log)
				require.NoError(t, err, "%s with %s, seed %d: %v", w.Name, name, seed, setup.Schedule)
				total.add(counts)
			}
		}
	}
	total.assertComplete(t)
}
