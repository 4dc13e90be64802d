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

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"kinds":   Kinds,
	"seconds": func(d time.Duration) time.Duration { return d.Round(time.Second) },
	"join":    func(all []string) string { return strings.Join(all, "; ") },
}).Parse(pageText))

// Page writes the report as a page of HTML that needs nothing else.
func (r Report) Page(w io.Writer) error { return pageTemplate.Execute(w, r) }
