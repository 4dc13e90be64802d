package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/quorum"
)

// acquiring bounds the leases that are acquired at a time, so that the servers keep up.
const acquiring = 128

// keepLeases acquires leases and keeps them alive. It waits until extensions are due, and returns what measures them.
func keepLeases(task Task) (measure func() Result, err error) {
	ctx := context.Background()
	// The lifetime of connections has to fit into MaxTTL beside the TTL. 30 s is the default.
	locks, err := openRedlock(task.Addrs, quorum.Config{TTL: task.Long, MaxTTL: max(30*time.Second, task.Long+10*time.Second)})
	if err != nil {
		return nil, err
	}
	fill(ctx, locks)
	leases := make([]*quorum.Lease, task.Leases)
	keys := make([]string, task.Leases) // they are part of both measurements of the heap
	for i := range keys {
		keys[i] = fmt.Sprintf("held-%d", i)
	}
	without, began := heap(), time.Now()
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
	err = all.Wait()
	acquired := time.Since(began)
	// The first extensions are due after a sixth to a third of the validity.
	time.Sleep(task.Long / 3)
	return func() (result Result) {
		result.Usage = measured(func() { time.Sleep(task.Long) })
		result.Heap, result.Acquired = heap()-without, acquired
		for _, lease := range leases {
			if lease.Err() != nil {
				result.Lost++
			}
		}
		runtime.KeepAlive(keys)
		return result
	}, err
}

// fill makes connections, buffers and the Coordinator's goroutines, before the baseline is taken: it acquires,
// keeps and releases some leases. On a machine that is busy with other things some fail, which does not
// matter here.
func fill(ctx context.Context, locks *quorum.Coordinator) {
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

// heap returns the median of what several garbage collections leave: each keeps what was allocated while it
// ran, which is more or less of the extensions that are under way. The first collection finds the
// garbage of the second, so it does not count.
func heap() float64 {
	var sizes []float64
	for n := range 6 {
		runtime.GC()
		if n == 0 {
			continue
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		sizes = append(sizes, float64(m.HeapAlloc))
		time.Sleep(50 * time.Millisecond)
	}
	return median(sizes)
}
