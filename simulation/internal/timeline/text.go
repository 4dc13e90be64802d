package timeline

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/wrap"
)

const (
	textWidth = 100
	timeWidth = 14
)

// Text writes the run as lines of text below a title: when something happened, and what it was.
func (t *Timeline) Text(w io.Writer, title string) error {
	out := bufio.NewWriter(w) // Flush returns the error
	fmt.Fprintf(out, "%s\n\n", strings.Join(wrap.Lines(title, textWidth, "", ""), "\n"))
	for _, step := range t.Story() {
		mark := "  "
		if step.Alarm {
			mark = "  !! "
		}
		lines := wrap.Lines(step.Text, textWidth, fmt.Sprintf("%*s%s", timeWidth, Clock(step.At), mark), strings.Repeat(" ", timeWidth+2))
		fmt.Fprintln(out, strings.Join(lines, "\n"))
	}
	return out.Flush()
}
