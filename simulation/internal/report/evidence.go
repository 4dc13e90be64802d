package report

import (
	"fmt"
	"strconv"
	"strings"
)

// cellView is a cell in a table: a word, a colour, and a link to its evidence.
type cellView struct{ Class, Head, Link string }

// faultView has the details of a column.
type faultView struct {
	Axis
	Anchor string
	Cells  []evidenceView
}

// evidenceView has the details of a cell.
type evidenceView struct {
	Anchor, Design, Class, Head, Interval, Expected, Command string
	Kinds                                                    []kindCount
	Unreached                                                []string
	Run                                                      int // of the page's data, -1 if there is none
}

type kindCount struct {
	Name  string
	Runs  int
	First string // seed, "" if it isn't known
}

// class is the CSS class of a cell.
func (c Cell) class() string {
	class := ""
	switch {
	case c.Runs == 0:
		class = "quiet"
	case c.Violated > 0:
		class = "bad"
	case c.proves():
		class = "none"
	default:
		class = "unproved"
	}
	if c.Unexpected {
		class += " unexpected"
	}
	return class
}

// cells collects the details of each cell, by fault.
func (p *page) cells() {
	m := p.Matrix
	for j, fault := range m.Faults {
		f := faultView{Axis: fault, Anchor: faultAnchor(fault.Name)}
		p.anchors[f.Anchor] = true
		for i, design := range m.Designs {
			c := m.At(i, j)
			if c.Runs == 0 {
				continue
			}
			e := evidenceView{
				Anchor: cellAnchor(design.Name, fault.Name), Design: design.Name, Class: c.class(), Head: c.Word(),
				Expected: c.Expected, Command: c.Command, Run: p.runs.index(c.Timeline), Unreached: c.Unreached,
			}
			_, high := c.Interval()
			if c.Violated > 0 {
				e.Interval = fmt.Sprintf("%s of %s runs: %s", grouped(int64(c.Violated)), grouped(int64(c.Runs)), c.intervalText())
			} else {
				e.Interval = fmt.Sprintf("none of %s runs: at most %s %% is likely", grouped(int64(c.Runs)), exact(high))
			}
			for _, kind := range c.kinds() {
				count := kindCount{Name: kind, Runs: c.Kinds[kind]}
				if seed, known := c.First[kind]; known {
					count.First = strconv.FormatUint(seed, 10)
				}
				e.Kinds = append(e.Kinds, count)
			}
			p.anchors[e.Anchor] = true
			f.Cells = append(f.Cells, e)
		}
		p.Faults = append(p.Faults, f)
	}
}

func (p *page) cell(c Cell, design, fault string) cellView {
	return cellView{Class: c.class(), Head: c.Word(), Link: p.link(cellAnchor(design, fault))}
}

// storyView is a scenario with its result for each design.
type storyView struct {
	ID, Anchor, Title, Source, Steps string
	Broken, Played                   int
	Wrong                            bool
	Endings                          []ending
	Shown                            []shownRun
}

// ending is one result, and the designs that have it.
type ending struct {
	Kinds, Expected string
	Designs         []string
	OK              bool
	Seed            string // if it isn't as expected
}

// shownRun is a run of a scenario.
type shownRun struct {
	Title, Command string
	Run            int
}

// stories collects the rows of each scenario.
func (p *page) stories() {
	runs := map[string]TimelineRun{}
	for _, t := range p.Report.Timelines {
		runs[t.ID] = t
	}
	at := map[string]int{}
	for _, v := range p.Verdicts {
		i, known := at[v.Scenario]
		if !known {
			i = len(p.Stories)
			at[v.Scenario] = i
			story := storyView{ID: v.Scenario, Anchor: scenarioAnchor(v.Scenario), Title: v.Title, Source: v.Source}
			p.anchors[story.Anchor] = true
			p.Stories = append(p.Stories, story)
		}
		s := &p.Stories[i]
		s.Played++
		if len(v.Seen) > 0 {
			s.Broken++
		}
		if v.OK {
			p.VerdictsOK++
		} else {
			s.Wrong = true
		}
		s.end(v)
		if run, ok := runs[v.Timeline]; ok {
			s.Steps = run.Words
			s.Shown = append(s.Shown, shownRun{Title: v.Design, Command: run.Command, Run: p.runs.index(run.ID)})
		}
	}
}

// end adds a row to those with the same result.
func (s *storyView) end(v VerdictRow) {
	e := ending{Kinds: kindsText(v.Seen), Expected: kindsText(v.Expected), Designs: []string{v.Design}, OK: v.OK}
	if !v.OK {
		e.Seed = strconv.FormatUint(v.Seed, 10)
	}
	for i := range s.Endings {
		o := &s.Endings[i]
		if o.OK && e.OK && o.Kinds == e.Kinds && o.Expected == e.Expected {
			o.Designs = append(o.Designs, v.Design)
			return
		}
	}
	s.Endings = append(s.Endings, e)
}

// List names the designs of an ending.
func (e ending) List() string { return strings.Join(e.Designs, ", ") }

// The anchors of a page's parts.

func scenarioAnchor(id string) string        { return "scenario-" + safeID(id) }
func faultAnchor(name string) string         { return "fault-" + safeID(name) }
func cellAnchor(design, fault string) string { return "cell-" + safeID(design) + "-" + safeID(fault) }
