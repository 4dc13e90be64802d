package search

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/internal/shorten"
	"github.com/redquorum/redlock/simulation/record"
)

// Shrunk is the result of Shrink.
type Shrunk struct {
	Setup Setup
	// Runs is the number of runs that it took.
	Runs int
}

// Shrink makes a Setup smaller while it still shows a violation of the same kind, with the
// same broken assumption if there is one: fewer faults; fewer clients, servers and rounds;
// shorter faults, and rounder numbers. Shrink is deterministic. When ctx ends, it returns
// the smallest Setup found so far.
//
// Errors are ErrSetup, also for a Setup that shows no such violation.
func Shrink(ctx context.Context, r Registry, s Setup, kind record.ViolationKind) (Shrunk, error) {
	p, err := r.prepare(s)
	if err != nil {
		return Shrunk{}, err
	}
	sh := &shrinker{ctx: ctx, best: s}
	result, err := r.playContext(ctx, s)
	switch {
	case ctx.Err() != nil:
		return Shrunk{Setup: s}, nil
	case err != nil:
		return Shrunk{}, err
	}
	if sh.runs = 1; !slices.Contains(result.Kinds(), kind) {
		return Shrunk{}, doesNotShow(kind, result.Kinds())
	}
	saw := observed(result, kind)
	sh.shows = func(s Setup) bool {
		result, err := r.playContext(ctx, s)
		// A run that is too small for its schedule is an error.
		return err == nil && slices.Contains(result.Kinds(), kind) && observed(result, kind) == saw
	}
	if p.workload.From > 0 && s.Choices == nil {
		order := &kernel.Order{Choose: kernel.DrawOrder(s.Seed)}
		if _, err := p.playOrder(ctx, s, order); err == nil {
			sh.best.Choices = append(order.Choices(), 0)
		}
	}
	sh.smaller(p)
	// Numbers are shrunk once: the smallest one is then rounded up, so that a second time
	// would begin from the start.
	sh.simplerFaults()
	sh.smaller(p)
	sh.fewerServers(p)
	return Shrunk{Setup: sh.best, Runs: sh.runs}, nil
}

// ShrinkSchedule makes a schedule smaller while shows reports true for it: fewer faults, shorter
// faults, and rounder numbers. It returns the number of calls of shows, too. shows must be
// deterministic, and true for the schedule. When ctx ends, ShrinkSchedule returns the smallest
// schedule found so far.
func ShrinkSchedule(ctx context.Context, schedule simulation.Schedule, shows func(simulation.Schedule) bool) (simulation.Schedule, int) {
	sh := &shrinker{ctx: ctx, best: Setup{Schedule: schedule}, shows: func(s Setup) bool { return shows(s.Schedule) }}
	sh.fewerFaults()
	sh.simplerFaults()
	sh.fewerFaults()
	return sh.best.Schedule, sh.runs
}

// shrinker holds the smallest Setup so far.
type shrinker struct {
	ctx   context.Context
	shows func(Setup) bool // reports whether a smaller Setup still shows the violation
	best  Setup
	runs  int
	steps int // successful tries
}

// try makes a Setup the best one if it shows the violation too.
func (s *shrinker) try(setup Setup) bool {
	if s.ctx.Err() != nil {
		return false
	}
	s.runs++
	if !s.shows(setup) {
		return false
	}
	s.best = setup
	s.steps++
	return true
}

// smaller removes what it can until nothing changes, because one step may enable another.
// It ends, because each step makes the Setup smaller.
func (s *shrinker) smaller(p run) {
	for before := -1; before != s.steps; {
		before = s.steps
		s.fewerFaults()
		s.smallerWorld(p)
		s.fewerChoices()
	}
}

// fewerFaults leaves out faults.
func (s *shrinker) fewerFaults() {
	shorten.List(s.best.Schedule, func(rest simulation.Schedule) bool {
		without := s.best
		without.Schedule = rest
		return s.try(without)
	})
}

// fewerChoices replaces choices by the first option: all of them, then halves, down to single
// ones. It removes those at the end, because the first option is chosen after them anyway.
func (s *shrinker) fewerChoices() {
	other := func(c int) bool { return c != 0 }
	for size := len(s.best.Choices); size > 0; size /= 2 {
		for from := 0; from < len(s.best.Choices); from += size {
			to := min(from+size, len(s.best.Choices))
			if !slices.ContainsFunc(s.best.Choices[from:to], other) {
				continue
			}
			simpler := s.best
			simpler.Choices = slices.Clone(s.best.Choices)
			clear(simpler.Choices[from:to])
			s.try(simpler)
		}
	}
	all := s.best.Choices
	for len(all) > 1 && all[len(all)-1] == 0 {
		all = all[:len(all)-1]
	}
	s.best.Choices = all
}

// smallerWorld removes clients and rounds.
func (s *shrinker) smallerWorld(p run) {
	s.fewer(func(c *Changes) **int { return &c.Rounds }, 1, p.workload.Rounds)
	s.fewer(func(c *Changes) **int { return &c.Processes }, 1, cmp.Or(p.cfg.Processes, 2))
}

// fewestServers is the least number of servers: with fewer, no majority survives a loss.
const fewestServers = 3

// fewerServers removes servers, unless a fault concerns servers. Then the ratio of failed
// servers matters, and fewer servers would be another case.
func (s *shrinker) fewerServers(p run) {
	concerned := func(f fault.Fault) bool { return f.Server != "" && f.Server != fault.Resource }
	if !slices.ContainsFunc(s.best.Schedule, concerned) {
		s.fewer(func(c *Changes) **int { return &c.Servers }, fewestServers, cmp.Or(p.cfg.Servers, 5))
	}
}

// fewer looks for the least number that still shows the violation.
func (s *shrinker) fewer(of func(*Changes) **int, least, most int) {
	if set := *of(&s.best.Changes); set != nil {
		most = *set
	}
	for n := least; n < most; n++ {
		smaller := s.best
		*of(&smaller.Changes) = &n
		if s.try(smaller) {
			return
		}
	}
}

// simplerFaults simplifies each fault.
func (s *shrinker) simplerFaults() {
	for i := range s.best.Schedule {
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
	f := s.best.Schedule[i]
	change(&f)
	if f == s.best.Schedule[i] {
		return false
	}
	setup := s.best
	setup.Schedule = slices.Clone(setup.Schedule)
	setup.Schedule[i] = f
	return s.try(setup)
}

// number looks for the least number of 1, 2, 5, 10, 20, ... times unit that still shows the
// violation, or else rounds the number. It never tries 0, which means forever for a Cut, Lose or
// Delay.
func (s *shrinker) number(i int, unit time.Duration, of func(*fault.Fault) *time.Duration) {
	f := s.best.Schedule[i]
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
		rounder(s.best.Schedule[i].At, put)
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
	for n := 1; n < min(s.best.Schedule[i].Nth, most); n++ {
		if s.field(i, func(f *fault.Fault) { f.Nth = n }) {
			return
		}
	}
}
