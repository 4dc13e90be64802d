// Package farm shares runs among worker processes. A run hands over between goroutines all the
// time: with goroutines as workers, and a processor for each, these hand-overs wake threads, and
// on a busy machine the matrix took three times as long.
//
// A worker is a process of the same program that calls Serve. The two ends speak JSON. A
// worker is sent a greeting and then one job after the other. It reports each run before
// the run begins, so that the farm knows which run killed a worker, and the result of each
// job. What comes out does not depend on the number of workers.
package farm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Job is a range of numbered runs of one thing.
type Job[W any] struct {
	What W      `json:"what"`
	From uint64 `json:"from"`
	To   uint64 `json:"to"` // exclusive
}

// Player plays run number n and adds what came of it to the sum.
type Player[W, R any] func(what W, n uint64, sum *R) error

// Farm plays jobs.
type Farm[G, W, R any] struct {
	// Workers is the number of worker processes. 0: this process plays, with Player.
	Workers int
	// Command makes the command of a worker process, which is killed when ctx ends:
	// exec.CommandContext.
	Command func(ctx context.Context) Command
	// Greeting is sent to each worker before its first job.
	Greeting G
	Player   Player[W, R]
}

// Command is the command of a worker process, an *exec.Cmd. It is an interface so that programs
// without processes, such as a page's engine, don't get package os/exec.
type Command interface {
	StdinPipe() (io.WriteCloser, error)
	StdoutPipe() (io.ReadCloser, error)
	StderrPipe() (io.ReadCloser, error)
	Start() error
	Wait() error
}

// ErrPlayer is wrapped by the error for a job that a worker process cannot play.
var ErrPlayer = errors.New("a worker says")

// Validate says what is wrong with the farm.
func (f Farm[G, W, R]) Validate() error {
	switch {
	case f.Workers < 0 || f.Workers > 1024:
		return fmt.Errorf("%d workers, want 0 to 1024", f.Workers)
	case f.Workers > 0 && f.Command == nil:
		return errors.New("workers without a Command that starts one")
	}
	return nil
}

// Run plays the jobs and calls take with the result of each of them, in their order. Calls
// do not overlap. When ctx ends, Run stops, without an error. It drops unfinished jobs, and
// finished ones behind them. The error is that of a Player, or of a worker that could not
// be started or died.
func (f Farm[G, W, R]) Run(ctx context.Context, jobs iter.Seq[Job[W]], take func(Job[W], R)) error {
	next, end := iter.Pull(jobs)
	defer end()
	q := queue[W, R]{next: next, take: take, waiting: map[int]func(){}}
	group, ctx := errgroup.WithContext(ctx)
	for range max(1, f.Workers) {
		group.Go(func() error { return f.work(ctx, &q) })
	}
	return group.Wait()
}

// queue hands out jobs and puts their results into order.
type queue[W, R any] struct {
	mu           sync.Mutex
	next         func() (Job[W], bool)
	given, taken int
	waiting      map[int]func() // results behind a job that is not finished
	take         func(Job[W], R)
}

func (q *queue[W, R]) give() (i int, job Job[W], ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	job, ok = q.next()
	q.given++
	return q.given - 1, job, ok
}

func (q *queue[W, R]) finish(i int, job Job[W], result R) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.waiting[i] = func() { q.take(job, result) }; q.waiting[q.taken] != nil; q.taken++ {
		q.waiting[q.taken]()
		delete(q.waiting, q.taken)
	}
}

// work plays jobs until there are none, in this process or in a worker process.
func (f Farm[G, W, R]) work(ctx context.Context, q *queue[W, R]) error {
	play := func(job Job[W]) (R, error) { return playHere(ctx, f.Player, job) }
	if f.Workers > 0 {
		p, err := startProcess[W, R](ctx, f.Command, f.Greeting)
		if err != nil && ctx.Err() == nil {
			return err
		} else if err != nil {
			return nil
		}
		defer p.close()
		play = p.play
	}
	for ctx.Err() == nil {
		i, job, ok := q.give()
		if !ok {
			return nil
		}
		result, err := play(job)
		switch {
		case ctx.Err() != nil:
			return nil // an interruption kills worker processes, too
		case err != nil:
			return err
		}
		q.finish(i, job, result)
	}
	return nil
}

// playHere plays in this process. It stops between two runs.
func playHere[W, R any](ctx context.Context, play Player[W, R], job Job[W]) (sum R, err error) {
	for n := job.From; n < job.To && ctx.Err() == nil; n++ {
		if err := play(job.What, n, &sum); err != nil {
			return sum, err
		}
	}
	return sum, nil
}
