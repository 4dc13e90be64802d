package report

import (
	"cmp"
	_ "embed" // for the page's parts
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/drawing"
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
	r.Title = cmp.Or(r.Title, "Lock designs under faults")
	p := &page{
		Report: r, JS: template.JS(pageJS), //nolint:gosec // this package's
		CSS: template.CSS(drawing.Page() + pageCSS), //nolint:gosec // all of it is this module's
	}
	runs := drawRuns(r.Timelines)
	p.Data = template.HTML(runs.data()) //nolint:gosec // letters and digits
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"grouped": func(n int) string { return grouped(int64(n)) },
		"join":    func(s []string) string { return strings.Join(s, "; ") },
		"anchor":  cellAnchor,
		"fault":   faultAnchor,
		"picture": func(design, fault string) string { return runs.indexes[[2]string{design, fault}] },
	}).Parse(pageTemplate))
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
}
