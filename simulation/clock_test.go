package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
)

// alone runs work in one process and demands that nothing is violated.
func alone(t *testing.T, schedule simulation.Schedule, work simulation.Workload) simulation.Result {
	t.Helper()
	r := run(t, 1, simulation.Config{Processes: 1}, schedule, work)
	require.Empty(t, r.Log.Violations())
	return r
}

// The readings of a drift.Reader on a process's clock, after each fault.
func TestClocksOfAProcess(t *testing.T) {
	cases := map[string]struct {
		fault      fault.Fault
		mono, wall time.Duration // the passed time after ten seconds of sleep that begin a second before the fault
		true       time.Duration
	}{
		"nothing":                   {fault.Fault{Kind: fault.Cut, Process: "c1", Server: "A", For: 1}, 10 * time.Second, 10 * time.Second, 10 * time.Second},
		"paused":                    {fault.Fault{Kind: fault.Pause, For: time.Minute}, time.Minute + time.Second, time.Minute + time.Second, time.Minute + time.Second},
		"paused, shortly":           {fault.Fault{Kind: fault.Pause, For: time.Second}, 10 * time.Second, 10 * time.Second, 10 * time.Second},
		"suspended":                 {fault.Fault{Kind: fault.Suspend, For: time.Minute}, 10 * time.Second, 70 * time.Second, 70 * time.Second},
		"frozen":                    {fault.Fault{Kind: fault.Suspend, For: time.Minute, Frozen: true}, 10 * time.Second, 10 * time.Second, 70 * time.Second},
		"stepped":                   {fault.Fault{Kind: fault.Step, By: time.Hour}, 10 * time.Second, time.Hour + 10*time.Second, 10 * time.Second},
		"stepped back":              {fault.Fault{Kind: fault.Step, By: -time.Hour}, 10 * time.Second, 10*time.Second - time.Hour, 10 * time.Second},
		"stepped back to the start": {fault.Fault{Kind: fault.Step, By: -2 * time.Second}, 10 * time.Second, 8 * time.Second, 10 * time.Second},
		"fast":                      {fault.Fault{Kind: fault.Rate, PPM: 500_000}, 10 * time.Second, 10 * time.Second, 7 * time.Second},
		"slow":                      {fault.Fault{Kind: fault.Rate, PPM: -500_000}, 10 * time.Second, 10 * time.Second, 19 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.fault.Process == "" {
				c.fault.Process = "c1"
			}
			c.fault.At = 2 * time.Second
			var from, to drift.Instant
			r := alone(t, simulation.Schedule{c.fault}, func(c *simulation.Client) {
				reader := drift.NewReader(c.Clock())
				c.Sleep(time.Second)
				from = reader.Now()
				c.Sleep(10 * time.Second)
				to = reader.Now()
			})
			assert.Equal(t, c.mono, to.Mono-from.Mono, "monotonic")
			assert.Equal(t, c.wall, to.Wall.Sub(from.Wall), "wall")
			assert.Equal(t, c.true, r.Ended-time.Second, "true time")
		})
	}
}

// A context ends at its own time or with its parent, and so do those that are derived from it.
func TestContextsOfAClock(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, test := range map[string]struct {
		parent  context.Context
		outer   time.Duration
		inner   time.Duration
		err     error
		elapsed time.Duration
	}{
		"its own time":          {context.Background(), time.Hour, time.Second, context.DeadlineExceeded, time.Second},
		"the time of another":   {context.Background(), 2 * time.Second, time.Hour, context.DeadlineExceeded, 2 * time.Second},
		"its time is over":      {context.Background(), time.Hour, -time.Second, context.DeadlineExceeded, 0},
		"a parent was canceled": {canceled, time.Hour, time.Hour, context.Canceled, 0},
	} {
		alone(t, nil, func(c *simulation.Client) {
			clk := c.Clock()
			from := clk.Now()
			outer, cancelOuter := clk.WithTimeout(test.parent, test.outer)
			defer cancelOuter()
			inner, cancelInner := clk.WithDeadline(outer, from.Add(test.inner))
			defer cancelInner()
			derived, cancelDerived := context.WithCancel(inner)
			defer cancelDerived()
			deadline, _ := derived.Deadline()
			assert.Equal(t, from.Add(min(test.outer, test.inner)), deadline, name)
			<-derived.Done()
			assert.Equal(t, []error{test.err, test.err}, []error{inner.Err(), derived.Err()}, name)
			assert.Equal(t, test.elapsed, clk.Since(from), name)
		})
	}
}
