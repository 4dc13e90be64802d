package matrix

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// Timelines are runs chosen from a Result: of each scenario a violated one, of each violated
// cell the first run, and all that are unexpected.
type Timelines struct {
	runs []report.TimelineRun
	ids  map[[2]string]string // of the runs, by scenario or fault, and design
}

// Timelines plays these runs again.
func (r Result) Timelines() (*Timelines, error) {
	t := &Timelines{ids: map[[2]string]string{}}
	for _, row := range r.shownVerdicts() {
		if err := t.verdict(row); err != nil {
			return nil, err
		}
	}
	return t, r.showCells(t)
}

// shownVerdicts are the rows with a timeline: of each scenario the first violated one, if
// possible with the library, and all that are unexpected.
func (r Result) shownVerdicts() (shown []report.VerdictRow) {
	best := map[string]report.VerdictRow{}
	var order []string
	for _, row := range r.Verdicts() {
		if !row.OK {
			shown = append(shown, row)
			continue
		}
		old, known := best[row.Scenario]
		if !known {
			order = append(order, row.Scenario)
		}
		if !known || rank(row) > rank(old) {
			best[row.Scenario] = row
		}
	}
	for _, id := range order {
		shown = append(shown, best[id])
	}
	return shown
}

// rank is higher for more interesting verdicts.
func rank(row report.VerdictRow) int {
	n := 0
	if len(row.Seen) > 0 {
		n += 4
	}
	switch row.Design {
	case "default":
		n += 2
	case "redlock":
		n++
	}
	return n
}

func (t *Timelines) verdict(row report.VerdictRow) error {
	s, err := scenarios.ByID(row.Scenario)
	if err != nil {
		return err
	}
	d, err := s.Design(row.Design)
	if err != nil {
		return err
	}
	result, err := s.Play(row.Seed, d)
	if err != nil {
		return err
	}
	t.add(s.ID, s.Title, d, row.Seed, strings.Join(s.Steps, "; "), result.Log)
	return nil
}

// showCells plays the first run of each violated cell.
func (r Result) showCells(t *Timelines) error {
	for _, name := range r.Plan.Faults {
		for _, design := range r.Plan.Designs {
			sum := r.of(ofCell, name, design)
			if sum.Violated.Runs == 0 {
				continue
			}
			f, noFault := cells.ByName(name)
			d, noDesign := designs.ByName(design)
			if err := errors.Join(noFault, noDesign); err != nil {
				return err
			}
			if err := t.cell(f, d, sum.Violated.First); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Timelines) cell(f cells.Fault, d designs.Design, seed uint64) error {
	result, err := f.Play(seed, d)
	if err != nil {
		return err
	}
	run := t.add(f.Name, f.Title, d, seed, "", result.Log)
	for _, kind := range result.Kinds() {
		if cells.Promised(d, kind) {
			run.Kinds = append(run.Kinds, string(kind))
		}
	}
	return nil
}

func (t *Timelines) add(name, title string, d designs.Design, seed uint64, words string, log record.Log) *report.TimelineRun {
	id := fmt.Sprintf("%s-%s-%d", name, d.Name, seed)
	t.ids[[2]string{name, d.Name}] = id
	t.runs = append(t.runs, report.TimelineRun{
		ID: id, Title: fmt.Sprintf("%s: %s · %s · seed %d", name, title, d.Name, seed),
		Command: command(name, d.Name, seed), Words: words, Log: log,
	})
	return &t.runs[len(t.runs)-1]
}

// Link puts the timelines into a report, and links its cells and verdicts to them.
func (t *Timelines) Link(r *report.Report) {
	r.Timelines = t.runs
	for i, row := range r.Verdicts {
		r.Verdicts[i].Timeline = t.ids[[2]string{row.Scenario, row.Design}]
	}
	for i, design := range r.Matrix.Designs {
		for j, fault := range r.Matrix.Faults {
			if id := t.ids[[2]string{fault.Name, design.Name}]; id != "" {
				r.Matrix.Cells[i][j].Timeline = id
			}
		}
	}
}
