package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Throughput is the result of one contender with workers that each acquire and release a lock
// of their own repeatedly.
type Throughput struct {
	Contender string  `json:"contender"`
	Workers   int     `json:"workers"`
	PerSecond float64 `json:"cycles_per_second" join:"median"`
	P50       float64 `json:"p50_us" join:"median"`
	P99       float64 `json:"p99_us" join:"median"`
	// ClientCPU and ServerCPU are processor times, the latter of all servers.
	ClientCPU float64 `json:"client_cpu_us_per_cycle" join:"median"`
	ServerCPU float64 `json:"server_cpu_us_per_cycle" join:"median"`
	Allocs    float64 `json:"allocs_per_cycle" join:"median"`
	Failed    int     `json:"failed" join:"sum"`
	// Ratio is PerSecond divided by the first contender's in the same round: the median of
	// all rounds. RatioLow and RatioHigh are its interval.
	Ratio     float64      `json:"ratio"`
	RatioLow  float64      `json:"ratio_low"`
	RatioHigh float64      `json:"ratio_high"`
	Rounds    stats.Rounds `json:"rounds,omitempty"`
}

// measureThroughput runs workers for a time.
func measureThroughput(ctx context.Context, c contender, f fleet, workers int, long time.Duration) (Throughput, error) {
	if err := f.flush(); err != nil {
		return Throughput{}, err
	}
	b, err := c.start(f.addrs(), workers)
	if err != nil {
		return Throughput{}, fmt.Errorf("opening %s: %w", c.name, err)
	}
	defer b.close()
	// Connections, scripts and pools are set up before the measurement.
	_, warmFailed := b.work(ctx, workers, long/4)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	servers, err := f.cpu()
	if err != nil {
		return Throughput{}, err
	}
	cpu, began := ownCPU(), time.Now()
	cycles, failed := b.work(ctx, workers, long)
	took, cpuUsed := time.Since(began), ownCPU()-cpu
	serversAfter, err := f.cpu()
	if err != nil {
		return Throughput{}, err
	}
	runtime.ReadMemStats(&after)
	slices.Sort(cycles)
	n := float64(max(1, len(cycles)))
	return Throughput{
		Contender: c.name, Workers: workers, Failed: failed + warmFailed,
		PerSecond: float64(len(cycles)) / took.Seconds(),
		P50:       stats.Micros(stats.Quantile(cycles, 0.5)), P99: stats.Micros(stats.Quantile(cycles, 0.99)),
		ClientCPU: stats.Micros(cpuUsed) / n, ServerCPU: (serversAfter - servers) * 1e6 / n,
		Allocs: float64(after.Mallocs-before.Mallocs) / n,
	}, ctx.Err()
}

// patience is how long workers may take beyond their time. A library that loses a notification
// hangs forever, and the others are still to be measured.
const patience = 15 * time.Second

// work has workers acquire and release locks of their own, and returns the durations of the
// cycles. Workers that hang count as failed.
func work(ctx context.Context, l locker, workers int, long time.Duration) (cycles []time.Duration, failed int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(long)
	missing := workers
	for w := range workers {
		name := fmt.Sprintf("worker-%d", w)
		all.Go(func() {
			mine, bad := make([]time.Duration, 0, 1<<14), 0
			for now := time.Now(); now.Before(end) && ctx.Err() == nil; {
				if cycle(ctx, l, name) != nil {
					bad++
				}
				then := time.Now()
				mine = append(mine, then.Sub(now))
				now = then
			}
			mu.Lock()
			defer mu.Unlock()
			cycles, failed, missing = append(cycles, mine...), failed+bad, missing-1
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	timeout := time.NewTimer(long + patience)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(cycles), failed + missing
}

func cycle(ctx context.Context, l locker, name string) error {
	unlock, err := l.lock(ctx, name)
	if err != nil {
		return err
	}
	return unlock(ctx)
}

// ownCPU returns the processor time of this process.
func ownCPU() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// rounds measures all contenders in turns, in several rounds, and returns the medians.
func rounds(ctx context.Context, f fleet, list []contender, workers, times int, long time.Duration, progress func(string)) ([]Throughput, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(c contender) bool { return c.servers == 0 })
	all, err := inTurns(times, len(list), func(round, i int) (Throughput, error) {
		progress(fmt.Sprintf("%d workers, round %d of %d: %s", workers, round+1, times, list[i].name))
		return measureThroughput(ctx, list[i], f, workers, long)
	})
	if err != nil {
		return nil, err
	}
	result := make([]Throughput, len(list))
	for i, of := range all {
		result[i] = stats.Join(of)
	}
	for i := range result {
		ratios := stats.Ratios(result[i].Rounds["cycles_per_second"], result[0].Rounds["cycles_per_second"])
		result[i].Ratio = stats.Median(ratios)
		result[i].RatioLow, result[i].RatioHigh = stats.Interval(ratios)
	}
	return result, nil
}
