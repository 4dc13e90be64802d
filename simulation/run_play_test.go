package simulation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/record"
)

const (
	ms  = time.Millisecond
	key = "k"
)

// seeds is the number of seeds of each scenario: latencies and the order of simultaneous events
// differ, the verdict doesn't.
const seeds = 50

// none is the verdict of a run in which the checks found nothing.
var none []record.ViolationKind

// play plays a scenario with all seeds and demands the same kinds of violations in each run. It
// returns the last run.
func play(t *testing.T, cfg simulation.Config, schedule simulation.Schedule, work simulation.Workload, want ...record.ViolationKind) simulation.Result {
	t.Helper()
	slices.Sort(want)
	var last simulation.Result
	for seed := range uint64(seeds) {
		r, err := simulation.Run(seed, cfg, schedule, work)
		require.NoError(t, err)
		require.Equal(t, want, r.Kinds(), "seed %d: %v\n%s", seed, r.Log.Violations(), r.Log)
		last = r
	}
	return last
}

// byName gives each process its own workload.
func byName(parts map[string]simulation.Workload) simulation.Workload {
	return func(c *simulation.Client) {
		// A client that verifies the servers before the fault can notice it. The second round uses
		// open connections, so no vote needs another probe.
		for range 2 {
			if _, err := c.Coordinator.Verify(c.Context()); err != nil {
				c.Note("verify failed")
			}
		}
		parts[c.Name](c)
	}
}

// take acquires the key or says in the trace that it couldn't.
func take(c *simulation.Client) simulation.Lease {
	lease, err := c.TryAcquire(key)
	if err != nil {
		return nil
	}
	return lease
}

// update reads, adds one and writes, if the lease is valid at each check.
func update(c *simulation.Client, lease simulation.Lease) {
	value, version, err := c.Read(lease)
	if err != nil || !c.Valid(lease) {
		return
	}
	_ = c.Write(lease, value+1, version) // refused or unknown: the checks see the outcome
}

// at counts from one second on: before that the processes verify the servers.
func at(d time.Duration) time.Duration { return time.Second + d }
