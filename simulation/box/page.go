package box

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"what":    Tally.what,
	"groups":  groups,
	"words":   Report.words,
	"round":   func(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) },
	"seconds": func(d time.Duration) time.Duration { return d.Round(time.Second) },
	"shows":   (*group).shownBy,
}).Parse(pageText))

// words explains the steps that it shows.
func (r Report) words() []Word {
	return slices.DeleteFunc(Words(), func(w Word) bool {
		return !slices.ContainsFunc(groups(r.Tallies), func(g *group) bool {
			return slices.ContainsFunc(g.Schedule, func(s Step) bool { return s.Do == w.do })
		})
	})
}

// Page writes the report as a page of HTML that needs nothing else.
func (r Report) Page(w io.Writer) error { return pageTemplate.Execute(w, r) }
