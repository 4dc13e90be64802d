package search

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation"
)

// Each fault that breaks an assumption names it. The others are covered.
func TestWhatTheAssumptionsCover(t *testing.T) {
	cfg := relayWorkload().Base
	covered := simulation.Schedule{
		{Kind: simulation.Pause, Process: "c1", For: time.Hour}, {Kind: simulation.Crash, Process: "c1"}, {Kind: simulation.Step, Process: "c1", By: time.Hour},
		{Kind: simulation.Step, Process: "c2", By: -time.Hour}, {Kind: simulation.Suspend, Process: "c1", For: time.Hour},
		{Kind: simulation.Rate, Process: "c1", PPM: 2_000}, {Kind: simulation.Restart, Server: "A"}, {Kind: simulation.Hang, Server: "A"},
		{Kind: simulation.Failover, Server: "A"}, {Kind: simulation.Flush, Server: "A"}, {Kind: simulation.Demote, Server: "A"}, {Kind: simulation.Lag, Server: "A"},
		{Kind: simulation.Cut, Process: "c1", Server: "A"}, {Kind: simulation.Lose, Process: "c1", Server: "A"}, {Kind: simulation.Delay, Process: "c1", Server: "A"},
		{Kind: simulation.Reorder, Process: "c1", Server: "A"}, {Kind: simulation.Duplicate, Process: "c1", Server: "A"}, {Kind: simulation.Reconnect, Process: "c1", Server: "A"},
		{Kind: simulation.Proxy, Process: "*", Server: "A"}, {Kind: simulation.Switch, Process: "*", Server: "A", By: 5 * time.Second},
	}
	assert.Empty(t, breaches(covered, cfg))
	assert.Equal(t, covered, within(covered, cfg))
	broken := map[int]simulation.Schedule{
		2: {
			{Kind: simulation.Suspend, Process: "c1", Frozen: true}, {Kind: simulation.Step, Server: "A", By: 1}, {Kind: simulation.Rate, Server: "A", PPM: -2_001},
			{Kind: simulation.Step, Process: "c1", By: -1}, {Kind: simulation.Step, Process: "*", By: -1}, // while the machine is suspended
		},
		3: {
			{Kind: simulation.Evict, Server: "A"}, {Kind: simulation.SplitBrain, Process: "c1", Server: "A"},
			{Kind: simulation.Switch, Process: "*", Server: "A", By: 5*time.Second + 1}, {Kind: simulation.Switch, Process: "c1", Server: "A"},
			{Kind: simulation.Reboot, Process: "c2"}, // finds the other server behind an address
		},
	}
	for assumption, faults := range broken {
		for _, f := range faults {
			schedule := slices.Concat(covered, simulation.Schedule{f})
			all := breaches(schedule, cfg)
			if assert.Len(t, all, 1, "%+v: %v", f, all) {
				assert.Equal(t, assumption, all[0].Assumption, "%v", all)
			}
			assert.Empty(t, breaches(within(schedule, cfg), cfg), "%+v", f)
		}
	}
	seen := map[simulation.Kind]bool{}
	for _, f := range slices.Concat(covered, broken[2], broken[3]) {
		seen[f.Kind] = true
	}
	assert.Len(t, seen, len(simulation.Kinds()), "every kind is one or the other, or both")
}

func TestPromiseOf(t *testing.T) {
	for kind, want := range map[simulation.ViolationKind]Promise{
		simulation.TwoHolders: 1, simulation.Overvalued: 1, simulation.TokenOrder: 2, simulation.NeverFree: 3, simulation.LeftOver: 5, simulation.Panicked: 0,
	} {
		assert.Equal(t, want, promiseOf(kind), "%s", kind)
	}
	evicted := Setup{Schedule: simulation.Schedule{{Kind: simulation.Evict, Server: "A"}}}
	for kind, want := range map[simulation.ViolationKind]Cause{simulation.NoProgress: Uncovered, simulation.Stuck: Covered, simulation.LeftOver: Covered} {
		r := simulation.Result{Log: simulation.Log{{{Kind: simulation.Found, Violation: &simulation.Violation{Kind: kind}}}}}
		assert.Equal(t, want, run{}.causeOf(kind, evicted, r), "%s", kind)
	}
	assert.Equal(t, "no promise: it is an error in any case", Blame{}.String())
}

func TestLateness(t *testing.T) {
	assert.Equal(t, "a request took effect after its holder's lease had expired", lateness(nil))
	assert.Equal(t, "a request of c1 reached the resource late; the machine of c2 was suspended after the check of the lease", lateness(simulation.Schedule{
		{Kind: simulation.Delay, Process: "c1", Server: simulation.Resource}, {Kind: simulation.Reorder, Process: "c1", Server: simulation.Resource},
		{Kind: simulation.Suspend, Process: "c2"}, {Kind: simulation.Delay, Process: "c3", Server: "A"},
	}))
}

// Within the assumptions, no pause hits a request to the resource, and no message to it is delayed
// or repeated.
func TestWithinLeavesTheResourceAlone(t *testing.T) {
	tame := within(simulation.Schedule{
		{Kind: simulation.Pause, Process: "c1", Op: "write", Nth: 1}, {Kind: simulation.Pause, Process: "c1", Nth: 7}, {Kind: simulation.Suspend, Process: "c1", Op: "extend", Nth: 1},
		{Kind: simulation.Pause, Process: "c1", Op: "clock", Nth: 1, Stale: true}, {Kind: simulation.Delay, Process: "c1", Server: simulation.Resource, By: 1},
		{Kind: simulation.Rate, Server: "A", PPM: 100_000},
	}, simulation.Config{})
	assert.Equal(t, simulation.Schedule{
		{Kind: simulation.Pause, Process: "c1", Op: "acquire", Nth: 1}, {Kind: simulation.Pause, Process: "c1", Op: "acquire", Nth: 7}, {Kind: simulation.Suspend, Process: "c1", Op: "extend", Nth: 1},
		{Kind: simulation.Pause, Process: "c1", Op: "clock", Nth: 1}, {Kind: simulation.Delay, Process: "c1", Server: simulation.Any, By: 1},
		{Kind: simulation.Rate, Server: "A", PPM: 100_000 % 2_001},
	}, tame)
}
