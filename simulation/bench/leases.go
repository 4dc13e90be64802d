package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/quorum"
)

// heldLeases are kept alive.
type heldLeases struct {
	task Task
	redlocker
	before   float64 // the heap without the leases
	acquired time.Duration
	keys     []string // part of both measurements of the heap
	leases   []*quorum.Lease
}

func openHeld(task Task) (*heldLeases, error) {
	// The lifetime of connections has to fit into MaxTTL beside the TTL. 30 s is the default.
	l, err := openRedlock(task.Addrs, quorum.Config{TTL: task.TTL, MaxTTL: max(30*time.Second, task.TTL+10*time.Second)})
	return &heldLeases{task: task, redlocker: l, leases: make([]*quorum.Lease, task.Leases)}, err
}

// acquiring bounds the leases that are acquired at a time, so that the servers keep up.
const acquiring = 128

// warmUp acquires the leases, and waits until extensions are due.
func (h *heldLeases) warmUp(ctx context.Context) error {
	h.fill(ctx)
	for i := range h.leases {
		h.keys = append(h.keys, fmt.Sprintf("held-%d", i))
	}
	h.before = heap()
	began := time.Now()
	var all errgroup.Group
	all.SetLimit(acquiring)
	for i, key := range h.keys {
		all.Go(func() (err error) {
			if h.leases[i], err = h.Acquire(ctx, key); err == nil {
				h.leases[i].KeepAlive()
			}
			return err
		})
	}
	err := all.Wait()
	h.acquired = time.Since(began)
	// The first extensions are due after a sixth to a third of the validity.
	time.Sleep(h.task.TTL / 3)
	return err
}

// fill makes connections, buffers and the Coordinator's goroutines, before the baseline is taken: it acquires,
// keeps and releases some leases. On a machine that is busy with other things some fail, which does not
// matter here.
func (h *heldLeases) fill(ctx context.Context) {
	var all errgroup.Group
	for i := range acquiring {
		all.Go(func() error {
			for n := range 20 {
				if lease, err := h.Acquire(ctx, fmt.Sprintf("warm-%d-%d", i, n)); err == nil {
					lease.KeepAlive()
					_ = lease.Release(ctx)
				}
			}
			return nil
		})
	}
	_ = all.Wait()
}

func (h *heldLeases) measure(context.Context) (result Result) {
	result.Usage = measured(func() { time.Sleep(h.task.Long) })
	result.Heap, result.Acquired = heap()-h.before, h.acquired
	for _, lease := range h.leases {
		if lease.Err() != nil {
			result.Lost++
		}
	}
	runtime.KeepAlive(h)
	return result
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
