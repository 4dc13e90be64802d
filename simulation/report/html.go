package report

import (
	"bytes"
	_ "embed" // for the page's parts
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/timeline"
	"github.com/redquorum/redlock/simulation/timeline/palette"
)

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// HTML writes the report as one page that loads nothing, in light or dark as the
// reader's system asks. All of it can be read without scripts and reached with the
// keyboard. A trace that isn't one is said so on the page.
func HTML(w io.Writer, r Report) error {
	p, err := newPage(r)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"grouped": func(n int) string { return grouped(int64(n)) },
		"join":    func(s []string) string { return strings.Join(s, "; ") },
		"kinds":   kindsText,
		"link":    p.link,
	}).Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("report: writing HTML: %w", err)
	}
	return nil
}

func kindsText(kinds []string) string {
	if len(kinds) == 0 {
		return "none"
	}
	return strings.Join(kinds, ", ")
}

// page is a Report with what the template can't work out.
type page struct {
	Report
	CSS template.CSS
	JS  template.JS

	Parts         []part
	Rows          []row
	Found         []found
	Sources       []Axis
	VerdictsOK    int
	MutantsCaught int
	Curves        []curveView
	Timelines     []timelineView

	anchors map[string]string // of timelines, by their IDs
}

type part struct{ ID, Name string }

type row struct {
	Axis
	Cells []cellView
}

type cellView struct {
	Class, Head, Link string
	Small             []string
}

// found is a cell in full.
type found struct {
	Design, Fault, Interval, Command string
	Violated, Runs                   int
	Kinds                            []kindCount
	Seed                             uint64
}

type kindCount struct {
	Name  string
	Runs  int
	First string // seed, "" if it isn't known
}

type curveView struct {
	Curve
	SVG            template.HTML
	XLabel, YLabel string
	Points         []pointView
}

type pointView struct {
	Series, X, Y string
	Runs         int
}

type timelineView struct {
	TimelineRun
	Anchor, Broken, Trouble string
	SVG                     template.HTML
	Story                   []stepView
}

type stepView struct{ At, Text, Class string }

func newPage(r Report) (*page, error) {
	if r.Title == "" {
		r.Title = "Lock designs under faults"
	}
	p := &page{
		Report: r, anchors: map[string]string{},
		CSS: template.CSS(palette.CSS(":root") + pageCSS + timeline.Style() + chartStyle), //nolint:gosec // all of it is this package's
		JS:  template.JS(pageJS),                                                          //nolint:gosec // as above
	}
	taken := map[string]bool{}
	for _, t := range r.Timelines {
		anchor := "t-" + safeID(t.ID)
		if taken[anchor] {
			return nil, fmt.Errorf("two timelines have the ID %q, or one that differs only in what isn't a letter or a digit; links need different ones", t.ID)
		}
		taken[anchor], p.anchors[t.ID] = true, anchor
	}
	p.matrix()
	for _, v := range r.Verdicts {
		if v.OK {
			p.VerdictsOK++
		}
	}
	for _, m := range r.Mutants {
		if m.Caught {
			p.MutantsCaught++
		}
	}
	for _, c := range r.Curves {
		view, err := viewCurve(c)
		if err != nil {
			return nil, err
		}
		p.Curves = append(p.Curves, view)
	}
	for i, t := range r.Timelines {
		p.Timelines = append(p.Timelines, viewTimeline(i, t, p.anchors[t.ID]))
	}
	p.parts()
	return p, nil
}

// link is where a timeline is, or "".
func (p *page) link(id string) string { return p.anchors[id] }

func (p *page) parts() {
	for _, o := range []struct {
		id, name string
		n        int
	}{
		{"matrix", "Designs and faults", len(p.Matrix.Designs)}, {"verdicts", "Scenarios and verdicts", len(p.Verdicts)},
		{"curves", "Curves", len(p.Curves)}, {"unreached", "Never reached", len(p.Unreached)}, {"mutants", "Mutants", len(p.Mutants)},
		{"live", "On real servers", len(p.Live)}, {"timelines", "Timelines", len(p.Timelines)},
	} {
		if o.n > 0 {
			p.Parts = append(p.Parts, part{o.id, o.name})
		}
	}
}

func (p *page) matrix() {
	m := p.Report.Matrix
	for i, design := range m.Designs {
		r := row{Axis: design}
		for j, fault := range m.Faults {
			c := m.At(i, j)
			r.Cells = append(r.Cells, p.cell(c))
			if c.Violated == 0 {
				continue
			}
			f := found{
				Design: design.Name, Fault: fault.Name, Interval: c.intervalText(), Command: c.Command,
				Violated: c.Violated, Runs: c.Runs, Seed: c.Seed,
			}
			for _, kind := range c.kinds() {
				count := kindCount{Name: kind, Runs: c.Kinds[kind]}
				if seed, known := c.First[kind]; known {
					count.First = strconv.FormatUint(seed, 10)
				}
				f.Kinds = append(f.Kinds, count)
			}
			p.Found = append(p.Found, f)
		}
		p.Rows = append(p.Rows, r)
	}
	for _, a := range slices.Concat(m.Designs, m.Faults) {
		if a.Source != "" {
			p.Sources = append(p.Sources, a)
		}
	}
}

// cell is a cell as the page shows it: by a word, a colour and the numbers.
func (p *page) cell(c Cell) cellView {
	low, high := c.Interval()
	v := cellView{Link: p.link(c.Timeline)}
	switch {
	case c.Runs == 0:
		return cellView{Class: "quiet", Head: "·"}
	case c.Violated > 0:
		v.Class, v.Head = "bad", exact(c.Rate())+" %"
		v.Small = []string{fmt.Sprintf("%s to %s %%", exact(low), exact(high)), fmt.Sprintf("seed %d", c.Seed)}
	case c.proves():
		v.Class, v.Head = "none", "none"
		v.Small = []string{fmt.Sprintf("of %s, < %s %%", grouped(int64(c.Runs)), exact(high))}
	default:
		v.Class, v.Head = "unproved", "unproven"
		v.Small = []string{"of " + grouped(int64(c.Runs))}
	}
	if c.Unexpected {
		v.Class += " unexpected"
		v.Small = append(v.Small, "not as expected")
	}
	return v
}

func viewCurve(c Curve) (curveView, error) {
	var svg bytes.Buffer
	if err := c.draw(&svg, true); err != nil {
		return curveView{}, err
	}
	ch := &chart{c: c, x: span{scale: c.X}, y: span{scale: c.Y}}
	v := curveView{Curve: c, SVG: template.HTML(svg.String()), XLabel: ch.x.label(), YLabel: ch.y.label()} //nolint:gosec // drawn here, texts escaped
	for _, s := range c.Series {
		for _, p := range ch.points(s) {
			y := ch.y.text(p.Y)
			if p.bounded() {
				y += fmt.Sprintf(" (%s to %s)", ch.y.text(p.Low), ch.y.text(p.High))
			}
			v.Points = append(v.Points, pointView{Series: s.Name, X: ch.x.text(p.X), Y: y, Runs: p.Runs})
		}
	}
	return v, nil
}

func viewTimeline(i int, run TimelineRun, anchor string) timelineView {
	v := timelineView{TimelineRun: run, Anchor: anchor}
	t, err := timeline.Parse([]byte(run.Trace))
	if err != nil {
		v.Trouble = err.Error()
		return v
	}
	var kinds []string
	for _, violation := range t.Violations {
		if !slices.Contains(kinds, violation.Kind) {
			kinds = append(kinds, violation.Kind)
		}
	}
	v.Broken = strings.Join(kinds, ", ")
	var svg bytes.Buffer
	// The page has the title already; a Buffer takes everything.
	_ = t.SVG(&svg, timeline.SVGOptions{ID: fmt.Sprintf("d%d", i+1), Inline: true, Label: run.Title})
	v.SVG = template.HTML(svg.String()) //nolint:gosec // drawn from the trace, texts escaped
	for _, s := range t.Story() {
		step := stepView{At: timeline.Clock(s.At), Text: s.Text}
		switch {
		case s.Alarm:
			step.Class, step.Text = "alarm", "!! "+s.Text
		case s.Fault:
			step.Class = "fault"
		}
		v.Story = append(v.Story, step)
	}
	return v
}
