package search

import (
	"context"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/farm"
)

// Search plays the runs of a Space from seed 0 on, on all processors. The findings don't depend on their number. When
// ctx ends, it stops and reports the findings so far, without an error. If progress isn't nil, it is called after each
// run with the number of them, and of those with violations; calls don't overlap.
//
// The error says what is wrong with the Space, or is simulation.ErrConfig.
func Search(ctx context.Context, s Space, seeds uint64, progress func(runs, violating uint64)) (report Report, err error) {
	if err := s.validate(); err != nil {
		return report, err
	}
	report.Struck = map[fault.Kind]int{}
	// What a run showed is looked for where it is played: its log is large.
	play := func(seed uint64) (Report, error) {
		schedule := s.Schedule(seed)
		result, err := s.Play(seed, schedule)
		if err != nil {
			return Report{}, err
		}
		return s.report(seed, schedule, result), nil
	}
	err = farm.Play(ctx, seeds, play, func(_ uint64, next Report) {
		report.add(next)
		if progress != nil {
			progress(report.Runs, report.Violating)
		}
	})
	return report, err
}
