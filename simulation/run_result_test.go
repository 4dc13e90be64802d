package simulation_test

import (
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
	write := func(kind fault.Kind, length time.Duration) simulation.Schedule {
		f := fault.Fault{Kind: kind, Process: "c1", Op: "write", Nth: 1}
		if kind == fault.Pause {
			f.For = length
		} else {
			f.Server, f.By = fault.Resource, length
		}
		return simulation.Schedule{f}
	}
	for name, test := range map[string]struct {
		cfg      simulation.Config
		schedule simulation.Schedule
		work     simulation.Workload
		broken   int // the assumption
	}{
		"paused before the write":  {simulation.Config{}, write(fault.Pause, 12*time.Second), late, 1},
		"a write that is late":     {simulation.Config{}, write(fault.Delay, 90*time.Second), late, 1},
		"a write that comes twice": {simulation.Config{}, write(fault.Duplicate, 2*ms), hold(0), 1},
		"a lock that grants all":   {grantingAll(), nil, hold(time.Second), 0},
	} {
		r := run(t, 1, test.cfg, test.schedule, test.work)
		require.NotEmpty(t, r.Log.Violations(), name)
		for _, v := range r.Log.Violations() {
			if v.Kind != record.TokenOrder && v.Kind != record.Overvalued {
				assert.Equal(t, test.broken, v.Assumption, "%s: %v", name, v)
			}
		}
	}
}

// grantingAll is the Config of a lock that everybody gets.
func grantingAll() simulation.Config {
	d, err := designs.ByName("setex")
	if err != nil {
		panic(err)
	}
	return d.Configure(simulation.Config{})
}
