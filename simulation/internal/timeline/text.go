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

// Text writes the run as lines of text below a title: when something happened, what it was, and the
// Summary.
func (t *Timeline) Text(w io.Writer, title string) error {
	out := bufio.NewWriter(w)
	paragraph := func(head, text, indent string) {
		for _, line := range wrap.Lines(text, textWidth, head, indent) {
			_, _ = out.WriteString(strings.TrimRight(line, " ") + "\n") // Flush returns the error
		}
	}
	paragraph("", title, "")
	_ = out.WriteByte('\n')
	for _, step := range t.Story() {
		mark := "  "
		if step.Alarm {
			mark = "  !! "
		}
		paragraph(fmt.Sprintf("%*s%s", timeWidth, Clock(step.At), mark), step.Text, strings.Repeat(" ", timeWidth+2))
	}
	_ = out.WriteByte('\n')
	for _, s := range t.Summary() {
		paragraph("", s, "   ")
	}
	return out.Flush()
}
