package simulation_test

import (
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

func TestEndlessWorkIsBrokenOff(t *testing.T) {
	r := run(t, 1, simulation.Config{Horizon: time.Minute}, nil, func(c *simulation.Client) {
		for {
			c.Sleep(time.Second)
		}
	})
	require.Equal(t, []record.ViolationKind{record.Stuck}, r.Kinds())
	assert.Contains(t, r.Log.Violations()[0].Text, "c1, c2: not ended after 1m0s")
	assert.Equal(t, time.Minute, r.Ended.Truncate(time.Second))

	r = run(t, 1, simulation.Config{MaxEvents: 50}, nil, hold(0))
	require.Equal(t, []record.ViolationKind{record.Stuck}, r.Kinds())
	assert.Contains(t, r.Log.Violations()[0].Text, "not ended after 50 events")
}

// forEver blocks and never ends; the leak check of this package ignores it by its name.
func forEver() { <-make(chan struct{}) }

func TestDeadlockIsFound(t *testing.T) {
	cfg := simulation.Config{Processes: 1}
	cfg.Quorum.Lab.ClockMonitor = quorum.Off
	r := run(t, 1, cfg, nil, func(*simulation.Client) { forEver() })
	require.Equal(t, []record.ViolationKind{record.LeftOver, record.Stuck}, r.Kinds())
	assert.Contains(t, r.Log.Violations()[0].Text, "nothing is left that could wake them")
	assert.Contains(t, r.Log.Violations()[0].Text, "simulation_test.forEver", "it shows where")
}

func TestGoroutinesLeftOverAreFound(t *testing.T) {
	r := run(t, 1, simulation.Config{Processes: 1}, nil, func(*simulation.Client) { go forEver() })
	require.Equal(t, []record.ViolationKind{record.LeftOver}, r.Kinds())
}

func TestPanicIsFound(t *testing.T) {
	r := run(t, 1, simulation.Config{}, nil, func(c *simulation.Client) {
		if c.Index == 1 {
			panic("at the disco")
		}
		hold(0)(c)
	})
	require.Equal(t, []record.ViolationKind{record.Panicked}, r.Kinds())
	assert.Contains(t, r.Log.Violations()[0].Text, "c2: at the disco")
	assert.Equal(t, 1, count(r, "c1", "write"), "the others go on")
}

func TestWhatCantBeSimulatedIsFound(t *testing.T) {
	r := run(t, 1, simulation.Config{Processes: 1}, nil, func(c *simulation.Client) {
		c.Clock().Timer(time.Second).Stop()
		c.Clock().Ticker(time.Second).Stop()
		c.Clock().AfterFunc(time.Second, func() {}).Stop()
		c.Clock().Tick(time.Second)
	})
	require.Equal(t, []record.ViolationKind{record.Unsimulated}, r.Kinds())
	assert.Len(t, r.Log.Violations(), 4)
}

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
		end := before(t, plain.Log, from)
		require.Equal(t, end, before(t, r.Log, from))
		require.Equal(t, record.Log{slices.Concat(plain.Log...)[:end]}.String(), record.Log{slices.Concat(r.Log...)[:end]}.String())
		require.NotEqual(t, plain.Log.Digest(), r.Log.Digest())
		require.Greater(t, end, 30)
	}
}

// before is the number of events before the true time at.
func before(t *testing.T, log record.Log, at time.Duration) int {
	t.Helper()
	return slices.IndexFunc(slices.Concat(log...), func(e record.Event) bool { return e.At >= at })
}
