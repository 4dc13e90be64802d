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
)

// HTML writes the report as one self-contained page of less than two megabytes, light or dark like the
// reader's system. It has no script, and all of it can be reached with the keyboard.
func HTML(w io.Writer, r Report) error {
	r.Title = cmp.Or(r.Title, "Lock designs under faults")
	pictures := map[[2]string]template.HTML{} // by design and fault
	for _, run := range r.Timelines {
		var c drawing.Canvas
		timeline.Of(run.Log).Draw(&c, "", run.Kinds...)
		pictures[[2]string{run.Design, run.Fault}] = template.HTML(c.Inline()) //nolint:gosec // it has escaped its texts
	}
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"grouped": func(n int) string { return grouped(int64(n)) },
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
