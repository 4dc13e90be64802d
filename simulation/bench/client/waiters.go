package client

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Waiters is the cost of passing one lock on among the waiters of one process.
type Waiters struct {
	PerSecond float64 `json:"handoffs_per_second" join:"median"`
	// ClientCPU and ServerCPU are processor times, the latter of all servers.
	ClientCPU float64 `json:"client_cpu_us_per_handoff" join:"median"`
	ServerCPU float64 `json:"server_cpu_us_per_handoff" join:"median"`
	Allocs    float64 `json:"allocs_per_handoff" join:"median"`
	Failed    int     `json:"failed" join:"sum"`
}

// measureWaiters has all workers wait for one lock. Its holder releases it at once and waits
// again.
func measureWaiters(ctx context.Context, locks *quorum.Coordinator, task Task) (*Waiters, error) {
	working, stop := context.WithCancel(ctx)
	var turns, failed atomic.Int64
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for range task.Workers {
		all.Go(func() {
			for working.Err() == nil {
				lease, err := locks.Acquire(working, "the only one")
				if err == nil {
					turns.Add(1)
					err = lease.Release(ctx)
				} else if working.Err() != nil {
					return // the wait was cancelled
				}
				if err != nil {
					failed.Add(1)
				}
			}
		})
	}
	// Every worker has a turn, or waits at least.
	if err := pause(ctx, task.Long/4); err != nil {
		return nil, err
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, err := used(task.Addrs)
	if err != nil {
		return nil, err
	}
	done := turns.Load()
	if err := pause(ctx, task.Long); err != nil {
		return nil, err
	}
	handoffs := float64(turns.Load() - done)
	ended, err := used(task.Addrs)
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	took, _, own, servers := ended.since(began)
	n := max(1, handoffs)
	return &Waiters{
		PerSecond: handoffs / took.Seconds(), ClientCPU: stats.Micros(own) / n, ServerCPU: stats.Micros(servers) / n,
		Allocs: float64(after.Mallocs-before.Mallocs) / n, Failed: int(failed.Load()),
	}, nil
}

func pause(ctx context.Context, long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
