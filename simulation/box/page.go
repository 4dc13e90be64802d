package box

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

// shown is a finding on the page.
type shown struct {
	Tally
	*Broken
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"findings": func(r Report) (all []shown) {
		for t, b := range found(r.Tallies) {
			all = append(all, shown{t, b})
		}
		return all
	},
	"kinds":   Kinds,
	"seconds": func(d time.Duration) time.Duration { return d.Round(time.Second) },
	"join":    func(all []string) string { return strings.Join(all, "; ") },
}).Parse(pageText))

// Page writes the report as a page of HTML that needs nothing else.
func (r Report) Page(w io.Writer) error { return pageTemplate.Execute(w, r) }
