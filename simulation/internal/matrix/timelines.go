package matrix

import (
	"fmt"
	"slices"
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

// surprises is the largest number of unexpected verdicts with a timeline.
const surprises = 20

// Timelines plays these runs again. The runs that most readers ask for come first, because a
// page may be too small for all of them.
func (r Result) Timelines() (*Timelines, error) {
	t := &Timelines{ids: map[[2]string]string{}}
	first, others := r.shownCells()
	plays := append(append(first, r.shownVerdicts()...), others...)
	for _, play := range plays {
		if err := play(t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// shownVerdicts plays the rows with a timeline: of each scenario the first violated one, if
// possible with the library, and all that are unexpected.
func (r Result) shownVerdicts() (shown []func(*Timelines) error) {
	best := map[string]report.VerdictRow{}
	var order []string
	show := func(row report.VerdictRow) {
		shown = append(shown, func(t *Timelines) error { return t.verdict(row) })
	}
	for _, row := range r.Verdicts() {
		if !row.OK && len(shown) < surprises {
			show(row)
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
		show(best[id])
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

// shownCells plays all violated cells. The unexpected ones and those of the summary come
// first.
func (r Result) shownCells() (first, others []func(*Timelines) error) {
	chosen := func(list []report.Choice, name string) bool {
		return slices.ContainsFunc(list, func(c report.Choice) bool { return c.Name == name })
	}
	for _, name := range r.Plan.Faults {
		f, err := cells.ByName(name)
		if err != nil {
			continue // the plan was checked
		}
		for _, design := range r.Plan.Designs {
			d, err := designs.ByName(design)
			sum := r.of(ofCell, name, design)
			if err != nil || sum.Violated.Runs == 0 {
				continue
			}
			show := func(t *Timelines) error { return t.cell(f, d, sum.Violated.First) }
			if chosen(chosenFaults, name) && chosen(chosenDesigns, design) || r.check(name, d) != nil {
				first = append(first, show)
			} else {
				others = append(others, show)
			}
		}
	}
	return first, others
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
// Nil has none.
func (t *Timelines) Link(r *report.Report) {
	if t == nil {
		return
	}
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
