package search

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// Each fault that breaks an assumption names it. The others are covered.
func TestWhatTheAssumptionsCover(t *testing.T) {
	cfg := relayWorkload().Base
	covered := simulation.Schedule{
		{Kind: fault.Pause, Process: "c1", For: time.Hour}, {Kind: fault.Crash, Process: "c1"}, {Kind: fault.Step, Process: "c1", By: time.Hour},
		{Kind: fault.Step, Process: "c2", By: -time.Hour}, {Kind: fault.Suspend, Process: "c1", For: time.Hour},
		{Kind: fault.Rate, Process: "c1", PPM: 2_000}, {Kind: fault.Restart, Server: "A"}, {Kind: fault.Hang, Server: "A"},
		{Kind: fault.Failover, Server: "A"}, {Kind: fault.Flush, Server: "A"}, {Kind: fault.Lag, Server: "A"},
		{Kind: fault.Cut, Process: "c1", Server: "A"}, {Kind: fault.Lose, Process: "c1", Server: "A"}, {Kind: fault.Delay, Process: "c1", Server: "A"},
		{Kind: fault.Reorder, Process: "c1", Server: "A"}, {Kind: fault.Duplicate, Process: "c1", Server: "A"},
		{Kind: fault.Switch, Process: "*", Server: "A"}, {Kind: fault.Switch, Process: "c1", Server: "A", For: 5 * time.Second},
	}
	assert.Empty(t, breaches(covered, cfg))
	assert.Equal(t, covered, within(covered, cfg))
	broken := map[int]simulation.Schedule{
		2: {
			{Kind: fault.Suspend, Process: "c1", Frozen: true}, {Kind: fault.Step, Server: "A", By: 1}, {Kind: fault.Rate, Server: "A", PPM: -2_001},
			{Kind: fault.Step, Process: "c1", By: -1}, {Kind: fault.Step, Process: "*", By: -1}, // while the machine is suspended
		},
		3: {
			{Kind: fault.Evict, Server: "A"}, {Kind: fault.SplitBrain, Process: "c1", Server: "A"},
			{Kind: fault.Switch, Process: "c1", Server: "A", For: 5*time.Second + 1}, {Kind: fault.Switch, Process: "c1", Server: "A"},
			{Kind: fault.Reboot, Process: "c2"}, // finds the other server behind an address
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
	seen := map[fault.Kind]bool{}
	for _, f := range slices.Concat(covered, broken[2], broken[3]) {
		seen[f.Kind] = true
	}
	assert.Len(t, seen, len(fault.Kinds()), "every kind is one or the other, or both")
}

func TestPromiseOf(t *testing.T) {
	for kind, want := range map[record.ViolationKind]Promise{
		record.TwoHolders: 1, record.Overvalued: 1, record.TokenOrder: 2, record.NeverFree: 3, record.LeftOver: 5, record.Panicked: 0,
	} {
		assert.Equal(t, want, promiseOf(kind), "%s", kind)
	}
	f := fault.Fault{Kind: fault.Evict, Server: "A"}
	for kind, want := range map[record.ViolationKind]int{record.NoProgress: 1, record.Stuck: 0, record.LeftOver: 0} {
		v := record.Violation{Kind: kind}
		r := simulation.Result{Log: record.Log{{{Kind: record.Suffered, Fault: &f}, {Kind: record.Found, Violation: &v}}}}
		assert.Len(t, run{}.excuses(Setup{}, r, v), want, "%s", kind)
	}
	assert.Equal(t, "no promise: it is an error in any case", Blame{}.String())
}

func TestLateness(t *testing.T) {
	assert.Equal(t, "a request took effect after its holder's lease had expired", lateness(nil))
	assert.Equal(t, "a request of c1 reached the resource late; the machine of c2 was suspended after the check of the lease", lateness(simulation.Schedule{
		{Kind: fault.Delay, Process: "c1", Server: fault.Resource}, {Kind: fault.Reorder, Process: "c1", Server: fault.Resource},
		{Kind: fault.Suspend, Process: "c2"}, {Kind: fault.Delay, Process: "c3", Server: "A"},
	}))
}
