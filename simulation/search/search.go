package search

import (
	"context"
	"fmt"
	"io"

	"github.com/redquorum/redlock/simulation/internal/farm"
)

// Options says which runs of a Space are searched, and how.
type Options struct {
	// From and To are the first seed and that after the last.
	From, To uint64
	// Workers are worker processes, which call Serve with the same Space and the same From and To. Without them, this
	// process plays. The findings don't depend on it.
	Workers farm.Workers
	// Progress, if set, is called after some runs with the number of them, and of those with violations. Calls don't
	// overlap.
	Progress func(runs, violating uint64)
}

// chunk is how many runs a worker plays at a time. The findings don't depend on it. An
// interruption loses less than one chunk of each worker.
const chunk = 32

// Search plays runs of a Space. When ctx ends, it stops and reports the findings so
// far, without an error.
//
// Errors are ErrSpace, simulation.ErrConfig, or that of a worker that couldn't be started or died.
func Search(ctx context.Context, s Space, o Options) (report Report, err error) {
	if err := o.validate(s); err != nil {
		return report, err
	}
	err = farm.Play(ctx, o.Workers, o.jobs(), o.play(s), func(_ uint64, next Report) {
		report.add(next)
		if o.Progress != nil {
			o.Progress(report.Runs, report.Violating)
		}
	})
	if err != nil {
		err = fmt.Errorf("seeds from %d: %w", o.From+report.Runs, err)
	}
	report.Ended = report.Runs == o.To-o.From
	return report, err
}

// Serve is a worker process: it plays its share of the runs, and writes the results to out. Nothing else may
// write to out.
//
// Errors are ErrSpace, simulation.ErrConfig, or that of out.
func Serve(s Space, o Options, share string, out io.Writer) error {
	if err := o.validate(s); err != nil {
		return err
	}
	return farm.Serve(share, out, o.jobs(), o.play(s))
}

func (o Options) validate(s Space) error {
	if o.From > o.To {
		return fmt.Errorf("%w: from %d to %d: there is nothing between them", ErrSpace, o.From, o.To)
	}
	return s.validate()
}

// jobs is the number of chunks.
func (o Options) jobs() uint64 { return (o.To - o.From + chunk - 1) / chunk }

// play plays one chunk.
func (o Options) play(s Space) func(job uint64) (Report, error) {
	return func(job uint64) (all Report, err error) {
		from := o.From + job*chunk
		for seed := from; seed < min(o.To, from+chunk); seed++ {
			setup := s.Setup(seed)
			result, err := s.Play(setup)
			if err != nil {
				return all, err
			}
			all.run(s, setup, result)
		}
		return all, nil
	}
}
