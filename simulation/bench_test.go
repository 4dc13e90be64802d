//go:build unix

package simulation_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
)

// BenchmarkRun measures the cost of a run: two clients that take the lock from five instances, in
// three rounds and without faults; a scenario; and three clients with mixed operations under random
// faults. Its runs/s are by processor time, not wall time.
func BenchmarkRun(b *testing.B) {
	b.Run("Rounds", func(b *testing.B) {
		benchmark(b, false, func(seed uint64) simulation.Result { return run3(b, seed, simulation.Config{}) })
	})
	b.Run("RoundsWithText", func(b *testing.B) {
		benchmark(b, true, func(seed uint64) simulation.Result { return run3(b, seed, simulation.Config{}) })
	})
	b.Run("S1", func(b *testing.B) {
		schedule, work := pauseAfterTheCheck()
		benchmark(b, false, func(seed uint64) simulation.Result {
			r, err := simulation.Run(seed, simulation.Config{}, schedule, work)
			require.NoError(b, err)
			return r
		})
	})
	b.Run("Contended", func(b *testing.B) {
		benchmark(b, false, func(seed uint64) simulation.Result {
			_, r := drawn(b, seed)
			return r
		})
	})
}

// run3 is two clients, five instances and three rounds: the first client has the lock, then the
// second, then the first again.
func run3(t testing.TB, seed uint64, cfg simulation.Config) simulation.Result {
	r, err := simulation.Run(seed, cfg, nil, func(c *simulation.Client) {
		for turn := c.Index; turn < 3; turn += 2 {
			c.SleepUntil(time.Duration(turn) * 50 * ms)
			if lease := take(c); lease != nil {
				update(c, lease)
				_ = c.Release(lease)
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, 3, r.Log.Counts()["a lease was acquired"])
	return r
}

// processorTime is the processor time of this process. It differs from wall time on a machine with
// other work.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func benchmark(b *testing.B, texts bool, run func(seed uint64) simulation.Result) {
	b.ReportAllocs()
	events, lines, seed := 0, 0, uint64(0)
	began := processorTime(b)
	for b.Loop() {
		r := run(seed)
		seed++
		events += r.Events
		if texts {
			lines += strings.Count(r.Log.String(), "\n")
		}
	}
	took := (processorTime(b) - began).Seconds()
	b.ReportMetric(float64(b.N)/took, "runs/s")
	b.ReportMetric(float64(events)/took, "events/s")
	b.ReportMetric(float64(events)/float64(b.N), "events/run")
	b.ReportMetric(float64(lines)/took, "trace-lines/s")
}
