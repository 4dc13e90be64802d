package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// Plan says what to play. The zero Plan is nothing; see DefaultPlan.
type Plan struct {
	// Designs and Faults name the matrix's rows and columns, in the order in which
	// they are shown. Both empty: no matrix.
	Designs, Faults []string
	// Listed leaves cells out for which there is no Expectation.
	Listed bool
	// Scenarios are the IDs of the scenarios to play. Empty: all of them.
	Scenarios []string
	// Seeds is how many seeds, from 0 on, each cell is played with; ScenarioSeeds
	// that for each scenario with each of its designs, CurveSeeds for each point of
	// each curve, some of which get more or fewer. 0: none.
	Seeds, ScenarioSeeds, CurveSeeds uint64
}

// DefaultPlan is what half a minute on two processors is enough for.
func DefaultPlan() Plan {
	p := Plan{Listed: true, Seeds: 50, ScenarioSeeds: 3, CurveSeeds: 60}
	for _, d := range designs.All() {
		if len(expectedOf(d.Name)) > 0 {
			p.Designs = append(p.Designs, d.Name)
		}
	}
	for _, f := range Faults() {
		p.Faults = append(p.Faults, f.Name)
	}
	return p
}

// PlanFor sets these designs beside a few that are well known, under all faults, and in
// the curves if they were registered.
func PlanFor(names ...string) Plan {
	p := DefaultPlan()
	p.Designs, p.Listed, p.ScenarioSeeds = nil, false, 0
	for _, name := range append(names, "setpx-cad", "redlock", "default", "token-admit") {
		if !slices.Contains(p.Designs, name) {
			p.Designs = append(p.Designs, name)
		}
	}
	return p
}

// ErrPlan is wrapped by the error for a Plan or a Pool that makes no sense.
var ErrPlan = errors.New("matrix: bad plan")

// validate says what is wrong with a plan.
func (p Plan) validate() error {
	const too = 1 << 32
	if p.Seeds > too || p.ScenarioSeeds > too || p.CurveSeeds > too {
		return fmt.Errorf("%w: %d, %d and %d seeds, want at most %d of each", ErrPlan, p.Seeds, p.ScenarioSeeds, p.CurveSeeds, uint64(too))
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
		if _, err := ByName(name); err != nil {
			return err
		}
	}
	for _, id := range p.Scenarios {
		if _, err := scenarios.ByID(id); err != nil {
			return err
		}
	}
	if (len(p.Designs) == 0) != (len(p.Faults) == 0) {
		return fmt.Errorf("%w: designs without faults, or faults without designs: name some of both", ErrPlan)
	}
	return nil
}

// scenarios are those that the plan plays.
func (p Plan) scenarios() []scenarios.Scenario {
	return slices.DeleteFunc(scenarios.All(), func(s scenarios.Scenario) bool {
		return len(p.Scenarios) > 0 && !slices.ContainsFunc(p.Scenarios, func(id string) bool { return strings.EqualFold(id, s.ID) })
	})
}

// chunk is how many seeds a task has at most: small enough for all workers to be busy
// to the end.
const chunk = 30

// tasks is all that is to be played. Of everything the first seeds come first, so
// that an interruption leaves a whole picture of fewer runs.
func (p Plan) tasks() []task {
	var all []task
	add := func(of part, a, b string, seeds uint64) {
		for from := uint64(0); from < seeds; from += chunk {
			all = append(all, task{Part: of, A: a, B: b, From: from, To: min(seeds, from+chunk)})
		}
	}
	if p.ScenarioSeeds > 0 {
		for _, s := range p.scenarios() {
			for _, d := range s.Designs() {
				seeds := p.ScenarioSeeds
				if s.Verdicts[d.Name].AtLeast > 0 {
					seeds = max(seeds, rateSeeds)
				}
				add(ofVerdict, s.ID, d.Name, seeds)
			}
		}
	}
	for _, f := range p.Faults {
		for _, d := range p.Designs {
			if _, listed := ExpectationOf(f, d); listed || !p.Listed {
				add(ofCell, f, d, p.Seeds)
			}
		}
	}
	if p.CurveSeeds > 0 {
		for _, c := range curves() {
			for i, s := range c.series {
				for j := range s.points {
					add(ofCurve, c.id, c.name(i, j), s.runs(p.CurveSeeds))
				}
			}
		}
	}
	slices.SortStableFunc(all, func(t, u task) int { return cmp.Compare(t.From, u.From) })
	return all
}

// Result is what a Plan came to.
type Result struct {
	Plan Plan
	// Ended says that all of it was played.
	Ended bool
	// Runs and Events are how much was, and Planned how many runs all of it is.
	Runs, Events int
	Planned      int

	sums map[task]tally // by Part, A and B alone
}

// Play plays a Plan. When ctx ends it stops, and gives what was played so far, without
// an error. The result depends on the Plan alone, if it was played to its end.
//
// Errors are ErrPlan, ErrUnknown, designs.ErrUnknown, scenarios.ErrUnknown, and those of workers that couldn't be started or
// died.
func Play(ctx context.Context, p Plan, pool Pool) (Result, error) {
	if err := p.validate(); err != nil {
		return Result{}, err
	}
	tasks := p.tasks()
	sums, err := pool.deal(ctx, tasks)
	r := Result{Plan: p, Ended: err == nil, sums: map[task]tally{}}
	for i, sum := range sums {
		r.Planned += int(tasks[i].To - tasks[i].From)
		if sum == nil {
			r.Ended = false
			continue
		}
		r.Runs += sum.Runs
		r.Events += sum.Events
		whole := task{Part: tasks[i].Part, A: tasks[i].A, B: tasks[i].B}
		total := r.sums[whole]
		total.add(*sum)
		r.sums[whole] = total
	}
	return r, err
}

func (r Result) of(p part, a, b string) tally { return r.sums[task{Part: p, A: a, B: b}] }
