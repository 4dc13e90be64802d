package timeline

import (
	"fmt"
	"io"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/wrap"
)

const (
	textWidth = 100
	timeWidth = 14
)

// Text writes the run as lines of text below a title: when something happened, and what it was. Its errors are lost,
// so the writer has to keep them.
func (t *Timeline) Text(w io.Writer, title string) {
	fmt.Fprintf(w, "%s\n\n", strings.Join(wrap.Lines(title, textWidth, "", ""), "\n"))
	for _, step := range t.Story() {
		mark := "  "
		if step.Alarm {
			mark = "  !! "
		}
		lines := wrap.Lines(step.Text, textWidth, fmt.Sprintf("%*s%s", timeWidth, Clock(step.At), mark), strings.Repeat(" ", timeWidth+2))
		fmt.Fprintln(w, strings.Join(lines, "\n"))
	}
}
