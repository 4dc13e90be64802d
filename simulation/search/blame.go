package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// Promise is a guarantee of package quorum, by its number there. 0 is none.
type Promise int

// promises are their names, in package quorum's words.
var promises = [...]string{
	1: "mutual exclusion",
	2: "order",
	3: "liveness",
	4: "honesty",
	5: "cleanliness",
}

// String is its name.
func (p Promise) String() string { return promises[p] }

// promiseOf is the promise that a violation of a kind breaks if the assumptions hold. A panic
// breaks none of them, but is an error in any case.
func promiseOf(kind record.ViolationKind) Promise {
	switch kind {
	case record.TwoHolders, record.Overvalued, record.StaleWrite, record.LostUpdate:
		return 1
	case record.TokenOrder:
		return 2
	case record.NoProgress, record.NeverFree, record.Stuck:
		return 3
	case record.LeftOver, record.KeyLeft:
		return 5
	}
	return 0
}

// unexcused are the kinds of violations that no fault excuses.
var unexcused = []record.ViolationKind{record.LeftOver, record.Stuck, record.Panicked, record.Unsimulated, record.NoStep, record.KeyLeft}

// excuses returns the breaches of assumptions that a violation in a Setup's run may be due to: the
// one that the check saw, or else those by faults that struck before it.
func (p run) excuses(s Setup, result simulation.Result, v record.Violation) []Breach {
	switch {
	case v.Assumption == 1:
		return []Breach{{1, lateness(s.Schedule)}}
	case v.Assumption != 0:
		return []Breach{{v.Assumption, "a server forgot its vote before the reply arrived"}}
	case slices.Contains(unexcused, v.Kind):
		return nil
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
	return breaches(struck, p.cfg)
}

// Blame says what a violation breaks: assumptions that didn't hold, or else a promise.
type Blame struct {
	// Breaches are the assumptions that the run breaks.
	Breaches []Breach
	// Promise is broken if there are no Breaches. 0: the violation is an error, but breaks
	// no promise.
	Promise Promise
}

// Blame says what a kind of violation in a Setup's run breaks. It counts every fault before the
// violation, so pass a Setup from Shrink, in which each fault is necessary.
//
// All errors are ErrSetup.
func (r Registry) Blame(s Setup, kind record.ViolationKind) (Blame, error) {
	p, err := r.prepare(s)
	if err != nil {
		return Blame{}, err
	}
	result, err := p.play(context.Background(), s)
	if err != nil {
		return Blame{}, err
	}
	if !slices.Contains(result.Kinds(), kind) {
		return Blame{}, doesNotShow(kind, result.Kinds())
	}
	blame := Blame{}
	for _, v := range result.Log.Violations() {
		if v.Kind != kind {
			continue
		}
		if blame.Breaches = p.excuses(s, result, v); len(blame.Breaches) == 0 {
			return Blame{Promise: promiseOf(kind)}, nil
		}
	}
	return blame, nil
}

// doesNotShow is the error for a Setup whose run has only other kinds of violations.
func doesNotShow(kind record.ViolationKind, has []record.ViolationKind) error {
	return fmt.Errorf("%w: it doesn't show %q, only %v", ErrSetup, kind, has)
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
