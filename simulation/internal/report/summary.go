package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// Summary is a small matrix for readers who want the results first. Its text has the faults as rows. The
// titles of its designs are columns' headings: two lines of at most 10 letters.
type Summary struct {
	Matrix
	Runs int    // the largest number of runs of a cell
	Note string // what counts as a violation
	// Others names other faults that break a lock. It is optional.
	Others string
}

// summaryWidth is the width of a summary's text in columns. Longer lines are hard to read.
const summaryWidth = 80

// headWidth is the width of a column, including a blank before it.
const headWidth = 11

// Text writes the summary for a terminal. Its errors are lost, so the writer has to keep them.
func (s Summary) Text(w io.Writer) {
	if s.Runs == 0 {
		return
	}
	first := summaryWidth - headWidth*len(s.Designs)
	row := func(head string, cell func(j int) string) {
		fmt.Fprintf(w, "%-*.*s", first, first, head)
		for j := range s.Designs {
			fmt.Fprintf(w, "%*s", headWidth, cell(j))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "How often a lock fails, of %s runs each:\n\n", grouped(s.Runs))
	for i := range 2 {
		row("", func(j int) string { return strings.Split(s.Designs[j].Title+"\n", "\n")[i] })
	}
	fmt.Fprintln(w, strings.Repeat("─", first+headWidth*len(s.Designs)))
	for i, f := range s.Faults {
		row(f.Title, func(j int) string { return s.At(j, i).Word() })
	}
	for _, text := range []string{s.Others, s.Note + " " + legend} {
		if text != "" {
			fmt.Fprintf(w, "\n%s\n", strings.Join(wrap.Lines(text, summaryWidth, "", ""), "\n"))
		}
	}
}
