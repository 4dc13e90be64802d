package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	// Ratio is PerSecond divided by the first contender's in the same round.
	stats.Ratio
}

// measureThroughput runs workers for a time.
func measureThroughput(ctx context.Context, c contender, f fleet, workers int, long time.Duration) (client.Cycles, error) {
	if err := f.flush(); err != nil {
		return client.Cycles{}, err
	}
	l, err := c.open(f.addrs())
	if err != nil {
		return client.Cycles{}, fmt.Errorf("opening %s: %w", c.name, err)
	}
	defer l.close()
	cycles, err := client.MeasureWork(f.addrs(), long, func(long time.Duration) ([]time.Duration, int) { return work(ctx, l, workers, long) })
	return cycles, errors.Join(err, ctx.Err())
}

// work has workers acquire and release locks of their own.
func work(ctx context.Context, l locker, workers int, long time.Duration) (cycles []time.Duration, failed int) {
	return client.Work(ctx, workers, long, func(worker int, _ *rand.Rand) error {
		unlock, err := l.lock(ctx, fmt.Sprintf("worker-%d", worker))
		if err != nil {
			return err
		}
		return unlock(ctx)
	})
}

// measuredThroughput measures all contenders in turns, in several rounds.
func measuredThroughput(m measurement, results *Results) error {
	list, times := contenders(), m.options.times
	for _, workers := range m.options.workers {
		all, err := inTurns(times, len(list), func(round, i int) (client.Cycles, error) {
			m.progress(fmt.Sprintf("%d workers, round %d of %d: %s", workers, round+1, times, list[i].name))
			return measureThroughput(m.ctx, list[i], m.fleet[:servers], workers, m.options.long)
		})
		if err != nil {
			return err
		}
		perSecond := func(i int) []float64 {
			return stats.Each(all[i], func(c client.Cycles) float64 { return c.PerSecond })
		}
		for i, of := range all {
			results.Throughput = append(results.Throughput, Throughput{list[i].name, workers, stats.Join(of), stats.RatioOf(perSecond(i), perSecond(0))})
		}
	}
	return nil
}
