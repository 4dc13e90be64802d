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

	Summary Summary
	Matrix  Matrix
}

var (
	//go:embed page.tmpl
	pageText string
	//go:embed page.css
	pageCSS string
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"grouped": grouped,
	"join":    func(s []string) string { return strings.Join(s, "; ") },
	"picture": picture,
	"legend":  func() string { return legend },
	"signs":   timeline.Legend,
	"css":     func() template.CSS { return template.CSS(drawing.Page() + pageCSS) }, //nolint:gosec // all of it is this module's
}).Parse(pageText))

// picture draws the cell's run.
func picture(c Cell) template.HTML {
	if c.Log == nil {
		return ""
	}
	var canvas drawing.Canvas
	timeline.Of(c.Log).Draw(&canvas)
	return template.HTML(canvas.Inline()) //nolint:gosec // it has escaped its texts
}

// HTML writes the report as one self-contained page, light or dark like the reader's system. It has no script, and
// all of it can be reached with the keyboard.
func HTML(w io.Writer, r Report) error {
	if err := pageTemplate.Execute(w, r); err != nil {
		return fmt.Errorf("report: writing HTML: %w", err)
	}
	return nil
}
