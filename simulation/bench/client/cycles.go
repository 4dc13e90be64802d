package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Cycles is the cost of acquiring and releasing.
type Cycles struct {
	PerSecond float64 `json:"cycles_per_second" join:"median"`
	P50       float64 `json:"p50_us" join:"median"`
	P99       float64 `json:"p99_us" join:"median"`
	// ClientCPU and ServerCPU are processor times, the latter of all servers.
	ClientCPU float64 `json:"client_cpu_us_per_cycle" join:"median"`
	ServerCPU float64 `json:"server_cpu_us_per_cycle" join:"median"`
	Allocs    float64 `json:"allocs_per_cycle" join:"median"`
	Failed    int     `json:"failed" join:"sum"`
}

// MeasureWork has workers at work for a time. work returns the durations of the cycles that
// succeeded, and how many failed.
func MeasureWork(addrs []string, long time.Duration, work func(time.Duration) (cycles []time.Duration, failed int)) (Cycles, error) {
	// Connections and scripts are set up before the measurement.
	_, warmFailed := work(long / 4)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, err := used(addrs)
	if err != nil {
		return Cycles{}, err
	}
	cycles, failed := work(long)
	ended, err := used(addrs)
	if err != nil {
		return Cycles{}, err
	}
	runtime.ReadMemStats(&after)
	slices.Sort(cycles)
	n := float64(max(1, len(cycles)))
	return Cycles{
		PerSecond: float64(len(cycles)) / ended.at.Sub(began.at).Seconds(),
		P50:       stats.Micros(stats.Quantile(cycles, 0.5)), P99: stats.Micros(stats.Quantile(cycles, 0.99)),
		ClientCPU: stats.Micros(ended.client-began.client) / n, ServerCPU: stats.Micros(ended.servers-began.servers) / n,
		Allocs: float64(after.Mallocs-before.Mallocs) / n, Failed: failed + warmFailed,
	}, nil
}

func measureCycles(ctx context.Context, locks *quorum.Coordinator, task Task) (*Cycles, error) {
	cycles, err := MeasureWork(task.Addrs, task.Long, func(long time.Duration) ([]time.Duration, int) {
		return Work(ctx, task.Workers, long, func(worker int, random *rand.Rand) error {
			key := fmt.Sprintf("worker-%d", worker)
			if task.Keys > 0 {
				key = fmt.Sprintf("key-%d", random.IntN(task.Keys))
			}
			lease, err := locks.Acquire(ctx, key)
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		})
	})
	return &cycles, err
}

// Patience is how long workers may take beyond their time. A library that loses a notification
// hangs forever, and the others are still to be measured.
const Patience = 15 * time.Second

// Work has workers repeat a cycle for a time, and returns the durations of the cycles that
// succeeded, and how many failed. Workers that hang count as failed.
func Work(ctx context.Context, workers int, long time.Duration, cycle func(worker int, random *rand.Rand) error) (cycles []time.Duration, failed int) {
	var mu sync.Mutex
	end, missing := time.Now().Add(long), workers
	done := make(chan struct{})
	for w := range workers {
		go func() {
			mine, bad := make([]time.Duration, 0, 1<<14), 0
			random := rand.New(rand.NewPCG(uint64(w), uint64(end.UnixNano())))
			// At least once, also if it starts late on a busy machine.
			for now, first := time.Now(), true; (first || now.Before(end)) && ctx.Err() == nil; first = false {
				err := cycle(w, random)
				then := time.Now()
				if err == nil {
					mine = append(mine, then.Sub(now))
				} else {
					bad++
				}
				now = then
			}
			mu.Lock()
			defer mu.Unlock()
			if cycles, failed, missing = append(cycles, mine...), failed+bad, missing-1; missing == 0 {
				close(done)
			}
		}()
	}
	timeout := time.NewTimer(long + Patience)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(cycles), failed + missing
}
