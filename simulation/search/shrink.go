package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/shorten"
)

// Shrink makes the schedule of a finding smaller while the run still shows a violation of the same kind,
// with the same broken assumption if the check saw one. It returns the finding of the smaller run, and the
// number of runs that this took: some hundreds, of milliseconds each.
//
// The error is simulation.ErrConfig, or says that the run shows no such violation.
func (s Space) Shrink(f Finding) (small Finding, runs int, err error) {
	shows := func(schedule simulation.Schedule) bool {
		result, failed := s.Play(f.Seed, schedule)
		if failed != nil {
			err = failed
			return false
		}
		runs++
		found := s.findings(f.Seed, schedule, result)
		i := slices.IndexFunc(found, func(g Finding) bool { return g.Kind == f.Kind && g.Observed == f.Observed })
		if i >= 0 {
			small = found[i]
		}
		return i >= 0
	}
	if !shows(f.Schedule) {
		return f, 0, cmp.Or(err, fmt.Errorf("search: the run doesn't show %q", f.Kind))
	}
	shrink(f.Schedule, shows)
	return small, runs, err
}

// shrink makes a schedule smaller for which shows is true: fewer faults, shorter faults, and rounder numbers.
// It returns the smallest one for which shows was true, too. shows must be deterministic.
func shrink(schedule simulation.Schedule, shows func(simulation.Schedule) bool) simulation.Schedule {
	s := &shrinker{best: shorten.List(schedule, shows), shows: shows}
	// Numbers are shrunk once: the smallest one is then rounded up, so that a second time
	// would begin from the start.
	for i := range s.best {
		s.simpler(i)
	}
	return shorten.List(s.best, shows)
}

// shrinker holds the smallest schedule so far.
type shrinker struct {
	best  simulation.Schedule
	shows func(simulation.Schedule) bool
}

// simpler simplifies fault number i.
func (s *shrinker) simpler(i int) {
	s.change(i, func(f *fault.Fault) { f.Frozen = false })
	s.change(i, func(f *fault.Fault) { f.At = 0 })
	for n := 1; n < min(s.best[i].Nth, 64); n++ { // an earlier operation
		if s.change(i, func(f *fault.Fault) { f.Nth = n }) {
			break
		}
	}
	s.number(i, time.Millisecond, func(f *fault.Fault) *time.Duration { return &f.At })
	s.number(i, time.Millisecond, func(f *fault.Fault) *time.Duration { return &f.For })
	s.number(i, time.Millisecond, func(f *fault.Fault) *time.Duration { return &f.By })
	s.number(i, 100, func(f *fault.Fault) *time.Duration { return (*time.Duration)(&f.PPM) })
}

// change changes fault number i if the schedule still shows the violation.
func (s *shrinker) change(i int, change func(*fault.Fault)) bool {
	changed := slices.Clone(s.best)
	change(&changed[i])
	if changed[i] == s.best[i] || !s.shows(changed) {
		return false
	}
	s.best = changed
	return true
}

// number looks for the least number of 1, 2, 5, 10, 20, ... times unit that still shows the
// violation, or else for the roundest number nearby. It never tries 0, which means forever for a Cut, Lose or
// Delay.
func (s *shrinker) number(i int, unit time.Duration, of func(*fault.Fault) *time.Duration) {
	size, sign := *of(&s.best[i]), time.Duration(1)
	if size < 0 {
		size, sign = -size, -1
	}
	put := func(n time.Duration) bool { return s.change(i, func(f *fault.Fault) { *of(f) = n * sign }) }
	for ; unit < size; unit *= 10 {
		for _, n := range []time.Duration{unit, 2 * unit, 5 * unit} {
			if n < size && put(n) {
				return
			}
		}
	}
	for round := 10 * time.Second; round >= time.Microsecond; round /= 10 {
		down := size - size%round
		if 4*round <= size && (down == size || put(down) || put(down+round)) {
			return
		}
	}
}
