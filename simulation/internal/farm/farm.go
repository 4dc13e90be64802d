// Package farm shares runs among worker processes. A run hands over between goroutines all the
// time: with goroutines as workers, and a processor for each, these hand-overs wake threads, and
// on a busy machine the matrix took three times as long.
//
// A worker is a process of the same program that calls Serve. It is told what all play, and which
// share of the jobs is its own, and prints its results as JSON. It reports each run before the run
// begins, so that the farm knows which run killed a worker. What comes out does not depend on the
// number of workers.
package farm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"
	"strings"
	"sync"
)

// Job is a range of numbered runs of one thing.
type Job[W any] struct {
	What     W
	From, To uint64 // To is exclusive
}

// Plan says what to play.
type Plan[W, R any] struct {
	Jobs iter.Seq[Job[W]]
	// Run plays run number n of a thing and adds what came of it to the sum.
	Run func(what W, n uint64, sum *R) error
}

// Worker runs a worker process until it ends, and kills it when ctx ends. The error says how it ended.
// It is a function so that programs without processes, such as a page's engine, don't get package os/exec.
type Worker func(ctx context.Context, in io.Reader, out, errs io.Writer) error

// ErrPlayer is wrapped by the error for a run that a worker process cannot play.
var ErrPlayer = errors.New("a worker says")

// Workers are worker processes. With a Number of 0, this process plays.
type Workers struct {
	Number int
	Run    Worker
}

// Validate says what is wrong with them.
func (w Workers) Validate() error {
	switch {
	case w.Number < 0 || w.Number > 1024:
		return fmt.Errorf("%d workers, want 0 to 1024", w.Number)
	case w.Number > 0 && w.Run == nil:
		return errors.New("workers without a Worker that runs one")
	}
	return nil
}

// share is the input of a worker process: it plays each Of-th job, from number Worker on, of the plan that
// the Greeting makes.
type share[G any] struct {
	Greeting   G
	Worker, Of int
}

// message is what a worker process prints: one of these.
type message[R any] struct {
	Begins *uint64 `json:"begins,omitempty"`
	Result *R      `json:"result,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// Play plays a plan and calls take with the result of each job, in their order. Worker processes make their
// plan of the greeting. When ctx ends, Play stops, without an error, and drops what is unfinished. The error is
// that of a run, or of a worker that could not be started or died.
func Play[G, W, R any](ctx context.Context, w Workers, greeting G, plan Plan[W, R], take func(Job[W], R)) error {
	if w.Number == 0 {
		return play(ctx, plan, take)
	}
	ctx, kill := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer kill()
	all := make([]*json.Decoder, w.Number)
	for i := range all {
		mine, err := json.Marshal(share[G]{greeting, i, w.Number})
		if err != nil {
			return err
		}
		messages, out := io.Pipe()
		defer messages.Close() // before the wait: a worker may want to write
		all[i] = json.NewDecoder(messages)
		running.Go(func() {
			var said beginning
			how := "it ended without an error"
			if err := w.Run(ctx, bytes.NewReader(mine), out, &said); err != nil {
				how = err.Error()
			}
			_ = out.CloseWithError(errors.New(strings.TrimSpace(how + "\n" + string(said.text)))) // it never fails
		})
	}
	i := 0
	for job := range plan.Jobs {
		result, err := result[W, R](all[i%w.Number], job)
		switch {
		case ctx.Err() != nil:
			return nil // an interruption kills worker processes, too
		case err != nil:
			return err
		}
		take(job, result)
		i++
	}
	return nil
}

// play plays in this process. It stops between two runs.
func play[W, R any](ctx context.Context, plan Plan[W, R], take func(Job[W], R)) error {
	for job := range plan.Jobs {
		var sum R
		for n := job.From; n < job.To; n++ {
			if ctx.Err() != nil {
				return nil
			}
			if err := plan.Run(job.What, n, &sum); err != nil {
				return err
			}
		}
		take(job, sum)
	}
	return nil
}

// result reads the result of a job. The error says which run killed the process, if one did.
func result[W, R any](messages *json.Decoder, job Job[W]) (none R, err error) {
	doing := "before it played anything"
	for {
		var m message[R]
		switch err := messages.Decode(&m); {
		case err != nil:
			return none, fmt.Errorf("a worker process ended %s: %w", doing, err)
		case m.Begins != nil:
			doing = fmt.Sprintf("while it played run %d", *m.Begins)
			if what, ok := any(job.What).(fmt.Stringer); ok {
				doing += " of " + what.String()
			}
		case m.Result != nil:
			return *m.Result, nil
		default:
			return none, fmt.Errorf("%w: %s", ErrPlayer, m.Error)
		}
	}
}

// beginning keeps the beginning of a worker's standard error: a panic says first what happened.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(4<<10-len(b.text), len(p))]...)
	return len(p), nil
}

// Serve is a worker process: it plays the share that it reads from in, and writes the results to out.
// Nothing else may write to out. open makes the plan.
//
// The error is that of in or out, or of a run, which the other end is told as well.
func Serve[G, W, R any](in io.Reader, out io.Writer, open func(G) (Plan[W, R], error)) error {
	// Runs leave little behind and much to collect: a worker has the memory to do that
	// more rarely.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var mine share[G]
	if err := json.NewDecoder(in).Decode(&mine); err != nil {
		return fmt.Errorf("farm: the share can't be read: %w", err)
	}
	messages := json.NewEncoder(out)
	fail := func(err error) error { return errors.Join(err, messages.Encode(message[R]{Error: err.Error()})) }
	plan, err := open(mine.Greeting)
	if err == nil && mine.Of < 1 {
		err = fmt.Errorf("farm: a share of %d workers, want 1 or more", mine.Of)
	}
	if err != nil {
		return fail(err)
	}
	i := 0
	for job := range plan.Jobs {
		if i++; (i-1)%mine.Of != mine.Worker {
			continue
		}
		var sum R
		for n := job.From; n < job.To; n++ {
			if err := messages.Encode(message[R]{Begins: &n}); err != nil {
				return fmt.Errorf("farm: nothing can be written: %w", err)
			}
			if err := plan.Run(job.What, n, &sum); err != nil {
				return fail(err)
			}
		}
		if err := messages.Encode(message[R]{Result: &sum}); err != nil {
			return fmt.Errorf("farm: nothing can be written: %w", err)
		}
	}
	return nil
}
