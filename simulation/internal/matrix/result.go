package matrix

import (
	"fmt"
	"maps"
	"slices"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// Matrix is the result's table of designs and faults.
func (r Result) Matrix() report.Matrix {
	var m report.Matrix
	for _, name := range r.Plan.Faults {
		f, _ := cells.ByName(name) // the plan was checked
		m.Faults = append(m.Faults, report.Axis{Name: f.Name, Title: f.Title, Source: f.Source})
	}
	for _, name := range r.Plan.Designs {
		d, _ := designs.ByName(name)
		axis := report.Axis{Name: d.Name, Title: d.Title, Source: d.Source}
		if d.Fenced() {
			axis.Title += " (judged by the data)"
		}
		m.Designs = append(m.Designs, axis)
		cells := make([]report.Cell, len(r.Plan.Faults))
		for i, fault := range r.Plan.Faults {
			cells[i] = r.cell(fault, d)
		}
		m.Cells = append(m.Cells, cells)
	}
	return m
}

func (r Result) cell(fault string, d designs.Design) report.Cell {
	sum := r.of(fault, d.Name)
	if sum.Runs == 0 {
		return report.Cell{}
	}
	c := report.Cell{
		Runs: sum.Runs, Violated: sum.Violated.Runs, Overvalued: sum.Overvalued, Kinds: map[string]int{}, First: map[string]uint64{},
		Unexpected: r.check(fault, d) != nil,
	}
	if want, ok := cells.ExpectationOf(fault, d.Name); ok {
		c.Expected = want.String()
	}
	for kind, f := range sum.Kinds {
		if cells.Harms(d, kind) {
			c.Kinds[string(kind)], c.First[string(kind)] = f.Runs, f.First
		}
	}
	if c.Violated > 0 {
		c.Seed = sum.Violated.First
		c.Command = command(fault, d.Name, c.Seed)
		return c
	}
	f, _ := cells.ByName(fault)
	c.Unreached = f.Unreached(sum.Counts)
	return c
}

// check says what is unexpected in a cell.
func (r Result) check(fault string, d designs.Design) error {
	want, ok := cells.ExpectationOf(fault, d.Name)
	sum := r.of(fault, d.Name)
	if !ok || sum.Runs == 0 {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(sum.Kinds)) {
		f := sum.Kinds[kind]
		if cells.Promised(d, kind) && !want.Allows(kind) {
			return fmt.Errorf("%s under %q: %s in %d of %d runs, first with seed %d, and it was not expected, because %s", d.Name, fault, kind, f.Runs, sum.Runs, f.First, want.Why)
		}
	}
	if want.Within > 0 && sum.Broken == 0 && sum.Runs >= want.Within && r.Ended {
		return fmt.Errorf("%s under %q: nothing found in %d runs, and something was expected, because %s", d.Name, fault, sum.Runs, want.Why)
	}
	return nil
}

// Unexpected is every result that is not as expected.
func (r Result) Unexpected() []error {
	var all []error
	for _, name := range r.Plan.Designs {
		d, err := designs.ByName(name)
		if err != nil {
			continue // the plan was checked
		}
		for _, fault := range r.Plan.Faults {
			if err := r.check(fault, d); err != nil {
				all = append(all, err)
			}
		}
	}
	return all
}

// Safe is the number of runs in cells without an expected violation, and the number of
// these with one.
func (r Result) Safe() (runs, violated int) {
	for t, sum := range r.sums {
		if want, ok := cells.ExpectationOf(t.Fault, t.Design); ok && !want.Broken {
			runs += sum.Runs
			violated += sum.Broken
		}
	}
	return runs, violated
}
