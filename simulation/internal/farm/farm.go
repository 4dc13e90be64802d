// Package farm plays jobs on all processors.
package farm

import (
	"context"
	"runtime"
	"sync"
)

// Play plays jobs, numbered from 0, on GOMAXPROCS goroutines, and calls take with the result of each, in their
// order. When ctx ends, Play stops, without an error, and drops what is unfinished. The error is that of the first
// job that fails.
func Play[R any](ctx context.Context, jobs uint64, play func(job uint64) (R, error), take func(job uint64, result R)) error {
	type outcome struct {
		result R
		err    error
	}
	var running sync.WaitGroup
	defer running.Wait()
	ended, end := context.WithCancel(ctx)
	defer end()
	outcomes := make([]chan outcome, runtime.GOMAXPROCS(0))
	every := uint64(len(outcomes))
	for i := range outcomes {
		outcomes[i] = make(chan outcome, 8) // a job takes longer than the next ones
		running.Go(func() {
			for job := uint64(i); job < jobs && ended.Err() == nil; job += every {
				result, err := play(job)
				select {
				case outcomes[i] <- outcome{result, err}:
				case <-ended.Done():
				}
			}
		})
	}
	for job := range jobs {
		if ctx.Err() != nil {
			return nil
		}
		select {
		case next := <-outcomes[job%every]:
			if next.err != nil {
				return next.err
			}
			take(job, next.result)
		case <-ctx.Done():
		}
	}
	return nil
}
