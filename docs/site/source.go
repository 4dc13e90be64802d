package main

import (
	"fmt"
	"html/template"
	"os"
	"path"
	"strings"
)

// source is a file with a number at each line, to which links lead: #L7.
func source(name string, text []byte) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>%s</h1>\n<pre class=\"source\">", template.HTMLEscapeString(name))
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		fmt.Fprintf(&b, "<span id=\"L%d\"><a href=\"#L%d\">%d</a>%s</span>", n, n, n, template.HTMLEscapeString(line))
	}
	b.WriteString("</pre>\n")
	return template.HTML(b.String()) //nolint:gosec // escaped above
}

// directory links the files of a directory, and has them written.
func (s *site) directory(name string, entries []os.DirEntry) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>%s</h1>\n<ul>\n", template.HTMLEscapeString(name))
	for _, entry := range entries {
		if entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		file := path.Join(name, entry.Name())
		s.link(file)
		fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a></li>\n", template.HTMLEscapeString(path.Base(s.target(file))), template.HTMLEscapeString(entry.Name()))
	}
	b.WriteString("</ul>\n")
	return template.HTML(b.String()) //nolint:gosec // escaped above
}
