package simulation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// What With adds to a Result is in the trace at its moment, in the order of time.
func TestWith(t *testing.T) {
	before := run(t, 1, simulation.Config{}, nil, hold(0))
	before.Log = slices.Grow(before.Log, 2) // so that With could write into it
	late := record.Violation{Kind: record.NeverFree, At: time.Hour, Text: "nor did anybody"}
	early := record.Violation{Kind: record.NoProgress, At: time.Second / 2, Text: "c2 never got it"}
	both := before.With(late).With(early)

	assert.Empty(t, before.Log.Violations(), "the first one stays as it is")
	assert.Equal(t, []record.Violation{early, late}, both.Log.Violations())
	assert.Contains(t, both.Log.String(), "\n500.000000 VIOLATION no progress c2 never got it\n1000.")
}

// A holder that acts after its lease, or undoes its own work, breaks assumption 1: no lock can
// prevent that. Two clients that both hold the lock break a promise.
func TestAssumptionsThatChecksSee(t *testing.T) {
	second := func(c *simulation.Client) {
		c.SleepUntil(at(10_200 * ms))
		hold(0)(c)
	}
	late := byName(map[string]simulation.Workload{"c1": hold(0), "c2": second})
	grantsAll, err := designs.ByName("setex")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		cfg    simulation.Config
		fault  fault.Fault // of the first write
		work   simulation.Workload
		broken int // the assumption
	}{
		"paused before the write":  {simulation.Config{}, fault.Fault{Kind: fault.Pause, For: 12 * time.Second}, late, 1},
		"paused with its clocks":   {simulation.Config{}, fault.Fault{Kind: fault.Suspend, For: 12 * time.Second, Frozen: true}, late, 0}, // it believes in its lease
		"a write that is late":     {simulation.Config{}, fault.Fault{Kind: fault.Delay, Server: fault.Resource, By: 90 * time.Second}, late, 1},
		"a write that comes twice": {simulation.Config{}, fault.Fault{Kind: fault.Duplicate, Server: fault.Resource, By: 2 * ms}, hold(0), 1},
		"a lock that grants all":   {grantsAll.Configure(simulation.Config{}), fault.Fault{Kind: fault.Pause}, hold(time.Second), 0},
	} {
		test.fault.Process, test.fault.Op, test.fault.Nth = "c1", "write", 1
		r := run(t, 1, test.cfg, simulation.Schedule{test.fault}, test.work)
		require.NotEmpty(t, r.Log.Violations(), name)
		for _, v := range r.Log.Violations() {
			if v.Kind != record.TokenOrder && v.Kind != record.Overvalued {
				assert.Equal(t, test.broken, v.Assumption, "%s: %v", name, v)
			}
		}
	}
}
