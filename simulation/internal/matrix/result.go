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
	cells   []*cell
}

// cell is the cell of a design and a fault, nil if it isn't in the Plan.
func (r Result) cell(design, fault string) *cell {
	for _, c := range r.cells {
		if c.design.Name == design && c.fault.Name == fault {
			return c
		}
	}
	return nil
}

// row is a design's row of the table.
func (r Result) row(design string, faults []report.Axis) (row []report.Cell) {
	for _, f := range faults {
		row = append(row, r.cell(design, f.Name).report())
	}
	return row
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
		m.Cells = append(m.Cells, r.row(d.Name, m.Faults))
	}
	return m
}

// Unexpected is every result that is not as expected.
func (r Result) Unexpected() (all []error) {
	for _, c := range r.cells {
		if c.surprises > 0 {
			all = append(all, fmt.Errorf("%s under %q: in %d of %d runs, %s", c.design.Name, c.fault.Name, c.surprises, c.sum.Runs, c.surprise))
		}
	}
	return all
}

// Safe is the number of runs in cells without an expected violation, and the number of
// these with one.
func (r Result) Safe() (runs, violated int) {
	for _, c := range r.cells {
		if c.listed && len(c.want.May) == 0 {
			runs += c.sum.Runs
			violated += c.surprises
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
