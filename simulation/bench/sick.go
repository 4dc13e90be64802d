package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Sickness is the cost of one faulty server out of five.
type Sickness struct {
	Contender string  `json:"contender"`
	State     string  `json:"state"` // "healthy", "slow", "hung", "killed"
	Workers   int     `json:"workers"`
	P50       float64 `json:"p50_ms" join:"median"`
	P99       float64 `json:"p99_ms" join:"median"`
	Failed    int     `json:"failed" join:"sum"`
	// Goroutines is the largest number of them in this process.
	Goroutines int `json:"goroutines" join:"max"`
}

// slowness is how far away the slow server is.
const slowness = 50 * time.Millisecond

// measuredSickness measures each contender that uses a majority, on servers of its own because of
// the keys that it leaves there: this library in several rounds, the others once, because it
// takes some of them many seconds.
func measuredSickness(m measurement, results *Results) error {
	for _, workers := range []int{1, 128} {
		for _, state := range []string{"healthy", "slow", "hung", "killed"} {
			for _, c := range contenders() {
				if !c.sick {
					continue
				}
				var all []Sickness
				for round := range m.options.times {
					if round > 0 && !c.ours {
						break
					}
					m.progress(fmt.Sprintf("one of five %s, %d workers, round %d of %d: %s", state, workers, round+1, m.options.times, c.name))
					one, err := measureSickness(m.ctx, c, state, workers, m.options.long)
					if err != nil {
						return err
					}
					all = append(all, one)
				}
				results.Sick = append(results.Sick, stats.Join(all))
			}
		}
	}
	return nil
}

func measureSickness(ctx context.Context, c contender, state string, workers int, long time.Duration) (Sickness, error) {
	result := Sickness{Contender: c.name, State: state, Workers: workers}
	f, err := startFleet(ctx, 5)
	if err != nil {
		return result, err
	}
	defer func() { _ = f.Close() }()
	addrs := f.addrs()
	sick := f[0]
	if state == "slow" {
		far, err := redisproc.NewLink(sick.Addr())
		if err != nil {
			return result, err
		}
		far.Far(slowness)
		defer func() { _ = far.Close() }()
		addrs[0] = far.Addr()
	}
	l, err := c.open(addrs)
	if err != nil {
		return result, err
	}
	defer l.close()
	if _, failed := work(ctx, l, workers, long/4); failed > 0 {
		return result, fmt.Errorf("%s failed %d times before a server was %s", c.name, failed, state)
	}
	switch state {
	case "hung":
		if err := sick.Pause(); err != nil {
			return result, err
		}
		defer func() { _ = sick.Resume() }() // so that it can be stopped
	case "killed":
		sick.Kill()
	}
	most := countGoroutines()
	cycles, failed := work(ctx, l, workers, long)
	result.Goroutines, result.Failed = most(), failed
	slices.Sort(cycles)
	result.P50, result.P99 = stats.Millis(stats.Quantile(cycles, 0.5)), stats.Millis(stats.Quantile(cycles, 0.99))
	return result, nil
}

// countGoroutines samples the number of goroutines until the returned function is called, which
// returns the largest.
func countGoroutines() func() int {
	done, most := make(chan struct{}), make(chan int)
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		n := 0
		for {
			n = max(n, runtime.NumGoroutine())
			select {
			case <-done:
				most <- n
				return
			case <-ticker.C:
			}
		}
	}()
	return func() int {
		close(done)
		return <-most
	}
}
