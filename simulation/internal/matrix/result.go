package matrix

import (
	"fmt"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// Result is the result of a Plan.
type Result struct {
	// Ended says that the whole Plan was played.
	Ended bool
	// Runs is the number of runs that were played, of all that were planned.
	Runs, Planned int

	designs []designs.Design
	faults  []cells.Fault
	sums    map[name]tally
}

// Matrix is the result's table of designs and faults.
func (r Result) Matrix() report.Matrix {
	var m report.Matrix
	for _, f := range r.faults {
		m.Faults = append(m.Faults, report.Axis{Name: f.Name, Title: f.Title, Source: f.Source})
	}
	for _, d := range r.designs {
		axis := report.Axis{Name: d.Name, Title: d.Title, Source: d.Source}
		if d.Fenced() {
			axis.Title += " (judged by the data)"
		}
		m.Designs = append(m.Designs, axis)
		row := make([]report.Cell, len(r.faults))
		for i, f := range r.faults {
			row[i] = r.cell(name{f.Name, d.Name})
		}
		m.Cells = append(m.Cells, row)
	}
	return m
}

// cell is a cell with what is expected of it.
func (r Result) cell(of name) report.Cell {
	sum := r.sums[of]
	c := sum.Cell
	if c.Runs == 0 {
		return report.Cell{}
	}
	c.Unexpected = sum.Surprises > 0
	if want, ok := cells.ExpectationOf(of.fault, of.design); ok {
		c.Expected = want.String()
	}
	if c.Violated > 0 {
		c.Command = fmt.Sprintf("redlocksim run %s -design %s -seed %d", of.fault, of.design, c.Seed)
	} else if f, err := cells.ByName(of.fault); err == nil {
		c.Unreached = f.Unreached(sum.Counts)
	}
	return c
}

// Unexpected is every result that is not as expected.
func (r Result) Unexpected() []error {
	var all []error
	for _, d := range r.designs {
		for _, f := range r.faults {
			if sum := r.sums[name{f.Name, d.Name}]; sum.Surprises > 0 {
				all = append(all, fmt.Errorf("%s under %q: in %d of %d runs, first with seed %d: %s", d.Name, f.Name, sum.Surprises, sum.Runs, sum.SurpriseSeed, sum.Surprise))
			}
		}
	}
	return all
}

// Safe is the number of runs in cells without an expected violation, and the number of
// these with one.
func (r Result) Safe() (runs, violated int) {
	for of, sum := range r.sums {
		if want, ok := cells.ExpectationOf(of.fault, of.design); ok && len(want.May) == 0 {
			runs += sum.Runs
			violated += sum.Surprises
		}
	}
	return runs, violated
}

// WithLogs is the matrix with the logs of the first run of each violated cell, which are played again.
func (r Result) WithLogs() (report.Matrix, error) {
	m := r.Matrix()
	for i, d := range r.designs {
		for j, f := range r.faults {
			c := &m.Cells[i][j]
			if c.Violated == 0 {
				continue
			}
			result, err := f.Play(c.Seed, d)
			if err != nil {
				return m, err
			}
			c.Log = result.Log
		}
	}
	return m, nil
}
