package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
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
	Worst     float64 `json:"worst_ms" join:"max"`
	Failed    int     `json:"failed" join:"sum"`
	// Goroutines and HeapMB are the maxima.
	Goroutines int     `json:"goroutines" join:"max"`
	HeapMB     float64 `json:"heap_mb" join:"max"`
	// LeftThere counts the locks' keys on the four healthy servers right after the last
	// release, LeftLater those on the faulty one, a second after its recovery.
	LeftThere int `json:"keys_left_on_healthy" join:"sum"`
	LeftLater int `json:"keys_left_on_sick" join:"sum"`
}

// slowness is how far away the slow server is.
const slowness = 50 * time.Millisecond

// measuredSickness measures each contender that uses a majority, on servers of its own because of
// the keys that it leaves there: this library in several rounds, the others once, because it
// takes some of them many seconds.
func measuredSickness(m measurement, results *Results) error {
	results.describe()
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

	watch := watchSize()
	cycles, failed := work(ctx, l, workers, long)
	result.Goroutines, result.HeapMB = watch()
	slices.Sort(cycles)
	result.P50, result.P99 = stats.Millis(stats.Quantile(cycles, 0.5)), stats.Millis(stats.Quantile(cycles, 0.99))
	result.Worst, result.Failed = stats.Millis(stats.Quantile(cycles, 1)), failed

	locks := make([]string, workers)
	for w := range locks {
		locks[w] = fmt.Sprintf("worker-%d", w)
	}
	for _, server := range f[1:] {
		n, err := keys(server, locks)
		if err != nil {
			return result, err
		}
		result.LeftThere += n
	}
	result.LeftLater, err = heal(ctx, state, sick, locks)
	return result, err
}

// healing is how long clients have to delete what they left on the faulty server. Tests set it.
var healing = time.Second

// heal repairs the faulty server and counts the keys that are left there.
func heal(ctx context.Context, state string, sick *redisproc.Server, locks []string) (int, error) {
	switch state {
	case "hung":
		if err := sick.Resume(); err != nil {
			return 0, err
		}
	case "killed":
		if err := sick.Restart(ctx); err != nil {
			return 0, err
		}
	}
	for began := time.Now(); ; {
		n, err := keys(sick, locks)
		if err != nil || n == 0 || time.Since(began) > healing {
			return n, err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// watchSize samples this process until the returned function is called, which returns the
// maxima.
func watchSize() func() (goroutines int, heapMB float64) {
	done := make(chan struct{})
	var sampling sync.WaitGroup
	most, heap := 0, 0.0
	sample := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most, heap = max(most, runtime.NumGoroutine()), max(heap, float64(m.HeapAlloc)/(1<<20))
	}
	sampling.Go(func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				sample()
			}
		}
	})
	return func() (int, float64) {
		close(done)
		sampling.Wait()
		sample()
		return most, heap
	}
}
