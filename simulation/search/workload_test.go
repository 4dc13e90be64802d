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

// usual are faults that the library guards against. between are those of addresses and servers.
var (
	usual = []fault.Kind{
		fault.Crash, fault.Reboot, fault.Restart, fault.Failover, fault.Hang, fault.Cut, fault.Lose, fault.Reorder,
	}
	between = []fault.Kind{
		fault.Switch, fault.Restart, fault.Failover, fault.Hang, fault.Cut, fault.Lose,
	}
)

// Whatever happens to clients, messages and servers, no workload finds a broken promise. What the
// run must have reached is listed, because otherwise nothing is shown.
func TestWorkloads(t *testing.T) {
	for name, test := range map[string]struct {
		space   search.Space
		reached []string
		// breaks finds two holders: the same workload without a guard, or with a worse fault.
		// The search begins at a seed near the first of them.
		breaks []search.Space
		from   uint64
	}{
		"goroutines that take turns with the lock": {
			space: drawn("crowd", "default", append(usual, fault.Step)...),
			reached: []string{
				"a lease was extended", "a process crashed",
				"a quarantine began: restarted", "a quarantine began: clock jumped", "a reply came too late",
			},
			breaks: []search.Space{drawn("crowd", "unwatched", fault.Restart, fault.Failover)}, from: 16,
		},
		"hand-offs by letters": {
			space: drawn("relay", "guarded", append(usual, fault.Pause, fault.Step, fault.Delay)...),
			reached: []string{
				"a lease was handed off", "a lease was resumed", "a lease was extended", "a process crashed", "a value was replaced by the next one",
				"a process was paused", "no lease: " + quorum.ErrLost.Error(),
			},
		},
		"hand-offs, and what stands between clients and servers": {
			space: drawn("relay", "default", between...),
			reached: []string{
				"a lease was resumed", "an address was switched",
				"a server was asked in another run than its own", "a quarantine began: restarted",
			},
			breaks: []search.Space{drawn("relay", "unwatched", between...), drawn("relay", "hidden", between...)}, from: 32,
		},
		"hand-offs, and servers that are trusted": {
			space:   drawn("relay", "durable", fault.Crash, fault.Reboot, fault.Restart, fault.Hang, fault.Cut),
			reached: []string{"a server was restarted", "a process was rebooted"},
		},
		"elections": {
			space:   drawn("terms", "guarded", append(usual, fault.Pause, fault.Step)...),
			reached: []string{"a lease was extended", "a process crashed", "a process was paused", "a quarantine began: restarted"},
			breaks:  []search.Space{drawn("terms", "default", fault.Pause)}, from: 140,
		},
		"jobs that run once": {
			space:   drawn("slots", "default", fault.Pause, fault.Crash, fault.Reboot, fault.Restart, fault.Hang, fault.Cut, fault.Lose, fault.Reorder),
			reached: []string{"a lease was extended", "a process was rebooted", "a quarantine began: restarted"},
		},
		"readers and writers": {
			space:   drawn("books", "guarded", append(usual, fault.Pause, fault.Step)...),
			reached: []string{"a lease was extended", "a process crashed", "a process was paused", "a server was restarted"},
			breaks:  []search.Space{drawn("books", "default", fault.Pause)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			report := find(t, test.space, few())
			for _, f := range report.Findings {
				// Servers may restart before their votes arrive, which breaks assumption 3.
				assert.EqualValues(t, 3, f.Assumption, "%v", f)
			}
			for _, what := range test.reached {
				assert.Positive(t, report.Counts[what], "%q never happened, so nothing is shown", what)
			}
			for _, space := range test.breaks {
				first(t, space, record.TwoHolders, test.from)
			}
		})
	}
}

// A setup has one outcome, though goroutines of one process wake each other, handles pass between
// processes, and connections lead to several servers.
func TestWorkloadsAreDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, workload := range search.TestedWorkloads() {
		for seed := range few() / 2 {
			cfg, kinds := workload.Base, fault.Kinds()
			if seed%2 == 0 {
				cfg.Quorum.Lab.RestartQuarantine, cfg.Quorum.Lab.ClockMonitor = quorum.Off, quorum.Off
			}
			if seed%3 == 0 {
				cfg.Replicas, kinds = 1+int(seed%2), between
			}
			schedule := simulation.Draw(seed, cfg, kinds, 8, workload.Span)
			digest := ""
			for procs := range 2 {
				runtime.GOMAXPROCS(1 + procs)
				r, err := simulation.Run(seed, cfg, schedule, workload.Work(cfg))
				require.NoError(t, err)
				if digest == "" {
					digest = r.Log.Digest()
				}
				require.Equal(t, digest, r.Log.Digest(), "%s, seed %d", workload.Name, seed)
			}
		}
	}
}
