package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

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

// ErrPlan is wrapped by the error for an invalid Plan.
var ErrPlan = errors.New("matrix: bad plan")

// validate says what is wrong with a plan.
func (p Plan) validate() error {
	const too = 1 << 32
	if p.Seeds > too {
		return fmt.Errorf("%w: %d seeds, want at most %d", ErrPlan, p.Seeds, uint64(too))
	}
	for what, names := range map[string][]string{"design": p.Designs, "fault": p.Faults} {
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				return fmt.Errorf("%w: the %s %q is named twice", ErrPlan, what, name)
			}
		}
	}
	for _, name := range p.Designs {
		if _, err := designs.ByName(name); err != nil {
			return err
		}
	}
	for _, name := range p.Faults {
		if _, err := cells.ByName(name); err != nil {
			return err
		}
	}

	if (len(p.Designs) == 0) != (len(p.Faults) == 0) {
		return fmt.Errorf("%w: designs without faults, or faults without designs: name some of both", ErrPlan)
	}
	return nil
}

// chunk is the largest number of seeds of a job. It is small, so that all workers are busy
// to the end.
const chunk = 30

// jobs are all jobs of the plan. The first seeds of everything come first, so that an
// interrupted plan has fewer runs of everything.
func (p Plan) jobs() []job {
	var all []job
	for _, f := range p.Faults {
		for _, d := range p.Designs {
			if _, listed := cells.ExpectationOf(f, d); !listed && p.Listed {
				continue
			}
			for from := uint64(0); from < p.Seeds; from += chunk {
				all = append(all, job{task{Fault: f, Design: d}, from, min(p.Seeds, from+chunk)})
			}
		}
	}
	slices.SortStableFunc(all, func(i, j job) int { return cmp.Compare(i.from, j.from) })
	return all
}

// Result is the result of a Plan.
type Result struct {
	Plan Plan
	// Ended says that the whole Plan was played.
	Ended bool
	// Runs and Events count what was played. Planned is the number of runs of the Plan.
	Runs, Events int
	Planned      int

	sums map[task]tally
}

// Pool says how to play.
type Pool struct {
	// Workers are worker processes, which call Serve with the same Plan. Without them, this process plays. The result
	// doesn't depend on it.
	Workers farm.Workers
	// Progress, if set, is called with the number of finished runs, and of all runs. Calls
	// don't overlap.
	Progress func(runs, of int)
}

// Play plays a Plan. When ctx ends, it stops and returns the result so far, without an
// error. The result of a whole Plan depends only on the Plan.
//
// Errors are ErrPlan, cells.ErrUnknown, designs.ErrUnknown, and those of workers that could not be
// started or died.
func Play(ctx context.Context, p Plan, pool Pool) (Result, error) {
	if err := p.validate(); err != nil {
		return Result{}, err
	}
	r := Result{Plan: p, sums: map[task]tally{}}
	jobs := p.jobs()
	for _, j := range jobs {
		r.Planned += int(j.to - j.from)
	}
	played := 0
	play := func(n uint64) (tally, error) { return jobs[n].play() }
	err := farm.Play(ctx, pool.Workers, uint64(len(jobs)), play, func(n uint64, result tally) {
		played++
		r.Runs += result.Runs
		r.Events += result.Events
		sum := r.sums[jobs[n].task]
		sum.add(result)
		r.sums[jobs[n].task] = sum
		if pool.Progress != nil {
			pool.Progress(r.Runs, r.Planned)
		}
	})
	if err != nil {
		err = fmt.Errorf("%v: %w", jobs[played], err)
	}
	r.Ended = r.Runs == r.Planned
	return r, err
}

// Serve is a worker process: it plays its share of the Plan, and writes the results to out. Nothing else may write to out.
//
// Errors are those of Play, and that of out.
func Serve(p Plan, share string, out io.Writer) error {
	if err := p.validate(); err != nil {
		return err
	}
	jobs := p.jobs()
	return farm.Serve(share, out, uint64(len(jobs)), func(n uint64) (tally, error) { return jobs[n].play() })
}

func (r Result) of(fault, design string) tally { return r.sums[task{fault, design}] }
