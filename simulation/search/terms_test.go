package search_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

func drawn(workload, design string, faults ...fault.Kind) search.Space {
	return search.Space{Setup: search.Setup{Workload: workload, Design: design}, Faults: faults}
}

// A resource that checks terms never has two leaders, whatever happens to candidates, servers and
// the network.
func TestTerms(t *testing.T) {
	report := find(t, drawn("terms", "guarded",
		fault.Pause, fault.Crash, fault.Reboot, fault.Step, fault.Restart, fault.Hang,
		fault.Failover, fault.Cut, fault.Lose, fault.Reorder, fault.Reconnect,
	), few())
	assert.Empty(t, report.Kinds())
	for _, what := range []string{"a lease was extended", "a process crashed", "a process was paused", "a quarantine began: restarted"} {
		assert.Positive(t, report.Counts[what], "%q never happened, so nothing is shown", what)
	}
	// The same faults harm a resource that accepts every term.
	first(t, drawn("terms", "default", fault.Pause), record.TwoHolders, 140)
}

// No job is begun twice, however late, paused or rebooted the processes are.
func TestSlots(t *testing.T) {
	report := find(t, drawn("slots", "default",
		fault.Pause, fault.Crash, fault.Reboot, fault.Restart, fault.Hang,
		fault.Cut, fault.Lose, fault.Reorder, fault.Reconnect,
	), few())
	assert.Empty(t, report.Kinds())
	for _, what := range []string{"a lease was extended", "a process was rebooted", "a quarantine began: restarted"} {
		assert.Positive(t, report.Counts[what], "%q never happened, so nothing is shown", what)
	}
}

// Leases on several keys, which overlap, stay exclusive on each of them, with tokens that rise,
// however messages, servers and clients fail.
func TestSets(t *testing.T) {
	report := find(t, drawn("sets", "guarded",
		fault.Pause, fault.Crash, fault.Reboot, fault.Restart, fault.Failover, fault.Hang,
		fault.Cut, fault.Lose, fault.Reorder, fault.Reconnect, fault.Step,
	), few())
	assert.Empty(t, report.Kinds())
	for _, what := range []string{"a lease was extended", "a raise was needed", "restore granted", "extend refused", "release refused", "a server was restarted"} {
		assert.Positive(t, report.Counts[what], "%q never happened, so nothing is shown", what)
	}
	// Eviction of single keys is worse than these faults.
	first(t, drawn("sets", "default", fault.Evict), record.TwoHolders, 2352)
}

// A setup has one outcome.
func TestWorkloadsAreDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, workload := range []search.Workload{workload("terms"), workload("slots"), workload("sets")} {
		for seed := range few() / 4 {
			cfg := workload.Base
			if seed%2 == 0 {
				cfg.Quorum.ClockMonitor = quorum.Off
			}
			schedule := simulation.Draw(seed, cfg, fault.Kinds(), 8, workload.Span)
			digest := ""
			for procs := range 2 {
				runtime.GOMAXPROCS(1 + procs)
				r, err := simulation.Run(seed, cfg, schedule, workload.Work(cfg, workload.Rounds))
				require.NoError(t, err)
				if digest == "" {
					digest = r.Log.Digest()
				}
				require.Equal(t, digest, r.Log.Digest(), "%s, seed %d", workload.Name, seed)
			}
		}
	}
}
