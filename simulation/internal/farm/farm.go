// Package farm shares jobs among worker processes. A run hands over between goroutines all the
// time: with goroutines as workers, and a processor for each, these hand-overs wake threads, and
// on a busy machine the matrix took three times as long.
//
// A worker process has the same jobs as its parent, because it is the same program with the same arguments. It is
// told its share of them, and prints the result of each as JSON. What comes out does not depend on the number of workers.
package farm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
)

// Workers are worker processes. With a Number of 0, this process plays.
type Workers struct {
	Number int
	// Run runs a worker process, which calls Serve with the share, until it ends. It kills it when ctx ends. The
	// error says how it ended. It is a function so that programs without processes, such as a page's engine, don't get package os/exec.
	Run func(ctx context.Context, share string, out, errs io.Writer) error
}

// Play plays jobs, numbered from 0, and calls take with the result of each, in their order. When ctx ends, Play
// stops, without an error, and drops what is unfinished. The error is that of a job, or of a worker that could not
// be started or died.
func Play[R any](ctx context.Context, w Workers, jobs uint64, play func(job uint64) (R, error), take func(job uint64, result R)) error {
	if w.Number < 0 || w.Number > 0 && w.Run == nil {
		return fmt.Errorf("farm: %d workers, want 0, or more and a function that runs one", w.Number)
	}
	ctx, kill := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer kill()
	results := make([]*json.Decoder, w.Number)
	for i := range results {
		in, out := io.Pipe()
		defer in.Close() // before the wait: a worker may want to write
		results[i] = json.NewDecoder(in)
		running.Go(func() {
			var said beginning
			how := "it ended without an error"
			if err := w.Run(ctx, fmt.Sprintf("%d/%d", i, w.Number), out, &said); err != nil {
				how = err.Error()
			}
			_ = out.CloseWithError(errors.New(strings.TrimSpace(how + "\n" + string(said.text)))) // it never fails
		})
	}
	for job := range jobs {
		var result R
		var err error
		if w.Number == 0 {
			result, err = play(job)
		} else if err = results[job%uint64(w.Number)].Decode(&result); err != nil {
			err = fmt.Errorf("a worker process ended: %w", err)
		}
		switch {
		case ctx.Err() != nil:
			return nil // an interruption kills worker processes, too
		case err != nil:
			return err
		}
		take(job, result)
	}
	return nil
}

// beginning keeps the beginning of a worker's standard error: a panic says first what happened.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(4<<10-len(b.text), len(p))]...)
	return len(p), nil
}

// Serve is a worker process: it plays its share of the jobs, and writes the results to out. Nothing else may write to
// out. The error is that of the share, of a job or of out.
func Serve[R any](share string, out io.Writer, jobs uint64, play func(job uint64) (R, error)) error {
	var first, every uint64
	if n, err := fmt.Sscanf(share, "%d/%d", &first, &every); n != 2 || every == 0 {
		return fmt.Errorf("farm: the share is %q, want the number of this worker and that of all, such as 0/2: %w", share, err)
	}
	// Runs leave little behind and much to collect: a worker has the memory to do that
	// more rarely.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	results := json.NewEncoder(out)
	for job := first; job < jobs; job += every {
		result, err := play(job)
		if err == nil {
			err = results.Encode(result)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
