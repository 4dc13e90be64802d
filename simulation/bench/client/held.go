package client

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Held is the cost of leases that are kept alive.
type Held struct {
	Leases int     `json:"leases"`
	TTL    float64 `json:"ttl_seconds"`
	// Seconds is how long the processor times were measured: at least a TTL.
	Seconds float64 `json:"seconds" join:"median"`
	// Heap is the live memory per lease, in bytes, beyond that of the process without leases.
	Heap float64 `json:"heap_bytes_per_lease" join:"median"`
	// ClientCPU and ServerCPU are shares of one core, the latter of all servers.
	ClientCPU float64 `json:"client_cpu_cores" join:"median"`
	ServerCPU float64 `json:"server_cpu_cores" join:"median"`
	// Acquired is how long it took to acquire the leases, in seconds.
	Acquired float64 `json:"acquired_in_seconds" join:"median"`
	Lost     int     `json:"leases_lost" join:"sum"`
}

// acquiring bounds the leases that are acquired at a time, so that the servers keep up.
const acquiring = 128

// heap returns the median of what several garbage collections leave: each keeps what was allocated while it
// ran, which is more or less of the extensions that are under way. The first collection finds the
// garbage of the second, so it does not count.
func heap(ctx context.Context) (float64, error) {
	var sizes []float64
	for n := range 6 {
		runtime.GC()
		if n == 0 {
			continue
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		sizes = append(sizes, float64(m.HeapAlloc))
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return stats.Median(sizes), nil
}

func measureHeld(ctx context.Context, locks *quorum.Coordinator, task Task) (*Held, error) {
	// Connections, buffers and the Coordinator's goroutines exist before the baseline is taken.
	warmUp(ctx, locks)
	keys, leases := make([]string, task.Leases), make([]*quorum.Lease, task.Leases)
	for i := range keys {
		keys[i] = fmt.Sprintf("held-%d", i)
	}
	before, err := heap(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := keepAlive(ctx, locks, keys, leases); err != nil {
		return nil, err
	}
	acquired := time.Since(began)
	// The first extensions are due after a sixth to a third of the validity.
	if err := pause(ctx, task.TTL/3); err != nil {
		return nil, err
	}
	from, err := used(task.Addrs)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, max(task.Long, task.TTL)); err != nil {
		return nil, err
	}
	to, err := used(task.Addrs)
	if err != nil {
		return nil, err
	}
	after, err := heap(ctx)
	if err != nil {
		return nil, err
	}
	took := to.at.Sub(from.at).Seconds()
	result := &Held{
		Leases: task.Leases, TTL: task.TTL.Seconds(), Seconds: took, Heap: (after - before) / float64(task.Leases),
		ClientCPU: (to.client - from.client).Seconds() / took, ServerCPU: (to.servers - from.servers).Seconds() / took,
		Acquired: acquired.Seconds(),
	}
	for _, lease := range leases {
		if lease.Err() != nil {
			result.Lost++
		}
	}
	runtime.KeepAlive(keys) // part of both measurements
	return result, nil
}

// keepAlive acquires the leases. They end with the Coordinator.
func keepAlive(ctx context.Context, locks *quorum.Coordinator, keys []string, leases []*quorum.Lease) error {
	var all errgroup.Group
	all.SetLimit(acquiring)
	for i, key := range keys {
		all.Go(func() (err error) {
			if leases[i], err = locks.Acquire(ctx, key); err == nil {
				leases[i].KeepAlive()
			}
			return err
		})
	}
	return all.Wait()
}

// warmUp acquires, keeps and releases some leases. On a machine that is busy with other things
// some fail, which does not matter here.
func warmUp(ctx context.Context, locks *quorum.Coordinator) {
	var all errgroup.Group
	for i := range acquiring {
		all.Go(func() error {
			for n := range 20 {
				if lease, err := locks.Acquire(ctx, fmt.Sprintf("warm-%d-%d", i, n)); err == nil {
					lease.KeepAlive()
					_ = lease.Release(ctx)
				}
			}
			return nil
		})
	}
	_ = all.Wait()
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
