package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/farm"
)

// Plan says what to play. The zero Plan is nothing; see DefaultPlan.
type Plan struct {
	// Designs and Faults name the matrix's rows and columns, in their order. Both empty: no
	// matrix.
	Designs, Faults []string
	// Listed leaves out cells without an Expectation.
	Listed bool
	// Seeds is the number of seeds, from 0, of each cell: up to a million.
	Seeds uint64
}

// DefaultPlan takes half a minute on two processors.
func DefaultPlan() Plan {
	p := Plan{Listed: true, Seeds: 50}
	for _, f := range cells.Faults() {
		p.Faults = append(p.Faults, f.Name)
	}
	for _, d := range designs.All() {
		if slices.ContainsFunc(p.Faults, func(fault string) bool { _, listed := cells.ExpectationOf(fault, d.Name); return listed }) {
			p.Designs = append(p.Designs, d.Name)
		}
	}
	return p
}

// ErrPlan is wrapped by the error for an invalid Plan.
var ErrPlan = errors.New("matrix: bad plan")

const (
	// mostSeeds bounds what an interrupted plan has to remember.
	mostSeeds = 1_000_000
	// chunk is the largest number of seeds of a job. It is small, so that all processors are busy
	// to the end.
	chunk = 30
)

// find finds what names name, each once.
func find[T any](what string, names []string, byName func(string) (T, error)) (all []T, err error) {
	for i, name := range names {
		one, err := byName(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(names[:i], func(other string) bool { return strings.EqualFold(name, other) }) {
			return nil, fmt.Errorf("%w: the %s %q is named twice", ErrPlan, what, name)
		}
		all = append(all, one)
	}
	return all, nil
}

// plan is a result without runs, and all jobs of the plan. The first seeds of everything come first, so that an
// interrupted plan has fewer runs of everything.
func (p Plan) plan() (r Result, all []job, err error) {
	switch {
	case p.Seeds > mostSeeds:
		return r, nil, fmt.Errorf("%w: %d seeds, want at most %d", ErrPlan, p.Seeds, mostSeeds)
	case (len(p.Designs) == 0) != (len(p.Faults) == 0):
		return r, nil, fmt.Errorf("%w: designs without faults, or faults without designs: name some of both", ErrPlan)
	}
	r.sums = map[name]tally{}
	if r.designs, err = find("design", p.Designs, designs.ByName); err != nil {
		return r, nil, err
	}
	if r.faults, err = find("fault", p.Faults, cells.ByName); err != nil {
		return r, nil, err
	}
	for _, f := range r.faults {
		for _, d := range r.designs {
			if _, listed := cells.ExpectationOf(f.Name, d.Name); !listed && p.Listed {
				continue
			}
			r.Planned += int(p.Seeds)
			for from := uint64(0); from < p.Seeds; from += chunk {
				all = append(all, job{f, d, from, min(p.Seeds, from+chunk)})
			}
		}
	}
	slices.SortStableFunc(all, func(i, j job) int { return cmp.Compare(i.from, j.from) })
	return r, all, nil
}

// Play plays a Plan. It calls progress, if that isn't nil, with the number of finished runs, and of all runs; calls don't
// overlap. When ctx ends, it stops and returns the result so far, without an error. The result of a whole Plan depends
// only on the Plan.
//
// Errors are ErrPlan, cells.ErrUnknown and designs.ErrUnknown.
func Play(ctx context.Context, p Plan, progress func(runs, of int)) (Result, error) {
	r, jobs, err := p.plan()
	if err != nil {
		return Result{}, err
	}
	played := 0
	play := func(n uint64) (tally, error) { return jobs[n].play() }
	err = farm.Play(ctx, uint64(len(jobs)), play, func(n uint64, result tally) {
		played++
		r.Runs += result.Runs
		sum, begun := r.sums[jobs[n].cell()]
		if !begun {
			sum = newTally()
		}
		sum.add(result)
		r.sums[jobs[n].cell()] = sum
		if progress != nil {
			progress(r.Runs, r.Planned)
		}
	})
	if err != nil {
		j := jobs[played]
		err = fmt.Errorf("%s with %s, seeds from %d: %w", j.fault.Name, j.design.Name, j.from, err)
	}
	r.Ended = r.Runs == r.Planned
	return r, err
}
