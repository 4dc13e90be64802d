// Package report writes the results of simulations: a matrix of lock designs and faults,
// and timelines. It writes a self-contained HTML page, or text for a terminal.
// The output depends only on the input, which is plain data.
package report

import (
	_ "embed" // for the page's parts
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

// Report is the content of a page. Empty parts are left out.
type Report struct {
	Title string
	// Version is the version of the code, such as a commit.
	Version string
	// Command is the command line that makes the report.
	Command string
	// Seeds are the seeds of the runs, such as "0:1000".
	Seeds string
	// Runs is the number of runs.
	Runs int
	// Notes are paragraphs of plain text about how the report was made.
	Notes []string

	Summary   Summary
	Matrix    Matrix
	Timelines []TimelineRun
}

// TimelineRun is a run of a cell, with a timeline.
type TimelineRun struct {
	Design, Fault string // the cell
	Log           record.Log
}

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	pageCSS string
)

// HTML writes the report as one self-contained page of less than two megabytes, light or dark like the
// reader's system. It has no script, and all of it can be reached with the keyboard.
func HTML(w io.Writer, r Report) error {
	pictures := map[[2]string]template.HTML{} // by design and fault
	for _, run := range r.Timelines {
		var c drawing.Canvas
		timeline.Of(run.Log).Draw(&c)
		pictures[[2]string{run.Design, run.Fault}] = template.HTML(c.Inline()) //nolint:gosec // it has escaped its texts
	}
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"grouped": grouped,
		"join":    func(s []string) string { return strings.Join(s, "; ") },
		"picture": func(design, fault string) template.HTML { return pictures[[2]string{design, fault}] },
		"legend":  func() string { return legend },
		"signs":   timeline.Legend,
		"css":     func() template.CSS { return template.CSS(drawing.Page() + pageCSS) }, //nolint:gosec // all of it is this module's
	}).Parse(pageTemplate))
	if err := t.Execute(w, r); err != nil {
		return fmt.Errorf("report: writing HTML: %w", err)
	}
	return nil
}
