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
	assert.Zero(t, broken(covered, cfg))
	assert.Equal(t, covered, within(covered, cfg))
	breaking := map[Assumption]simulation.Schedule{
		2: {
			{Kind: fault.Suspend, Process: "c1", Frozen: true}, {Kind: fault.Step, Server: "A", By: 1}, {Kind: fault.Rate, Server: "A", PPM: -2_001},
			{Kind: fault.Step, Process: "c1", By: -1}, {Kind: fault.Step, Process: "*", By: -1}, // while the machine is suspended
		},
		3: {
			{Kind: fault.Evict, Server: "A"},
			{Kind: fault.Switch, Process: "c1", Server: "A", For: 5*time.Second + 1}, {Kind: fault.Switch, Process: "c1", Server: "A"},
			{Kind: fault.Reboot, Process: "c2"}, // finds the other server behind an address
		},
		4: {{Kind: fault.SplitBrain, Process: "c1", Server: "A"}},
	}
	for assumption, faults := range breaking {
		for _, f := range faults {
			schedule := slices.Concat(covered, simulation.Schedule{f})
			assert.Equal(t, assumption, broken(schedule, cfg), "%+v", f)
			assert.Zero(t, broken(within(schedule, cfg), cfg), "%+v", f)
		}
	}
	seen := map[fault.Kind]bool{}
	for _, f := range slices.Concat(covered, breaking[2], breaking[3], breaking[4]) {
		seen[f.Kind] = true
	}
	assert.Len(t, seen, len(fault.Kinds()), "every kind is one or the other, or both")
}

// An assumption excuses no violation that must not happen in any case. A search within the assumptions reports nothing
// that is excused.
func TestWhatIsExcused(t *testing.T) {
	f := fault.Fault{Kind: fault.Evict, Server: "A"}
	for kind, want := range map[record.ViolationKind]Assumption{record.NoProgress: 3, record.Stuck: 0, record.LeftOver: 0} {
		v := record.Violation{Kind: kind}
		r := simulation.Result{Log: record.Log{{Kind: record.Suffered, Fault: &f}, {Kind: record.Found, Violation: &v}}}
		assert.Equal(t, want, excuse(simulation.Config{}, r, v), "%s", kind)
		space := drawn(Mixed(), library)
		space.Within = true
		assert.Equal(t, want == 0, len(space.report(0, nil, r).Findings) == 1, "%s", kind)
	}
}
