package matrix

import (
	"context"
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/farm"
)

// Plan says what to play. The zero Plan is nothing; see DefaultPlan.
type Plan struct {
	// Designs and Faults name the matrix's rows and columns, in their order.
	Designs, Faults []string
	// Listed leaves out cells without an Expectation.
	Listed bool
	// Seeds is the number of seeds, from 0, of each cell.
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

// find looks names up.
func find[T any](names []string, byName func(string) (T, error)) (all []T, err error) {
	for _, name := range names {
		one, err := byName(name)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// begin is the plan's result without runs.
func (p Plan) begin() (r Result, err error) {
	if r.designs, err = find(p.Designs, designs.ByName); err != nil {
		return r, err
	}
	if r.faults, err = find(p.Faults, cells.ByName); err != nil {
		return r, err
	}
	for _, f := range r.faults {
		for _, d := range r.designs {
			if c := newCell(f, d); c.listed || !p.Listed {
				r.cells = append(r.cells, c)
			}
		}
	}
	r.Planned = len(r.cells) * int(p.Seeds)
	return r, nil
}

// Play plays a Plan. It calls progress, if that isn't nil, with the numbers of finished and of all runs; calls don't
// overlap. When ctx ends, it stops and returns the result so far, without an error. The result of a whole Plan depends
// only on the Plan.
//
// The error Is byname.ErrUnknown, or that of a run.
func Play(ctx context.Context, p Plan, progress func(runs, of int)) (Result, error) {
	r, err := p.begin()
	if err != nil {
		return Result{}, err
	}
	// The first seeds of all cells come first, so that an interrupted plan has fewer runs of each.
	n := uint64(len(r.cells))
	play := func(job uint64) (outcome, error) { return r.cells[job%n].play(job / n) }
	err = farm.Play(ctx, n*p.Seeds, play, func(job uint64, o outcome) {
		r.cells[job%n].add(job/n, o)
		r.Runs++
		if progress != nil {
			progress(r.Runs, r.Planned)
		}
	})
	if err != nil {
		failed := r.cells[uint64(r.Runs)%n]
		err = fmt.Errorf("%s with %s: %w", failed.fault.Name, failed.design.Name, err)
	}
	r.Ended = r.Runs == r.Planned
	return r, err
}
