package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// workers acquire and release, again and again.
type workers struct {
	task   Task
	locker locker
	failed int // while they warmed up
}

func (ws *workers) close() { ws.locker.close() }

// warmUp sets up connections and scripts.
func (ws *workers) warmUp(ctx context.Context) error {
	ws.failed = ws.work(ctx, ws.task.Long/4).Failed
	return nil
}

func (ws *workers) measure(ctx context.Context) (result Result) {
	used := measured(func() { result = ws.work(ctx, ws.task.Long) })
	result.Usage = used
	result.Failed += ws.failed
	return result
}

// patience is how long workers may take beyond their time. A library that loses a notification
// hangs forever, and the others are still to be measured.
const patience = 15 * time.Second

// worker is what one worker has done.
type worker struct {
	mu      sync.Mutex // it may hang, and go on after the end
	cycles  []time.Duration
	longest time.Duration
	failed  int
	ended   bool
}

// work has the workers repeat a cycle for a time.
func (ws *workers) work(ctx context.Context, long time.Duration) (result Result) {
	end := time.Now().Add(long)
	if ws.task.Keys == 1 { // a wait at the end is cancelled, and does not count
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	all := make([]worker, ws.task.Workers)
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), uint64(end.UnixNano())))
			// At least once, also if it starts late on a busy machine.
			for first := true; first || time.Now().Before(end); first = false {
				ws.cycle(ctx, &all[i], i, random)
			}
			all[i].mu.Lock()
			defer all[i].mu.Unlock()
			all[i].ended = true
		})
	}
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(long + patience):
	}
	for i := range all {
		w := &all[i]
		w.mu.Lock()
		result.Cycles = append(result.Cycles, slices.Clone(w.cycles))
		result.Longest = max(result.Longest, w.longest)
		result.Failed += w.failed
		if !w.ended {
			result.Failed++
		}
		w.mu.Unlock()
	}
	return result
}

// cycle acquires and releases once.
func (ws *workers) cycle(ctx context.Context, w *worker, number int, random *rand.Rand) {
	name := fmt.Sprintf("worker-%d", number)
	if ws.task.Keys > 0 {
		name = fmt.Sprintf("key-%d", random.IntN(ws.task.Keys))
	}
	began := time.Now()
	unlock, err := ws.locker.lock(ctx, name)
	waited := time.Since(began)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return
	}
	if err == nil {
		if ws.task.Hold > 0 {
			time.Sleep(ws.task.Hold)
		}
		err = unlock(context.WithoutCancel(ctx))
	}
	took := time.Since(began)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failed++
		return
	}
	w.cycles, w.longest = append(w.cycles, took), max(w.longest, waited)
}
