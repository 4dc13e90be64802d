package simulation_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// The tests in this file break something on purpose: a check that can't fail
// proves nothing.

func run(t *testing.T, seed uint64, cfg simulation.Config, schedule simulation.Schedule, work simulation.Workload) simulation.Result {
	t.Helper()
	r, err := simulation.Run(seed, cfg, schedule, work)
	require.NoError(t, err)
	return r
}

// hold takes the lock and keeps it for a while.
func hold(d time.Duration) simulation.Workload {
	return func(c *simulation.Client) {
		c.SleepUntil(at(0))
		for range 100 {
			if lease := take(c); lease != nil {
				update(c, lease)
				c.Sleep(d)
				_ = c.Release(lease)
				return
			}
			c.Sleep(time.Second)
		}
	}
}

// forEver blocks and never ends; the leak check of this package ignores it by its name.
func forEver() { <-make(chan struct{}) }

// A run that can't go on, or that breaks what the simulation asks of it, says so.
func TestBrokenRuns(t *testing.T) {
	alone := simulation.Config{Processes: 1}
	alone.Quorum.Lab.ClockMonitor = quorum.Off
	empty := alone
	empty.Locker = func(simulation.Process) (simulation.Locker, error) { return givesNothing{}, nil }
	for name, test := range map[string]struct {
		cfg   simulation.Config
		work  simulation.Workload
		kinds []record.ViolationKind
		says  []string // the first violation
	}{
		"it never ends": {
			simulation.Config{Horizon: time.Minute},
			func(c *simulation.Client) {
				for {
					c.Sleep(time.Second)
				}
			},
			[]record.ViolationKind{record.Stuck},
			[]string{"c1, c2: not ended after 1m0s"},
		},
		"it has too many events": {
			simulation.Config{MaxEvents: 50}, hold(0), []record.ViolationKind{record.Stuck}, []string{"not ended after 50 events"},
		},
		"it is blocked": {
			alone, func(*simulation.Client) { forEver() },
			[]record.ViolationKind{record.LeftOver, record.Stuck},
			[]string{"nothing is left that could wake them", "simulation_test.forEver"},
		},
		"a goroutine remains": {
			alone, func(*simulation.Client) { go forEver() }, []record.ViolationKind{record.LeftOver}, nil,
		},
		"a goroutine panics": {
			alone, func(c *simulation.Client) { c.Go(func(*simulation.Client) { panic("at the disco") }) },
			[]record.ViolationKind{record.Panicked}, []string{"c1: at the disco"},
		},
		"its timers are real": {
			alone, func(c *simulation.Client) { c.Clock().Tick(time.Second) },
			[]record.ViolationKind{record.Panicked}, []string{"can't be simulated"},
		},
		"its lock gives nothing": {
			empty, func(c *simulation.Client) { take(c) },
			[]record.ViolationKind{record.Panicked}, []string{"neither a lease nor an error"},
		},
		"it hides a lease from the checks": {
			alone,
			func(c *simulation.Client) {
				lease, err := c.Coordinator.TryAcquire(c.Context(), key)
				require.NoError(t, err)
				_ = c.Write(lease, 1, 0)
			},
			[]record.ViolationKind{record.Panicked}, []string{"no check knows it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, 1, test.cfg, nil, test.work)
			require.Equal(t, test.kinds, r.Kinds())
			for _, says := range test.says {
				assert.Contains(t, r.Log.Violations()[0].Text, says)
			}
		})
	}
}

// givesNothing is a Locker that breaks its contract.
type givesNothing struct{ simulation.Locker }

func (givesNothing) Close(context.Context) error { return nil }

func (givesNothing) TryAcquire(context.Context, string) (simulation.Lease, error) { return nil, nil }

// A fault changes nothing before it: other random values don't depend on it.
func TestFaultsDontReshuffleTheRest(t *testing.T) {
	plain := run(t, 7, contended(), nil, contend)
	from := 3 * time.Second
	for _, fault := range []fault.Fault{
		{Kind: fault.Pause, Process: "c2", For: 7 * time.Second},
		{Kind: fault.Restart, Server: "B", For: time.Second},
		{Kind: fault.Lose, Process: fault.Any, Server: fault.Any, PPM: 300_000},
	} {
		fault.At = from
		r := run(t, 7, contended(), simulation.Schedule{fault}, contend)
		after := func(e *record.Event) bool { return e.At >= from }
		end := slices.IndexFunc(plain.Log, after)
		require.Equal(t, end, slices.IndexFunc(r.Log, after))
		require.Equal(t, plain.Log[:end].String(), r.Log[:end].String())
		require.NotEqual(t, plain.Log.Digest(), r.Log.Digest())
		require.Greater(t, end, 30)
	}
}
