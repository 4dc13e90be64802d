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

func TestServersThatGrantEverythingAreFound(t *testing.T) {
	for seed := range uint64(20) {
		cfg := contended()
		cfg.Forgetful = true
		r := run(t, seed, cfg, nil, contend)
		require.Contains(t, r.Kinds(), record.TwoHolders, "seed %d\n%s", seed, r.Log)
	}
}

// S2: the lock is right, and an update is lost nevertheless.
func TestLostUpdateWithoutFaultOfTheLock(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Delay, Process: "c1", Server: fault.Resource, Op: "write", Nth: 1, By: 90 * time.Second}}
	work := byName(map[string]simulation.Workload{"c1": hold(0), "c2": func(c *simulation.Client) {
		c.SleepUntil(at(10_200 * ms))
		hold(0)(c)
	}})
	play(t, simulation.Config{}, schedule, work, record.LostUpdate, record.StaleWrite)
	play(t, simulation.Config{Guard: simulation.GuardAdmits}, schedule, work, none...)
	play(t, simulation.Config{}, nil, work, none...)
}

// S6: the drift allowance covers 5 025 millionths on both sides, and not a
// clock that chrony slews as fast as it may.
func TestValidityBeyondRealityIsFound(t *testing.T) {
	rates := func(ppm int64) simulation.Schedule {
		return simulation.Schedule{
			{Kind: fault.Rate, Server: fault.Any, PPM: ppm},
			{Kind: fault.Rate, Process: fault.Any, PPM: -ppm},
		}
	}
	cfg := simulation.Config{Processes: 1}
	cfg.Quorum.ClockMonitor = quorum.Off
	play(t, cfg, rates(5_025), hold(0), none...)
	play(t, cfg, rates(83_333), hold(0), record.Overvalued)
}

// All instances lose their data, and their clocks are set back, so tokens start again below earlier
// ones.
func TestTokensOutOfOrderAreFound(t *testing.T) {
	schedule := simulation.Schedule{
		{Kind: fault.Step, Server: fault.Any, At: 4 * time.Second, By: -time.Hour},
		{Kind: fault.Restart, Server: fault.Any, At: 5 * time.Second},
	}
	cfg := simulation.Config{}
	cfg.Quorum.RestartQuarantine, cfg.Quorum.ClockMonitor = quorum.Off, quorum.Off
	play(t, cfg, schedule, byName(map[string]simulation.Workload{"c1": hold(time.Second), "c2": func(c *simulation.Client) {
		c.SleepUntil(10 * time.Second)
		hold(time.Second)(c)
	}}), record.TokenOrder, record.StaleWrite)
}

// X1: a holder that crashes blocks the lock for a TTL, and nothing is violated, wherever it
// crashes.
func TestCrashAtEachOperation(t *testing.T) {
	cfg := simulation.Config{Witness: true}
	crashes, held := 0, 0
	for nth := 1; nth <= 60; nth++ {
		schedule := simulation.Schedule{{Kind: fault.Crash, Process: "c1", Nth: nth}}
		r := run(t, uint64(nth), cfg, schedule, func(c *simulation.Client) {
			lease := take(c)
			if lease == nil {
				return
			}
			c.KeepAlive(lease)
			_ = lease.(*quorum.Lease).Context()
			update(c, lease)
			c.Sleep(8 * time.Second)
			_ = c.Release(lease)
		})
		require.Empty(t, r.Log.Violations(), "operation %d\n%s", nth, r.Log)
		crashes += r.Log.Counts()["a process crashed"]
		held += count(r, "c1", "acquired")
	}
	assert.Greater(t, crashes, 15)
	assert.Greater(t, held, 20)
	assert.Less(t, held, 60)
}

// S4b: the holder crashes, and the clocks of the instances are set back, so its keys last on and
// on.
func TestNeverFreeIsFound(t *testing.T) {
	schedule := simulation.Schedule{
		{Kind: fault.Crash, Process: "c1", Op: "write", Nth: 1},
		{Kind: fault.Step, Server: fault.Any, At: 2 * time.Second, By: -time.Hour},
	}
	cfg := simulation.Config{Processes: 1, Witness: true}
	play(t, cfg, schedule, func(c *simulation.Client) {
		hold(time.Second)(c)
	}, record.NeverFree)
	play(t, cfg, schedule[:1], hold(time.Second), none...)
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
	cfg.Quorum.ClockMonitor = quorum.Off
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
	})
	require.Equal(t, []record.ViolationKind{record.Unsimulated}, r.Kinds())
	assert.Len(t, r.Log.Violations(), 3)
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
