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

func TestContextsOfAClock(t *testing.T) {
	type seen struct {
		err   error
		after time.Duration
	}
	var got []seen
	alone(t, nil, func(c *simulation.Client) {
		clk := c.Clock()
		wait := func(ctx context.Context) {
			from := clk.Now()
			<-ctx.Done()
			got = append(got, seen{ctx.Err(), clk.Since(from)})
		}
		timeout, cancel := clk.WithTimeout(context.Background(), time.Second)
		defer cancel()
		wait(timeout)

		outer, cancelOuter := clk.WithDeadline(context.Background(), clk.Now().Add(2*time.Second))
		defer cancelOuter()
		inner, cancelInner := clk.WithTimeout(outer, time.Hour)
		defer cancelInner()
		wait(inner)

		parent, cancelParent := context.WithCancel(context.Background())
		child, cancelChild := clk.WithTimeout(parent, time.Hour)
		defer cancelChild()
		grandchild, cancelGrandchild := context.WithCancel(child)
		defer cancelGrandchild()
		cancelParent()
		wait(grandchild)

		past, cancelPast := clk.WithDeadline(context.Background(), clk.Now().Add(-time.Second))
		defer cancelPast()
		wait(past)

		called := make(chan struct{})
		short, cancelShort := clk.WithTimeout(context.Background(), 3*time.Second)
		defer cancelShort()
		notCalled := context.AfterFunc(short, func() { panic("it was stopped") })
		context.AfterFunc(short, func() { close(called) })
		if !notCalled() || notCalled() {
			panic("stopped not once")
		}
		from := clk.Now()
		<-called
		got = append(got, seen{context.Cause(short), clk.Since(from)})
	})
	assert.Equal(t, []seen{
		{context.DeadlineExceeded, time.Second},
		{context.DeadlineExceeded, 2 * time.Second},
		{context.Canceled, 0},
		{context.DeadlineExceeded, 0},
		{context.DeadlineExceeded, 3 * time.Second},
	}, got)
}

// A timer that nobody waits for any more stays for those that have joined it: they follow the clock's rate.
func TestJoinedTimersFollowTheClock(t *testing.T) {
	faster := simulation.Schedule{{Kind: fault.Rate, Process: "c1", At: 2 * time.Second, PPM: 500_000}}
	r := alone(t, faster, func(c *simulation.Client) {
		open := func(d time.Duration) (context.Context, context.CancelFunc) {
			return c.Clock().WithTimeout(context.Background(), d)
		}
		_, cancel := open(10 * time.Second)
		joined, cancelJoined := open(10 * time.Second)
		defer cancelJoined()
		c.Sleep(ms)
		cancel()
		for i := range 100 { // so many that the old ones are forgotten
			_, cancel := open(time.Hour + time.Duration(i))
			defer cancel()
		}
		<-joined.Done()
	})
	assert.Equal(t, 7333*ms, r.Ended.Truncate(ms), "2 s, and 8 s of a clock that is half as fast again")
}
