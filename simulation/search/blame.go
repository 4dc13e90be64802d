package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// Cause says why a run shows a violation, as far as a single run shows it.
type Cause string

// The causes.
const (
	// Covered: the assumptions cover all faults, so a promise is broken.
	Covered Cause = "covered"
	// Observed: the checks saw an assumption broken, see record.Violation.
	Observed Cause = "observed"
	// Uncovered: the assumptions do not cover a fault. It need not be the reason for the
	// violation.
	Uncovered Cause = "uncovered"
)

// causeOf is the cause of a kind of violation in a run.
func (p run) causeOf(kind record.ViolationKind, s Setup, r simulation.Result) Cause {
	switch {
	case unexcused(kind):
		return Covered
	case observed(r, kind) != 0:
		return Observed
	case len(breaches(s.Schedule, p.cfg)) > 0:
		return Uncovered
	}
	return Covered
}

// observed is the assumption that the checks saw broken in all violations of a kind. 0: in
// one of them they saw none.
func observed(r simulation.Result, kind record.ViolationKind) int {
	seen := 0
	for _, v := range r.Log.Violations() {
		if v.Kind != kind {
			continue
		}
		if v.Assumption == 0 {
			return 0
		}
		seen = cmp.Or(seen, v.Assumption)
	}
	return seen
}

// Excuse returns the number of the assumption that a violation in a Setup's run may be due to: the one
// that the check saw broken, or else the first one that a fault before it had broken. 0: there is none,
// or no fault excuses this kind of violation.
//
// All errors are ErrSetup.
func (r Registry) Excuse(s Setup, result simulation.Result, v record.Violation) (assumption int, err error) {
	if v.Assumption != 0 || unexcused(v.Kind) {
		return v.Assumption, nil
	}
	p, err := r.prepare(s)
	if err != nil {
		return 0, err
	}
	var struck simulation.Schedule
	for e := range result.Log.All() {
		// By the order of events: many of them can happen at one moment.
		if e.Kind == record.Found && *e.Violation == v {
			break
		}
		if e.Kind == record.Suffered && !slices.Contains(struck, *e.Fault) {
			struck = append(struck, *e.Fault)
		}
	}
	if all := breaches(struck, p.cfg); len(all) > 0 {
		return all[0].Assumption, nil
	}
	return 0, nil
}

// Blame says what a violation breaks: assumptions that didn't hold, or else a promise.
type Blame struct {
	// Breaches are the assumptions that the run breaks.
	Breaches []Breach
	// Promise is broken if there are no Breaches. 0: the violation is an error, but breaks
	// no promise.
	Promise Promise
}

// Blame says what a kind of violation in a Setup's run breaks. It counts every fault, so
// pass a Setup from Shrink, in which each fault is necessary.
//
// All errors are ErrSetup.
func (r Registry) Blame(s Setup, kind record.ViolationKind) (Blame, error) {
	p, err := r.prepare(s)
	if err != nil {
		return Blame{}, err
	}
	result, err := p.play(context.Background(), s)
	switch {
	case err != nil:
		return Blame{}, err
	case !slices.Contains(result.Kinds(), kind):
		return Blame{}, fmt.Errorf("%w: it doesn't show %q, only %v", ErrSetup, kind, result.Kinds())
	}
	switch p.causeOf(kind, s, result) {
	case Observed:
		if a := observed(result, kind); a != 1 {
			return Blame{Breaches: []Breach{{a, "a server forgot its vote before the reply arrived"}}}, nil
		}
		return Blame{Breaches: []Breach{{1, lateness(s.Schedule)}}}, nil
	case Uncovered:
		return Blame{Breaches: breaches(s.Schedule, p.cfg)}, nil
	}
	return Blame{Promise: promiseOf(kind)}, nil
}

// Excused reports whether an assumption was broken, so that no promise is.
func (b Blame) Excused() bool { return len(b.Breaches) > 0 }

// String is a line for each assumption that is broken, or one for the promise.
func (b Blame) String() string {
	switch {
	case b.Excused():
		lines := make([]string, len(b.Breaches))
		for i, one := range b.Breaches {
			lines[i] = one.String()
		}
		return strings.Join(lines, "\n")
	case b.Promise == 0:
		return "no promise: it is an error in any case"
	}
	return fmt.Sprintf("promise %d (%v): the assumptions cover all that went wrong", int(b.Promise), b.Promise)
}

// lateness says why a request took effect too late.
func lateness(schedule simulation.Schedule) string {
	var ways []string
	add := func(format string, args ...any) {
		if way := fmt.Sprintf(format, args...); !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	for _, f := range schedule {
		atResource := f.Server == fault.Resource
		switch {
		case f.Kind == fault.Pause:
			add("%s was paused after it had checked its lease", whose(f.Process))
		case f.Kind == fault.Suspend:
			add("the machine of %s was suspended after the check of the lease", whose(f.Process))
		case atResource && (f.Kind == fault.Delay || f.Kind == fault.Reorder):
			add("a request of %s reached the resource late", whose(f.Process))
		case atResource && f.Kind == fault.Duplicate:
			add("a request of %s reached the resource twice", whose(f.Process))
		}
	}
	if len(ways) == 0 {
		return "a request took effect after its holder's lease had expired"
	}
	return strings.Join(ways, "; ")
}
