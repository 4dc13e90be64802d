package simulation_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
)

const stoppedAtReading = "a process stopped at a reading of its clock"

// holdInTurn is a workload of two processes that hold one lock in turn, without a resource: no lock
// can prevent what a process does to a resource after a pause.
func holdInTurn(c *simulation.Client) {
	c.Sleep(time.Duration(c.Index) * 50 * ms)
	for range 2 {
		lease, err := c.Acquire("k")
		if err != nil {
			continue
		}
		if c.Index == 1 {
			c.KeepAlive(lease)
		}
		c.Sleep(400 * ms)
		if c.Index == 0 {
			_ = c.Extend(lease)
		}
		c.Valid(lease)
		c.Sleep(1400 * ms)
		c.Valid(lease)
		_ = c.Release(lease)
	}
}

func heldInTurn() simulation.Config {
	return simulation.Config{Processes: 2, Witness: true, Quorum: quorum.Config{Terms: quorum.Terms{TTL: 2 * time.Second, MaxWait: 10 * time.Second}}}
}

// A pause before or after any reading of the clock, shorter or longer than a lease, never breaks
// the lock's exclusion, and is the same on one processor and on several.
func TestAPauseAtAnyReadingOfTheClock(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	every := long.Number(1, 83)
	plain, err := simulation.Run(1, heldInTurn(), nil, holdInTurn)
	require.NoError(t, err)
	number := 0
	for _, process := range []string{"c1", "c2"} {
		require.Greater(t, plain.Readings[process], 200)
		for nth := 1; nth <= plain.Readings[process]; nth += every {
			number++
			f := fault.Fault{
				Kind: fault.Pause, Process: process, Op: "clock", Nth: nth,
				For: []time.Duration{100 * ms, time.Second, 3 * time.Second}[number%3], Stale: number%2 == 0,
			}
			if number%5 == 0 {
				f.Kind, f.Frozen = fault.Suspend, number%10 == 0
			}
			runtime.GOMAXPROCS(1)
			one, err := simulation.Run(1, heldInTurn(), simulation.Schedule{f}, holdInTurn)
			require.NoError(t, err)
			runtime.GOMAXPROCS(2)
			two, err := simulation.Run(1, heldInTurn(), simulation.Schedule{f}, holdInTurn)
			require.NoError(t, err)
			require.Equal(t, one.Log.Digest(), two.Log.Digest(), "%+v: %s", f, difference(one.Log, two.Log))
			require.Equal(t, 1, one.Log.Counts()[stoppedAtReading], "%+v", f)
			if f.Frozen { // both clocks stand still: the process can't know
				continue
			}
			require.Empty(t, one.Log.Violations(), "%+v\n%s", f, one.Log)
		}
	}
}

// reader is a Locker without a lock, to show what a process reads from its clock.
type reader struct{ simulation.Locker }

func (reader) Close(context.Context) error { return nil }

// readers is its Config.
func readers() simulation.Config {
	return simulation.Config{Processes: 2, Locker: func(simulation.Process) (simulation.Locker, error) { return reader{}, nil }}
}

// What a process that stops at a reading reads from its clocks, and when its next actions take
// effect.
func TestWhatAPauseAtAReadingDoes(t *testing.T) {
	work := func(readings *[]time.Duration) simulation.Workload {
		return func(c *simulation.Client) {
			if c.Index == 1 {
				c.Sleep(300 * ms)
				c.Note("meanwhile")
				return
			}
			c.Sleep(100 * ms)
			start := c.Clock().Now()
			c.Note("before")
			for range 3 {
				*readings = append(*readings, c.Clock().Since(start))
			}
			*readings = append(*readings, c.Clock().Now().Sub(start))
			c.Note("after")
			ctx, cancel := c.Clock().WithTimeout(c.Context(), 50*ms)
			defer cancel()
			<-ctx.Done()
			c.Note("and later")
		}
	}
	const second = time.Second
	for name, one := range map[string]struct {
		fault  fault.Fault
		shows  []time.Duration
		trace  []string
		absent string
	}{
		"before it": {
			fault: fault.Fault{Kind: fault.Pause, For: second},
			shows: []time.Duration{0, second, second, second},
			trace: []string{"100.000000 c1 noted before", "100.000000 c1 suffers pause for=1000000000 reading=simulation_test.", "300.000000 c2 noted meanwhile", "1100.000000 c1 noted after", "1150.000000 c1 noted and later"},
		},
		"after it": {
			fault: fault.Fault{Kind: fault.Pause, For: second, Stale: true},
			shows: []time.Duration{0, 0, second, second},
			trace: []string{"100.000000 c1 noted before", "300.000000 c2 noted meanwhile", "1100.000000 c1 noted after", "1150.000000 c1 noted and later"},
		},
		"suspended": {
			fault: fault.Fault{Kind: fault.Suspend, For: second},
			shows: []time.Duration{0, 0, 0, second},
			trace: []string{"100.000000 c1 noted before", "300.000000 c2 noted meanwhile", "1100.000000 c1 noted after", "1150.000000 c1 noted and later"},
		},
		"suspended with its wall clock": {
			fault: fault.Fault{Kind: fault.Suspend, For: second, Frozen: true},
			shows: []time.Duration{0, 0, 0, 0},
			trace: []string{"300.000000 c2 noted meanwhile", "1100.000000 c1 noted after", "1150.000000 c1 noted and later"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var readings []time.Duration
			f := one.fault
			f.Process, f.Op, f.Nth = "c1", "clock", 3
			r, err := simulation.Run(1, readers(), simulation.Schedule{f}, work(&readings))
			require.NoError(t, err)
			require.Empty(t, r.Log.Violations())
			readings = readings[len(readings)-4:] // it runs twice: once to find the reading
			assert.Equal(t, one.shows, readings)
			rest := r.Log.String()
			for _, line := range one.trace {
				_, after, found := strings.Cut(rest, line)
				require.True(t, found, "%q is missing, or not in its place, in\n%s", line, r.Log)
				rest = after
			}
			assert.Equal(t, 1, r.Log.Counts()[stoppedAtReading])
			assert.Equal(t, map[string]int{"c1": 5, "c2": 0}, r.Readings)
		})
	}
}

// What happens to a process's clocks, or to itself, while it stops at a reading.
func TestFaultsDuringAPauseAtAReading(t *testing.T) {
	at := fault.Fault{Kind: fault.Pause, Process: "c1", Op: "clock", Nth: 2, For: time.Second}
	play := func(t *testing.T, more ...fault.Fault) (simulation.Result, []time.Duration) {
		var readings []time.Duration
		r, err := simulation.Run(1, readers(), append(simulation.Schedule{at}, more...), func(c *simulation.Client) {
			if c.Index == 1 {
				return
			}
			start := c.Clock().Now()
			readings = append(readings, c.Clock().Since(start), c.Clock().Now().Sub(start))
			c.Note("after")
			c.Sleep(100 * ms)
			readings = append(readings, c.Clock().Now().Sub(start))
			c.Note("later")
		})
		require.NoError(t, err)
		require.Empty(t, r.Log.Violations())
		return r, readings
	}
	t.Run("Step", func(t *testing.T) {
		_, readings := play(t, fault.Fault{Kind: fault.Step, Process: "c1", At: 500 * ms, By: time.Minute})
		assert.Equal(t, []time.Duration{time.Second, time.Minute + time.Second, time.Minute + 1100*ms}, readings[len(readings)-3:])
	})
	t.Run("Rate", func(t *testing.T) {
		_, readings := play(t, fault.Fault{Kind: fault.Rate, Process: "c1", At: 500 * ms, PPM: 200_000})
		assert.Equal(t, []time.Duration{1100 * ms, 1100 * ms, 1200 * ms}, readings[len(readings)-3:])
	})
	t.Run("Crash", func(t *testing.T) {
		r, _ := play(t, fault.Fault{Kind: fault.Crash, Process: fault.Any, At: 500 * ms})
		assert.NotContains(t, r.Log.String(), "noted")
	})
	t.Run("Pause", func(t *testing.T) {
		r, _ := play(t, fault.Fault{Kind: fault.Pause, Process: "c1", At: 500 * ms, For: time.Second})
		assert.Contains(t, r.Log.String(), "1500.000000 c1 noted after")
	})
	t.Run("another reading", func(t *testing.T) {
		again := at
		again.Nth = 4 // the last one
		r, readings := play(t, again)
		assert.Equal(t, []time.Duration{time.Second, time.Second, 2100 * ms}, readings[len(readings)-3:])
		assert.Contains(t, r.Log.String(), "1000.000000 c1 noted after")
		assert.Contains(t, r.Log.String(), "2100.000000 c1 noted later")
		assert.Equal(t, 2, r.Log.Counts()[stoppedAtReading])
	})
}

// A process may hold its own mutex while it reads the clock, while others of its goroutines wait
// for it: all of them stop, and all of them continue.
func TestAPauseUnderAMutex(t *testing.T) {
	for _, stale := range []bool{false, true} {
		f := fault.Fault{Kind: fault.Pause, Process: "c1", Op: "clock", Nth: 5, For: time.Second, Stale: stale}
		var digest string
		for range 20 {
			r, err := simulation.Run(1, readers(), simulation.Schedule{f}, func(c *simulation.Client) {
				if c.Index == 1 {
					return
				}
				var mu sync.Mutex
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						mu.Lock()
						defer mu.Unlock()
						c.Clock().Now()
					})
				}
				all.Wait()
				c.Note("all have it")
			})
			require.NoError(t, err)
			require.Empty(t, r.Log.Violations())
			require.Contains(t, r.Log.String(), "1000.000000 c1 noted all have it")
			require.Equal(t, 1, r.Log.Counts()[stoppedAtReading])
			if digest == "" {
				digest = r.Log.Digest()
			}
			require.Equal(t, digest, r.Log.Digest())
		}
	}
}

// Func names the readings of one function.
func TestReadingsOfOneFunction(t *testing.T) {
	f := fault.Fault{Kind: fault.Pause, Process: "c1", Op: "clock", Func: "quorum.(*core).send", Nth: 1, For: 100 * ms}
	r, err := simulation.Run(1, heldInTurn(), simulation.Schedule{f}, holdInTurn)
	require.NoError(t, err)
	require.Empty(t, r.Log.Violations())
	require.Equal(t, 1, r.Log.Counts()[stoppedAtReading])
	before, _, found := strings.Cut(r.Log.String(), "c1 suffers pause for=100000000 reading=quorum.(*core).send")
	require.True(t, found, "%s", r.Log)
	assert.NotContains(t, before, "c1 extend", "nothing was sent before its first reading")

	f.Func = "quorum.noSuchFunction"
	r, err = simulation.Run(1, heldInTurn(), simulation.Schedule{f}, holdInTurn)
	require.NoError(t, err)
	require.Zero(t, r.Log.Counts()[stoppedAtReading])
}
