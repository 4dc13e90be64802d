package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/redquorum/redlock/simulation/internal/farm"
)

// Options says which part of a Space is searched, and how.
type Options struct {
	// From and To are the numbers of the first Setup and of that after the last.
	From, To uint64
	// Workers is the number of worker processes. 0: this process plays. The findings
	// don't depend on it.
	Workers int
	// Worker runs a worker process by exec.CommandContext. The process must call Serve with a
	// Registry like this one. Needed if there are workers.
	Worker Worker
	// Progress, if set, is called after each range that has been played. Calls don't
	// overlap.
	Progress func(Batch)
}

// Worker runs a worker process until it ends, and kills it when ctx ends.
type Worker = farm.Worker

// Report is what a search found.
type Report struct {
	// Batch covers the Setups from Options.From on, without a gap, up to its To.
	Batch
	// Ended says that everything that was asked for was played.
	Ended bool
}

// chunk is how many Setups a worker gets at a time. The findings don't depend on it. An
// interruption loses less than one chunk of each worker.
const chunk = 32

// setups is a range of Setups of a Space.
type setups = farm.Job[struct{}]

// Search plays the Setups of a Space. When ctx ends, it stops and reports the findings so
// far, without an error.
//
// Errors are ErrSetup, or that of a worker that couldn't be started or died.
func Search(ctx context.Context, r Registry, space Space, o Options) (Report, error) {
	c, err := r.open(space)
	if err != nil {
		return Report{}, err
	}
	workers := farm.Workers{Number: o.Workers, Run: o.Worker}
	if err := workers.Validate(); err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	if o.From > o.To {
		return Report{}, fmt.Errorf("%w: from %d to %d: there is nothing between them", ErrSetup, o.From, o.To)
	}
	report := Report{Batch: Batch{From: o.From, To: o.From}}
	plan := farm.Plan[struct{}, Batch]{Jobs: chunks(o.From, o.To), Run: c.play}
	err = farm.Play(ctx, workers, greeting{c.space, o.From, o.To}, plan, func(job setups, batch Batch) {
		report.merge(batch)
		report.To = job.To
		if o.Progress != nil {
			progress := report.Batch
			progress.Findings, progress.Counts = slices.Clone(progress.Findings), nil // these still change
			o.Progress(progress)
		}
	})
	if errors.Is(err, farm.ErrPlayer) {
		err = fmt.Errorf("%w: %w", ErrSetup, err)
	}
	report.Ended = report.To == o.To && err == nil
	return report, err
}

func chunks(from, to uint64) iter.Seq[setups] {
	return func(yield func(setups) bool) {
		for from < to {
			next := from + min(chunk, to-from)
			if !yield(setups{From: from, To: next}) {
				return
			}
			from = next
		}
	}
}

// greeting tells a worker process what all play.
type greeting struct {
	Space    Space
	From, To uint64
}

// Serve is a worker process: it plays what it reads from in, and writes to out. Nothing else may
// write to out.
//
// The error is that of in or out, or of a Setup, which the other end gets as well.
func Serve(r Registry, in io.Reader, out io.Writer) error {
	return farm.Serve(in, out, func(g greeting) (farm.Plan[struct{}, Batch], error) {
		c, err := r.open(g.Space)
		if err != nil {
			return farm.Plan[struct{}, Batch]{}, err
		}
		return farm.Plan[struct{}, Batch]{Jobs: chunks(g.From, g.To), Run: c.play}, nil
	})
}
