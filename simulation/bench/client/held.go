package client

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Held is the cost of leases that are kept alive.
type Held struct {
	Leases int     `json:"leases"`
	By     string  `json:"kept_by"` // "Do" or "KeepAlive"
	TTL    float64 `json:"ttl_seconds"`
	// Seconds is how long the processor times were measured: at least a TTL.
	Seconds float64 `json:"seconds" join:"median"`
	// Heap and Stacks are the live memory per lease, in bytes, beyond what the same
	// goroutines take without a lease.
	Heap   float64 `json:"heap_bytes_per_lease" join:"median"`
	Stacks float64 `json:"stack_bytes_per_lease" join:"median"`
	// Goroutines is the number of goroutines beyond the callers': the median of several
	// moments, and the largest.
	Goroutines     int `json:"goroutines" join:"median"`
	GoroutinesMost int `json:"goroutines_most" join:"max"`
	// ClientCPU and ServerCPU are shares of one core, the latter of all servers.
	ClientCPU float64 `json:"client_cpu_cores" join:"median"`
	ServerCPU float64 `json:"server_cpu_cores" join:"median"`
	// Acquired is how long it took to acquire the leases, in seconds.
	Acquired float64 `json:"acquired_in_seconds" join:"median"`
	Lost     int     `json:"leases_lost" join:"sum"`
}

// acquiring bounds the leases that are acquired at a time, so that the servers keep up.
const acquiring = 128

// memory is what this process has in use after a garbage collection.
type memory struct{ heap, stacks float64 }

// live returns the medians of several collections: each keeps what was allocated while it ran,
// which is more or less of the extensions that are under way. The first collection finds the
// garbage of the second and shrinks stacks, so it does not count.
func live(ctx context.Context) (memory, error) {
	var heap, stacks []float64
	for n := range 6 {
		runtime.GC()
		if n == 0 {
			continue
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap, stacks = append(heap, float64(m.HeapAlloc)), append(stacks, float64(m.StackInuse))
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return memory{}, err
		}
	}
	return memory{stats.Median(heap), stats.Median(stacks)}, nil
}

// holders are the callers whose leases are kept alive. Their goroutines exist before there is
// a lease, so that they are part of the baseline.
type holders struct {
	locks  *quorum.Coordinator
	begin  chan struct{} // has an element for each lease that may be acquired now
	ended  chan struct{} // closed when the leases are to end
	held   sync.WaitGroup
	gone   sync.WaitGroup
	lost   atomic.Int64
	mu     sync.Mutex
	errs   []error
	leases []*quorum.Lease // kept by KeepAlive
}

// do holds a lease with Do until the end.
func (h *holders) do(ctx context.Context, key string) {
	defer h.gone.Done()
	select {
	case <-h.begin:
	case <-h.ended:
		return
	}
	acquired := false
	err := h.locks.Do(ctx, key, func(ctx context.Context, _ *quorum.Lease) error {
		acquired = true
		h.begin <- struct{}{} // never blocks: the element came from there
		h.held.Done()
		select {
		case <-h.ended:
		case <-ctx.Done():
			h.lost.Add(1)
		}
		return nil
	})
	if !acquired {
		h.begin <- struct{}{}
		h.fail(err)
		h.held.Done()
	}
}

func (h *holders) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

func measureHeld(ctx context.Context, locks *quorum.Coordinator, task Task) (*Held, error) {
	result := &Held{Leases: task.Leases, By: task.By, TTL: task.TTL.Seconds()}
	h := &holders{locks: locks, begin: make(chan struct{}, acquiring), ended: make(chan struct{})}
	// Connections, buffers and the Coordinator's goroutines exist before the baseline is
	// taken.
	warmUp(ctx, locks)
	keys := make([]string, task.Leases)
	for i := range keys {
		keys[i] = fmt.Sprintf("held-%d", i)
	}
	h.held.Add(len(keys))
	var end sync.Once
	stop := func() { end.Do(func() { close(h.ended) }) }
	defer h.gone.Wait()
	defer stop()
	if task.By == "Do" {
		h.gone.Add(len(keys))
		for _, key := range keys {
			go h.do(ctx, key)
		}
	} else {
		h.leases = make([]*quorum.Lease, len(keys))
	}
	before, err := live(ctx)
	if err != nil {
		return nil, err
	}
	goroutines := runtime.NumGoroutine()

	began := time.Now()
	if task.By == "Do" {
		for range acquiring {
			h.begin <- struct{}{}
		}
	} else {
		h.keepAlive(ctx, keys)
	}
	h.held.Wait()
	result.Acquired = time.Since(began).Seconds()
	h.mu.Lock()
	err = errors.Join(h.errs[:min(3, len(h.errs))]...)
	h.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("%d of %d leases were not acquired: %w", len(h.errs), len(keys), err)
	}

	// The first extensions are due after a sixth to a third of the validity.
	if err := pause(ctx, task.TTL/3); err != nil {
		return nil, err
	}
	from, err := used(task.Addrs)
	if err != nil {
		return nil, err
	}
	var counts []float64
	for until := from.at.Add(max(task.Long, task.TTL)); time.Now().Before(until); {
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
		n := runtime.NumGoroutine() - goroutines
		counts = append(counts, float64(n))
		result.GoroutinesMost = max(result.GoroutinesMost, n)
	}
	to, err := used(task.Addrs)
	if err != nil {
		return nil, err
	}
	after, err := live(ctx)
	if err != nil {
		return nil, err
	}
	took, own, servers := to.at.Sub(from.at), to.client-from.client, to.servers-from.servers
	result.Seconds = took.Seconds()
	result.ClientCPU, result.ServerCPU = own.Seconds()/took.Seconds(), servers.Seconds()/took.Seconds()
	result.Goroutines = int(stats.Median(counts))
	n := float64(len(keys))
	result.Heap, result.Stacks = (after.heap-before.heap)/n, (after.stacks-before.stacks)/n
	result.Lost = int(h.lost.Load())
	for _, lease := range h.leases {
		if lease.Err() != nil {
			result.Lost++
		}
	}
	runtime.KeepAlive(keys) // part of both measurements
	return result, nil
}

// keepAlive acquires the leases. They end with the Coordinator.
func (h *holders) keepAlive(ctx context.Context, keys []string) {
	var all sync.WaitGroup
	for w := range acquiring {
		all.Go(func() {
			for i := w; i < len(keys); i += acquiring {
				lease, err := h.locks.Acquire(ctx, keys[i])
				if err != nil {
					h.fail(err)
				} else {
					lease.KeepAlive()
					h.leases[i] = lease
				}
				h.held.Done()
			}
		})
	}
	all.Wait()
}

// warmUp acquires, keeps and releases some leases. On a machine that is busy with other things
// some fail, which does not matter here.
func warmUp(ctx context.Context, locks *quorum.Coordinator) {
	var all sync.WaitGroup
	for w := range acquiring {
		all.Go(func() {
			for n := range 20 {
				if lease, err := locks.Acquire(ctx, fmt.Sprintf("warm-%d-%d", w, n)); err == nil {
					lease.KeepAlive()
					_ = lease.Release(ctx)
				}
			}
		})
	}
	all.Wait()
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
