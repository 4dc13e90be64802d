package box

import (
	_ "embed"
	"html/template"
	"io"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"what":    Tally.what,
	"finding": Broken.Finding,
	"round":   func(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) },
	"seconds": func(d time.Duration) time.Duration { return d.Round(time.Second) },
	"shows":   func(b Broken, e Entry) bool { return b.Finding().Seq == e.Seq },
}).Parse(pageText))

// Page writes the report as a page of HTML that needs nothing else.
func (r Report) Page(w io.Writer) error { return pageTemplate.Execute(w, r) }
