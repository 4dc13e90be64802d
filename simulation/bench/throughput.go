package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/simulation/bench/client"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Throughput is the result of one contender with workers that each acquire and release a lock
// of their own repeatedly.
type Throughput struct {
	Contender string `json:"contender"`
	Workers   int    `json:"workers"`
	client.Cycles
	// Ratio is PerSecond divided by the first contender's in the same round: the median of
	// all rounds. RatioLow and RatioHigh are its interval.
	Ratio     float64      `json:"ratio"`
	RatioLow  float64      `json:"ratio_low"`
	RatioHigh float64      `json:"ratio_high"`
	Rounds    stats.Rounds `json:"rounds,omitempty"`
}

// measureThroughput runs workers for a time.
func measureThroughput(ctx context.Context, c contender, f fleet, workers int, long time.Duration) (client.Cycles, error) {
	if err := f.flush(); err != nil {
		return client.Cycles{}, err
	}
	b, err := c.start(f.addrs(), workers)
	if err != nil {
		return client.Cycles{}, fmt.Errorf("opening %s: %w", c.name, err)
	}
	defer b.close()
	cycles, err := client.MeasureWork(f.addrs(), long, func(long time.Duration) ([]time.Duration, int) { return b.work(ctx, workers, long) })
	return cycles, errors.Join(err, ctx.Err())
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

// measuredThroughput measures all contenders in turns, in several rounds.
func measuredThroughput(m measurement, results *Results) error {
	list, times := m.list, m.options.times
	m.describe(results)
	for _, workers := range m.options.workers {
		all, err := inTurns(times, len(list), func(round, i int) (client.Cycles, error) {
			m.progress(fmt.Sprintf("%d workers, round %d of %d: %s", workers, round+1, times, list[i].name))
			return measureThroughput(m.ctx, list[i], m.fleet[:servers], workers, m.options.long)
		})
		if err != nil {
			return err
		}
		base := stats.RoundsOf(all[0])["cycles_per_second"]
		for i, of := range all {
			one := Throughput{Contender: list[i].name, Workers: workers, Cycles: stats.Join(of), Rounds: stats.RoundsOf(of)}
			ratios := stats.Ratios(one.Rounds["cycles_per_second"], base)
			one.Ratio = stats.Median(ratios)
			one.RatioLow, one.RatioHigh = stats.Interval(ratios)
			results.Throughput = append(results.Throughput, one)
		}
	}
	return nil
}
