package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// cycles has workers acquire and release, again and again, until connections and scripts are set up. It returns what
// measures them.
func cycles(task Task, lock locker) (measure func() Result) {
	warm := work(task, lock, task.Long/4)
	return func() (result Result) {
		used := measured(func() { result = work(task, lock, task.Long) })
		result.Usage = used
		result.Failed += warm.Failed
		return result
	}
}

// patience is how long workers may take beyond their time. A library that loses a notification
// hangs forever, and the others are still to be measured.
const patience = 15 * time.Second

// worker is what one worker has done.
type worker struct {
	cycles  []time.Duration
	longest time.Duration
	failed  int
}

// work has the workers repeat a cycle for a time. What a worker that hangs has done before doesn't count.
func work(task Task, lock locker, long time.Duration) (result Result) {
	end := time.Now().Add(long)
	ctx := context.Background()
	if task.Keys == 1 { // a wait at the end is cancelled, and does not count
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	done := make(chan worker, task.Workers)
	for number := range task.Workers {
		go func() {
			var w worker
			random := rand.New(rand.NewPCG(uint64(number), uint64(end.UnixNano())))
			// At least once, also if it starts late on a busy machine.
			for first := true; first || time.Now().Before(end); first = false {
				name := fmt.Sprintf("worker-%d", number)
				if task.Keys > 0 {
					name = fmt.Sprintf("key-%d", random.IntN(task.Keys))
				}
				w.cycle(ctx, lock, name, task.Hold)
			}
			done <- w
		}()
	}
	patient, cancel := context.WithTimeout(context.Background(), long+patience)
	defer cancel()
	for range task.Workers {
		var w worker
		select {
		case w = <-done:
		case <-patient.Done():
			w.failed = 1
		}
		result.Cycles = append(result.Cycles, w.cycles)
		result.Longest = max(result.Longest, w.longest)
		result.Failed += w.failed
	}
	return result
}

// cycle acquires and releases once.
func (w *worker) cycle(ctx context.Context, lock locker, name string, hold time.Duration) {
	began := time.Now()
	unlock, err := lock(ctx, name)
	waited := time.Since(began)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return
	}
	if err == nil {
		time.Sleep(hold)
		err = unlock(context.WithoutCancel(ctx))
	}
	if err != nil {
		w.failed++
		return
	}
	w.cycles, w.longest = append(w.cycles, time.Since(began)), max(w.longest, waited)
}
