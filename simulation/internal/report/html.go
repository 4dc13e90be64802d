package report

import (
	"cmp"
	_ "embed" // for the page's parts
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// HTML writes the report as one self-contained page of less than a megabyte, light or dark
// like the reader's system. The results are readable without scripts and reachable with the
// keyboard. The script shows the runs that a reader opens.
func HTML(w io.Writer, r Report) error {
	p := newPage(r)
	t, err := template.New("page").Funcs(template.FuncMap{
		"grouped": func(n int) string { return grouped(int64(n)) },
		"join":    func(s []string) string { return strings.Join(s, "; ") },
		"head":    func(lines [2]string) string { return strings.TrimSpace(lines[0] + " " + lines[1]) },
		"runs":    (*Summary).runs, "note": func(s *Summary) string { return s.Note + s.legend() },
		"link": p.link, "cell": p.cell, "fault": faultAnchor,
	}).Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("report: writing HTML: %w", err)
	}
	return nil
}

// page is a Report with what the template can't compute.
type page struct {
	Report
	CSS  template.CSS
	JS   template.JS
	Data template.HTML // of the runs

	Parts   []part
	Figures []figureView
	Faults  []faultView

	runs    runs
	anchors map[string]bool // of the parts of the page
}

type part struct{ ID, Name string }

// figureView is a run of the opening.
type figureView struct {
	SVG     template.HTML
	Command string
}

func newPage(r Report) *page {
	r.Title = cmp.Or(r.Title, "Lock designs under faults")
	p := &page{
		Report: r, anchors: map[string]bool{}, JS: template.JS(pageJS), //nolint:gosec // this package's
		CSS: template.CSS(drawing.Page() + pageCSS), //nolint:gosec // all of it is this module's
	}
	p.runs = drawRuns(r.Timelines)
	p.Data = template.HTML(p.runs.data()) //nolint:gosec // letters and digits
	p.opening()
	p.cells()
	p.parts()
	return p
}

// link is the link to an anchor, "" if the page doesn't have it.
func (p *page) link(anchor string) string {
	if !p.anchors[anchor] {
		return ""
	}
	return "#" + anchor
}

func (p *page) parts() {
	for _, o := range []struct {
		id, name string
		shown    bool
	}{
		{"summary", "In short", p.Summary != nil && len(p.Summary.Cells) > 0},
		{"matrix", "All designs and faults", len(p.Matrix.Designs) > 0}, {"cells", "Cell by cell", len(p.Faults) > 0},
		{"about", "About", p.About()},
	} {
		if o.shown {
			p.Parts = append(p.Parts, part{o.id, o.name})
		}
	}
}

// About reports whether the page says how the report was made.
func (p *page) About() bool {
	return len(p.Notes) > 0 || p.Version != "" || p.Seeds != "" || p.Runs > 0 || p.Command != ""
}

func (p *page) opening() {
	if p.Opening == nil {
		return
	}
	for _, run := range p.Opening.Runs {
		var c drawing.Canvas
		timeline.Of(run.Log).Small(&c, run.Title)
		p.Figures = append(p.Figures, figureView{SVG: template.HTML(c.Inline()), Command: run.Command}) //nolint:gosec // drawn from the log, texts escaped
	}
}
