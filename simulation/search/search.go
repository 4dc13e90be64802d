package search

import (
	"context"
	"fmt"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/farm"
)

// Options says which runs of a Space are searched.
type Options struct {
	// From and To are the first seed and that after the last.
	From, To uint64
	// Progress, if set, is called after each run with the number of them, and of those with violations. Calls don't
	// overlap.
	Progress func(runs, violating uint64)
}

// Search plays runs of a Space on all processors. The findings don't depend on their number. When ctx ends, it stops
// and reports the findings so far, without an error.
//
// Errors are ErrSpace or simulation.ErrConfig.
func Search(ctx context.Context, s Space, o Options) (report Report, err error) {
	if err := s.validate(); err != nil {
		return report, err
	}
	if o.From > o.To {
		return report, fmt.Errorf("%w: from %d to %d: there is nothing between them", ErrSpace, o.From, o.To)
	}
	report.Struck = map[fault.Kind]int{}
	for _, kind := range s.kinds() {
		report.Struck[kind] = 0
	}
	type run struct {
		setup  Setup
		result simulation.Result
	}
	play := func(n uint64) (r run, err error) {
		r.setup = s.Setup(o.From + n)
		r.result, err = s.Play(r.setup)
		return r, err
	}
	err = farm.Play(ctx, o.To-o.From, play, func(_ uint64, r run) {
		report.add(s, r.setup, r.result)
		if o.Progress != nil {
			o.Progress(report.Runs, report.Violating)
		}
	})
	report.Ended = report.Runs == o.To-o.From
	return report, err
}
