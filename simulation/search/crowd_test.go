package search_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
	"github.com/redquorum/redlock/simulation/search/history"
	"github.com/redquorum/redlock/simulation/search/judge"
)

// crowded is a search with the crowd and these faults.
func crowded(design string, faults ...fault.Kind) search.Space {
	return search.Space{Setup: search.Setup{Workload: workload("crowd").Name, Design: design}, Faults: faults}
}

// Goroutines that hand the lock to each other never hold it together with others, and their tokens
// are in order, under all faults that the library guards against.
func TestCrowd(t *testing.T) {
	faults := []fault.Kind{
		fault.Crash, fault.Reboot, fault.Step, fault.Restart, fault.Hang,
		fault.Failover, fault.Cut, fault.Lose, fault.Reorder, fault.Reconnect,
	}
	report := find(t, crowded("default", faults...), few())
	for _, f := range report.Findings {
		// Servers may restart before their votes arrive, which breaks assumption 3. The checks see that.
		assert.Equal(t, search.Observed, f.Cause, "%v", f)
		assert.Equal(t, record.Overvalued, f.Kind, "%v", f)
	}
	for _, what := range []string{
		"a lease was handed to a local waiter", "a lease was extended",
		"a process crashed", "a quarantine began: restarted", "a quarantine began: clock jumped", "a reply came too late",
	} {
		assert.Positive(t, report.Counts[what], "%q never happened, so nothing is shown", what)
	}
	assert.Greater(t, report.Counts["a lease was handed to a local waiter"], report.Counts["a lease was acquired"]/10)

	// Two of these faults have an effect without a guard.
	first(t, crowded("unwatched", fault.Restart, fault.Failover), record.TwoHolders, 16)
}

// A setup has one outcome, though goroutines of one process wake each other.
func TestCrowdIsDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := range few() / 2 {
		cfg := workload("crowd").Base
		if seed%2 == 0 {
			cfg.Quorum.RestartQuarantine, cfg.Quorum.ClockMonitor = quorum.Off, quorum.Off
		}
		schedule := simulation.Draw(seed, cfg, fault.Kinds(), 8, workload("crowd").Span)
		digest := ""
		for procs := range 2 {
			runtime.GOMAXPROCS(1 + procs)
			r, err := simulation.Run(seed, cfg, schedule, workload("crowd").Work(cfg, workload("crowd").Rounds))
			require.NoError(t, err)
			if digest == "" {
				digest = r.Log.Digest()
			}
			require.Equal(t, digest, r.Log.Digest(), "seed %d", seed)
		}
	}
}

// Operations distinguish the goroutines of a process, each of which has one lease at a time: one to
// four have the eight leases that each asks for.
func TestOperationsOfACrowd(t *testing.T) {
	r, err := registry().Play(search.Setup{Workload: workload("crowd").Name, Design: "unfenced", Seed: 1})
	require.NoError(t, err)
	operations := history.Of(r.Log, r.Ended)
	until, locks := map[string]time.Duration{}, map[string]int{}
	for _, o := range operations {
		if o.Kind == judge.Lock {
			locks[o.Client]++
			assert.GreaterOrEqual(t, o.Call, until[o.Client], "%v", o)
		}
		if o.Kind == judge.Lock || o.Kind == judge.Unlock {
			until[o.Client] = o.Return
		}
	}
	assert.Equal(t, map[string]int{"c1": 8, "c2": 8, "c3": 8, "c3.1": 8, "c3.2": 8}, locks)
}
