package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// Sickness is what one server of five costs that is out of order.
type Sickness struct {
	Contender string  `json:"contender"`
	State     string  `json:"state"` // "healthy", "slow", "hung", "killed"
	Workers   int     `json:"workers"`
	PerSecond float64 `json:"cycles_per_second"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Worst     float64 `json:"worst_ms"`
	Failed    int     `json:"failed"`
	// Goroutines and HeapMB are the most that were seen.
	Goroutines int     `json:"goroutines"`
	HeapMB     float64 `json:"heap_mb"`
	// LeftThere counts locks' keys on the four healthy servers right after the last
	// release, LeftLater those on the sick one, one second after it answers again.
	LeftThere int `json:"keys_left_on_healthy"`
	LeftLater int `json:"keys_left_on_sick"`
}

// slowness is how late the slow server's answers are.
const slowness = 50 * time.Millisecond

// sickness measures each contender that asks a majority, on servers of its own
// because of what it leaves on them: the others once, for what is asked of them takes
// some of them many seconds, and this library in several rounds.
func sickness(ctx context.Context, list []contender, times int, long time.Duration, progress func(string)) ([]Sickness, error) {
	var all []Sickness
	for _, workers := range []int{1, 128} {
		measured := map[[2]string][]Sickness{}
		states := []string{"healthy", "slow", "hung", "killed"}
		for round := range times {
			for _, state := range states {
				for _, c := range list {
					if !c.sick || round > 0 && !c.ours {
						continue
					}
					progress(fmt.Sprintf("one of five %s, %d workers, round %d of %d: %s", state, workers, round+1, times, c.name))
					one, err := measureSickness(ctx, c, state, workers, long)
					if err != nil {
						return nil, err
					}
					of := [2]string{state, c.name}
					measured[of] = append(measured[of], one)
				}
			}
		}
		for _, state := range states {
			for _, c := range list {
				if of := measured[[2]string{state, c.name}]; len(of) > 0 {
					all = append(all, joinSickness(of))
				}
			}
		}
	}
	return all, nil
}

// joinSickness has the medians of what was measured in several rounds, the worst of what
// is bad at its worst, and the sums of what should not be at all.
func joinSickness(of []Sickness) Sickness {
	joined := of[0]
	for _, s := range of[1:] {
		joined.Worst = max(joined.Worst, s.Worst)
		joined.Goroutines, joined.HeapMB = max(joined.Goroutines, s.Goroutines), max(joined.HeapMB, s.HeapMB)
		joined.Failed += s.Failed
		joined.LeftThere += s.LeftThere
		joined.LeftLater += s.LeftLater
	}
	joined.PerSecond = medianOf(of, func(s Sickness) float64 { return s.PerSecond })
	joined.P50 = medianOf(of, func(s Sickness) float64 { return s.P50 })
	joined.P99 = medianOf(of, func(s Sickness) float64 { return s.P99 })
	return joined
}

func measureSickness(ctx context.Context, c contender, state string, workers int, long time.Duration) (Sickness, error) {
	result := Sickness{Contender: c.name, State: state, Workers: workers}
	f, err := startFleet(ctx, 5)
	if err != nil {
		return result, err
	}
	defer func() { _ = f.Close() }()
	addrs := f.addrs()
	slow, err := newSlowLink(addrs[0])
	if err != nil {
		return result, err
	}
	defer slow.close()
	addrs[0] = slow.addr()
	l, err := c.open(addrs)
	if err != nil {
		return result, err
	}
	defer l.close()
	if _, failed := work(ctx, l, workers, long/4); failed > 0 {
		return result, fmt.Errorf("%s failed %d times on healthy servers", c.name, failed)
	}
	sick := f[0]
	switch state {
	case "slow":
		slow.setDelay(slowness)
	case "hung":
		if err := sick.Pause(); err != nil {
			return result, err
		}
		defer func() { _ = sick.Resume() }() // or it could not be ended
	case "killed":
		sick.Kill()
	}

	watch := watchSize()
	began := time.Now()
	cycles, failed := work(ctx, l, workers, long)
	took := time.Since(began)
	result.Goroutines, result.HeapMB = watch()
	slices.Sort(cycles)
	result.PerSecond = float64(len(cycles)) / took.Seconds()
	result.P50, result.P99 = millis(quantile(cycles, 0.5)), millis(quantile(cycles, 0.99))
	result.Worst, result.Failed = millis(quantile(cycles, 1)), failed

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
	result.LeftLater, err = recover1(ctx, state, sick, slow, locks)
	return result, err
}

// recover1 heals the sick server and looks at it a second later.
func recover1(ctx context.Context, state string, sick *redisproc.Server, slow *slowLink, locks []string) (int, error) {
	switch state {
	case "slow":
		slow.setDelay(0)
	case "hung":
		if err := sick.Resume(); err != nil {
			return 0, err
		}
	case "killed":
		if err := sick.Restart(ctx); err != nil {
			return 0, err
		}
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return keys(sick, locks)
}

// watchSize samples this process until the returned function is called, which
// gives the largest numbers seen.
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
