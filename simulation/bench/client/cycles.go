package client

import (
	"context"
	"errors"
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
	// ClientCPU and ServerCPU are processor times, the latter of all servers. UserCPU is the
	// part of ClientCPU that is not the kernel's.
	ClientCPU float64 `json:"client_cpu_us_per_cycle" join:"median"`
	UserCPU   float64 `json:"client_user_cpu_us_per_cycle" join:"median"`
	ServerCPU float64 `json:"server_cpu_us_per_cycle" join:"median"`
	Allocs    float64 `json:"allocs_per_cycle" join:"median"`
	Failed    int     `json:"failed" join:"sum"`
}

func measureCycles(ctx context.Context, locks *quorum.Coordinator, task Task) (*Cycles, error) {
	// Connections and scripts are set up before the measurement.
	_, warmFailed := work(ctx, locks, task, task.Long/4)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, err := used(task.Addrs)
	if err != nil {
		return nil, err
	}
	cycles, failed := work(ctx, locks, task, task.Long)
	ended, err := used(task.Addrs)
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	took, user, own, servers := ended.since(began)
	slices.Sort(cycles)
	n := float64(max(1, len(cycles)))
	return &Cycles{
		PerSecond: float64(len(cycles)) / took.Seconds(),
		P50:       stats.Micros(stats.Quantile(cycles, 0.5)), P99: stats.Micros(stats.Quantile(cycles, 0.99)),
		ClientCPU: stats.Micros(own) / n, UserCPU: stats.Micros(user) / n, ServerCPU: stats.Micros(servers) / n,
		Allocs: float64(after.Mallocs-before.Mallocs) / n, Failed: failed + warmFailed,
	}, nil
}

// work has workers acquire and release for a time, and returns the durations of the cycles that
// succeeded.
func work(ctx context.Context, locks *quorum.Coordinator, task Task, long time.Duration) (cycles []time.Duration, failed int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(long)
	for w := range task.Workers {
		all.Go(func() {
			mine, bad := make([]time.Duration, 0, 1<<12), 0
			key := fmt.Sprintf("worker-%d", w)
			random := rand.New(rand.NewPCG(uint64(w), uint64(end.UnixNano())))
			for now := time.Now(); now.Before(end) && ctx.Err() == nil; {
				if task.Keys > 0 {
					key = fmt.Sprintf("key-%d", random.IntN(task.Keys))
				}
				err := cycle(ctx, locks, key)
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
			cycles, failed = append(cycles, mine...), failed+bad
		})
	}
	all.Wait()
	return cycles, failed
}

func cycle(ctx context.Context, locks *quorum.Coordinator, key string) error {
	lease, err := locks.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

// fixedCycles shares out a number of cycles among the workers. It fails if one of them does,
// because another number would be counted than was asked for.
func fixedCycles(ctx context.Context, locks *quorum.Coordinator, task Task) error {
	errs := make([]error, task.Workers)
	var all sync.WaitGroup
	for w := range task.Workers {
		all.Go(func() {
			key := fmt.Sprintf("worker-%d", w)
			for n := w; n < task.Cycles && errs[w] == nil; n += task.Workers {
				errs[w] = cycle(ctx, locks, key)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
