package matrix

import (
	"errors"
	"fmt"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// Timelines are runs chosen from a Result: the first one of each violated cell.
type Timelines struct {
	runs []report.TimelineRun
	ids  map[[2]string]string // of the runs, by fault and design
}

// Timelines plays these runs again.
func (r Result) Timelines() (*Timelines, error) {
	t := &Timelines{ids: map[[2]string]string{}}
	for _, name := range r.Plan.Faults {
		for _, design := range r.Plan.Designs {
			sum := r.of(name, design)
			if sum.Violated.Runs == 0 {
				continue
			}
			f, noFault := cells.ByName(name)
			d, noDesign := designs.ByName(design)
			if err := errors.Join(noFault, noDesign); err != nil {
				return nil, err
			}
			if err := t.cell(f, d, sum.Violated.First); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func (t *Timelines) cell(f cells.Fault, d designs.Design, seed uint64) error {
	result, err := f.Play(seed, d)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s-%s-%d", f.Name, d.Name, seed)
	t.ids[[2]string{f.Name, d.Name}] = id
	run := report.TimelineRun{ID: id, Command: command(f.Name, d.Name, seed), Log: result.Log}
	for _, kind := range result.Kinds() {
		if cells.Promised(d, kind) {
			run.Kinds = append(run.Kinds, string(kind))
		}
	}
	t.runs = append(t.runs, run)
	return nil
}

// Link puts the timelines into a report, and links its cells to them.
func (t *Timelines) Link(r *report.Report) {
	r.Timelines = t.runs
	for i, design := range r.Matrix.Designs {
		for j, fault := range r.Matrix.Faults {
			if id := t.ids[[2]string{fault.Name, design.Name}]; id != "" {
				r.Matrix.Cells[i][j].Timeline = id
			}
		}
	}
}
