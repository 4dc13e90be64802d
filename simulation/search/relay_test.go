package search_test

import (
	"runtime"
	"slices"
	"testing"

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

// relayed is a search with the relay and these faults.
func relayed(design string, faults ...fault.Kind) search.Space {
	return search.Space{Setup: search.Setup{Workload: workload("relay").Name, Design: design}, Faults: faults}
}

// between are the faults of proxies and addresses between clients and servers.
var between = []fault.Kind{
	fault.Proxy, fault.Switch, fault.Demote, fault.Restart, fault.Failover, fault.Hang, fault.Reconnect, fault.Cut, fault.Lose,
}

// A lease that is handed off never becomes two, whatever happens to handles, messages, processes
// and servers.
func TestRelay(t *testing.T) {
	t.Run("messages and processes", func(t *testing.T) {
		report := find(t, relayed("guarded",
			fault.Pause, fault.Crash, fault.Reboot, fault.Step, fault.Restart, fault.Hang, fault.Failover,
			fault.Cut, fault.Lose, fault.Reorder, fault.Delay, fault.Reconnect, fault.Demote, fault.Proxy), few())
		assert.Empty(t, report.Kinds())
		for _, what := range []string{
			"a lease was handed off", "a lease was resumed", "a lease was extended", "a process crashed", "a value was replaced by the next one",
			"a process was paused", "a server was demoted", "no lease: " + quorum.ErrLost.Error(),
		} {
			assert.Positive(t, report.Counts[what], "%q never happened, so nothing is shown", what)
		}
	})
	t.Run("what stands between", func(t *testing.T) {
		report := find(t, relayed("default", between...), few())
		assert.Empty(t, report.Kinds())
		for _, what := range []string{
			"a lease was resumed", "an address was switched", "a switched address led to the other server",
			"a server was asked in another run than its own", "a server was demoted", "a quarantine began: restarted",
		} {
			assert.Positive(t, report.Counts[what], "%q never happened, so nothing is shown", what)
		}
		// The same faults have an effect if runs aren't compared.
		for _, design := range []string{"unwatched", "hidden"} {
			first(t, relayed(design, between...), record.TwoHolders, 32)
		}
	})
	// With many kinds of faults, a server rarely fails over behind a proxy.
	t.Run("a proxy keeps its connections", func(t *testing.T) {
		report := find(t, relayed("default", fault.Proxy, fault.Restart, fault.Failover), 2*few())
		assert.Empty(t, report.Kinds())
		for _, what := range []string{"a lease was resumed", "a proxy kept a connection", "a server was asked in another run than its own"} {
			assert.Positive(t, report.Counts[what], "%q never happened, so nothing is shown", what)
		}
	})
	t.Run("vouched for", func(t *testing.T) {
		report := find(t, relayed("durable", fault.Crash, fault.Reboot, fault.Restart, fault.Hang, fault.Cut, fault.Proxy), few())
		assert.Empty(t, report.Kinds())
		assert.Positive(t, report.Counts["a server was restarted"])
		assert.Positive(t, report.Counts["a process was rebooted"])
	})
}

// A setup has one outcome, though handles pass between processes and connections lead to
// several servers.
func TestRelayIsDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := range few() / 2 {
		cfg := workload("relay").Base
		if seed%2 == 0 {
			cfg.Quorum.RestartQuarantine, cfg.Quorum.ClockMonitor = quorum.Off, quorum.Off
		}
		cfg.Replicas = int(seed % 3)
		schedule := simulation.Draw(seed, cfg, fault.Kinds(), 8, workload("relay").Span)
		if seed%3 == 0 {
			schedule = simulation.Draw(seed, cfg, between, 8, workload("relay").Span)
		}
		digest := ""
		for procs := range 2 {
			runtime.GOMAXPROCS(1 + procs)
			r, err := simulation.Run(seed, cfg, schedule, workload("relay").Work(cfg, workload("relay").Rounds))
			require.NoError(t, err)
			if digest == "" {
				digest = r.Log.Digest()
			}
			require.Equal(t, digest, r.Log.Digest(), "seed %d", seed)
		}
	}
}

// The second judge agrees with the first about a hand-off: the sender's lock ends with it, and the
// receiver's begins with a larger token.
func TestTheJudgesAgreeOnARelay(t *testing.T) {
	broken, resumed := 0, 0
	for _, design := range []string{"default", "unwatched", "forgetful", "hidden"} {
		for seed := range few() / 2 {
			s := search.Setup{Workload: workload("relay").Name, Design: design, Seed: seed}
			s.Schedule = simulation.Draw(seed, simulation.Config{Servers: 3, Processes: 3}, between, 6, workload("relay").Span)
			r, err := registry().Play(s)
			require.NoError(t, err)
			ops := history.Of(r.Log, r.Ended)
			verdict, err := judge.Check(ops, 0)
			require.NoError(t, err)
			for question, answer := range map[record.ViolationKind]judge.Answer{record.TwoHolders: verdict.Exclusion, record.TokenOrder: verdict.Tokens} {
				require.Equal(t, slices.Contains(r.Kinds(), question), answer == judge.Broken, "%s seed %d: %s\n%v\n%v\n%s", design, seed, question, s.Schedule, r.Log.Violations(), r.Log)
			}
			if verdict.Exclusion == judge.Broken {
				broken++
			}
			resumed += r.Log.Counts()["a lease was resumed"]
		}
	}
	assert.Positive(t, broken)
	assert.Positive(t, resumed)
}
