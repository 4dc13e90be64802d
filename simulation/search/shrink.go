package search

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/shorten"
	"github.com/redquorum/redlock/simulation/record"
)

// Shrink makes the schedule of a finding smaller, as ShrinkSchedule does, while the run still shows a
// violation of the same kind, with the same broken assumption if there is one. It returns the finding of the
// smaller run, and the number of runs that this took.
//
// The error is simulation.ErrConfig, or says that the run shows no such violation.
func (s Space) Shrink(ctx context.Context, f Finding) (Finding, int, error) {
	result, err := s.Play(f.Setup)
	if err != nil {
		return f, 0, err
	}
	small, shows := s.least(f.Setup, f.Kind, result)
	if !shows {
		return f, 0, fmt.Errorf("search: the run doesn't show %q, only %v", f.Kind, result.Kinds())
	}
	saw := observed(result, f.Kind)
	_, runs := ShrinkSchedule(ctx, f.Setup.Schedule, func(smaller simulation.Schedule) bool {
		setup := Setup{f.Setup.Seed, smaller}
		result, err := s.playContext(ctx, setup)
		if err != nil || observed(result, f.Kind) != saw {
			return false
		}
		found, shows := s.least(setup, f.Kind, result)
		if shows {
			small = found
		}
		return shows
	})
	return small, runs, nil
}

// least is the finding of a kind in a run: the one that nothing excuses, or else that with the lowest assumption.
func (s Space) least(setup Setup, kind record.ViolationKind, result simulation.Result) (least Finding, shows bool) {
	for _, f := range s.findings(setup, result) {
		if f.Kind == kind && (!shows || f.Assumption < least.Assumption) {
			least, shows = f, true
		}
	}
	return least, shows
}

// observed is the number of the assumption that the checks saw broken in all violations of a
// kind, which the run has. 0: in one of them they saw none.
func observed(r simulation.Result, kind record.ViolationKind) int {
	least := len(assumptions)
	for _, v := range r.Log.Violations() {
		if v.Kind == kind {
			least = min(least, v.Assumption)
		}
	}
	return least
}

// ShrinkSchedule makes a schedule smaller while shows reports true for it: fewer faults, shorter
// faults, and rounder numbers. It returns the number of calls of shows, too. shows must be
// deterministic, and true for the schedule. When ctx ends, ShrinkSchedule returns the smallest
// schedule found so far.
func ShrinkSchedule(ctx context.Context, schedule simulation.Schedule, shows func(simulation.Schedule) bool) (simulation.Schedule, int) {
	s := &shrinker{ctx: ctx, best: schedule, shows: shows}
	s.fewerFaults()
	// Numbers are shrunk once: the smallest one is then rounded up, so that a second time
	// would begin from the start.
	s.simplerFaults()
	s.fewerFaults()
	return s.best, s.runs
}

// shrinker holds the smallest schedule so far.
type shrinker struct {
	ctx   context.Context
	shows func(simulation.Schedule) bool // reports whether a smaller schedule still shows the violation
	best  simulation.Schedule
	runs  int
}

// try makes a schedule the best one if it shows the violation too.
func (s *shrinker) try(smaller simulation.Schedule) bool {
	if s.ctx.Err() != nil {
		return false
	}
	s.runs++
	if !s.shows(smaller) {
		return false
	}
	s.best = smaller
	return true
}

// fewerFaults leaves out faults.
func (s *shrinker) fewerFaults() {
	shorten.List(s.best, s.try)
}

// simplerFaults simplifies each fault.
func (s *shrinker) simplerFaults() {
	for i := range s.best {
		s.field(i, func(f *fault.Fault) { f.Frozen = false })
		s.number(i, time.Millisecond, func(f *fault.Fault) *time.Duration { return &f.For })
		s.number(i, time.Millisecond, func(f *fault.Fault) *time.Duration { return &f.By })
		s.number(i, 100, func(f *fault.Fault) *time.Duration { return (*time.Duration)(&f.PPM) })
		s.moment(i)
		s.nth(i)
	}
}

// field tries to change fault number i.
func (s *shrinker) field(i int, change func(*fault.Fault)) bool {
	f := s.best[i]
	change(&f)
	if f == s.best[i] {
		return false
	}
	changed := slices.Clone(s.best)
	changed[i] = f
	return s.try(changed)
}

// number looks for the least number of 1, 2, 5, 10, 20, ... times unit that still shows the
// violation, or else rounds the number. It never tries 0, which means forever for a Cut, Lose or
// Delay.
func (s *shrinker) number(i int, unit time.Duration, of func(*fault.Fault) *time.Duration) {
	f := s.best[i]
	size, sign := *of(&f), time.Duration(1)
	if size < 0 {
		size, sign = -size, -1
	}
	put := func(n time.Duration) bool { return s.field(i, func(f *fault.Fault) { *of(f) = n * sign }) }
	for ; unit < size; unit *= 10 {
		for _, n := range []time.Duration{unit, 2 * unit, 5 * unit} {
			if n < size && put(n) {
				return
			}
		}
	}
	rounder(size, put)
}

// moment tries the moment 0, or else rounds the moment.
func (s *shrinker) moment(i int) {
	put := func(d time.Duration) bool { return s.field(i, func(f *fault.Fault) { f.At = d }) }
	if !put(0) {
		rounder(s.best[i].At, put)
	}
}

// rounder tries rounder numbers near a number, the roundest first.
func rounder(number time.Duration, put func(time.Duration) bool) {
	for _, unit := range []time.Duration{
		time.Minute, 10 * time.Second, time.Second, 500 * time.Millisecond, 100 * time.Millisecond,
		10 * time.Millisecond, time.Millisecond, 100 * time.Microsecond, 10 * time.Microsecond, time.Microsecond,
	} {
		down := number - number%unit
		if 4*unit <= number && (down == number || put(down) || put(down+unit)) {
			return
		}
	}
}

// nth tries an earlier operation, among the first ones.
func (s *shrinker) nth(i int) {
	const most = 64
	for n := 1; n < min(s.best[i].Nth, most); n++ {
		if s.field(i, func(f *fault.Fault) { f.Nth = n }) {
			return
		}
	}
}
