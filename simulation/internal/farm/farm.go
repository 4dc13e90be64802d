// Package farm shares runs among worker processes, because two simulations in one process
// slow each other down, and because a run may kill its process.
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
	"time"

	"golang.org/x/sync/errgroup"
)

// Job is a range of numbered runs of one thing.
type Job[W any] struct {
	What W      `json:"what"`
	From uint64 `json:"from"`
	To   uint64 `json:"to"` // exclusive
}

// Done is a job, or a part of one, with its result.
type Done[W, R any] struct {
	Job[W]
	Result R
	// Death says how the worker process ended that played the job's only run, "" if none
	// did. It has happened twice: once may have been somebody else's doing.
	Death string
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
	// Timeout is how long one run may take, in real time, before its worker counts as
	// dead. Default 1 min.
	Timeout time.Duration
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

// Run plays the jobs and calls take with each of them, in their order. Calls do not
// overlap. When ctx ends, Run stops, without an error. It drops unfinished jobs, and
// finished ones behind them. The error is that of a Player, or of a worker that could not
// be started.
func (f Farm[G, W, R]) Run(ctx context.Context, jobs iter.Seq[Job[W]], take func(Done[W, R])) error {
	next, end := iter.Pull(jobs)
	defer end()
	q := queue[W, R]{next: next, take: take, waiting: map[int][]Done[W, R]{}}
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
	waiting      map[int][]Done[W, R] // results behind a job that is not finished
	take         func(Done[W, R])
}

func (q *queue[W, R]) give() (i int, job Job[W], ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	job, ok = q.next()
	q.given++
	return q.given - 1, job, ok
}

func (q *queue[W, R]) finish(i int, parts []Done[W, R]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.waiting[i] = parts; q.waiting[q.taken] != nil; q.taken++ {
		for _, part := range q.waiting[q.taken] {
			q.take(part)
		}
		delete(q.waiting, q.taken)
	}
}

// player plays one job at a time: this process, or a worker process.
type player[W, R any] interface {
	// play returns a *death if a worker process has ended or hangs. It is of no more use
	// then, and closed.
	play(context.Context, Job[W]) (R, error)
	close()
}

// work plays jobs until there are none. A worker that died is replaced.
func (f Farm[G, W, R]) work(ctx context.Context, q *queue[W, R]) error {
	var p player[W, R]
	defer func() {
		if p != nil {
			p.close()
		}
	}()
	for ctx.Err() == nil {
		i, job, ok := q.give()
		if !ok {
			return nil
		}
		parts, err := f.play(ctx, &p, job)
		switch {
		case ctx.Err() != nil:
			return nil // an interruption may kill worker processes, too
		case err != nil:
			return err
		}
		q.finish(i, parts)
	}
	return nil
}

// play plays one job. If a worker dies, another one repeats the job. Only if a second one
// dies with the same run, that run is reported, and the others are played without it.
func (f Farm[G, W, R]) play(ctx context.Context, p *player[W, R], job Job[W]) (parts []Done[W, R], err error) {
	suspects := map[uint64]bool{} // runs that may have killed a worker
	idle := 0                     // workers in a row that died before they played anything
	for rest := []Done[W, R]{{Job: job}}; len(rest) > 0 && ctx.Err() == nil; {
		part := rest[0]
		if part.Death != "" {
			parts, rest = append(parts, part), rest[1:]
			continue
		}
		if *p == nil {
			started, err := f.start()
			if err != nil {
				return nil, err
			}
			*p = started
		}
		part.Result, err = (*p).play(ctx, part.Job)
		died, dead := errors.AsType[*death](err)
		switch {
		case err == nil:
			parts, rest, idle = append(parts, part), rest[1:], 0
			continue
		case !dead:
			return nil, err
		}
		*p = nil
		switch {
		case !died.began && idle > 0:
			return nil, fmt.Errorf("a worker process ended before it played anything: %w", died)
		case !died.began:
			idle++
		case suspects[died.number]:
			rest = append(split(part, died), rest[1:]...)
		default:
			suspects[died.number] = true
		}
	}
	return parts, nil
}

// split cuts the run that killed its workers out of a job.
func split[W, R any](whole Done[W, R], d *death) []Done[W, R] {
	before, killer, after := whole, whole, whole
	before.To, killer.From, killer.To, after.From = d.number, d.number, d.number+1, d.number+1
	killer.Death = d.Error()
	parts := []Done[W, R]{killer}
	if before.From < before.To {
		parts = append([]Done[W, R]{before}, parts...)
	}
	if after.From < after.To {
		parts = append(parts, after)
	}
	return parts
}

func (f Farm[G, W, R]) start() (player[W, R], error) {
	if f.Workers == 0 {
		return here[W, R](f.Player), nil
	}
	timeout := f.Timeout
	if timeout <= 0 {
		timeout = time.Minute
	}
	return startProcess[W, R](f.Command, f.Greeting, timeout)
}

// here plays in this process. It stops between two runs.
type here[W, R any] Player[W, R]

func (play here[W, R]) play(ctx context.Context, job Job[W]) (sum R, err error) {
	for n := job.From; n < job.To && ctx.Err() == nil; n++ {
		if err := play(job.What, n, &sum); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

func (here[W, R]) close() {}
