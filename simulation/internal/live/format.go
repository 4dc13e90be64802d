//go:build unix

package live

import (
	"fmt"
	"io"
	"time"

	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// Heading returns the first line of the table.
func Heading() string { return columns("scenario", "design", "seen, as predicted") }

func columns(name, design, seen string) string {
	return fmt.Sprintf("%-10s %-17s %s", name, design, seen)
}

// Print writes the line of the table, followed by details if it does not agree.
func (l Line) Print(w io.Writer) {
	seen, more := scenarios.Verdict{Kinds: l.Seen}.String(), []string(nil)
	switch {
	case l.Skipped != "":
		seen, more = "skipped", []string{l.Skipped}
	case l.Err != "":
		seen, more = "FAILED", []string{l.Err}
	case !l.Agrees:
		seen, more = "NOT as predicted", []string{"predicted: " + scenarios.Verdict{Kinds: l.Predicted}.String(), "seen: " + seen}
		if l.Differs != "" {
			more = append(more, l.Differs)
		}
		for _, f := range l.Findings {
			more = append(more, fmt.Sprintf("%d: %s: %s", f.Seq, f.Kind, f.Text))
		}
	case l.Plays > 1:
		seen += fmt.Sprintf(", in play %d", l.Plays)
	}
	wrap.Paragraph(w, columns(l.Scenario, l.Design, ""), seen)
	for _, m := range more {
		wrap.Paragraph(w, "    ", m)
	}
}

// Summary returns the report in a sentence.
func (r Report) Summary() string {
	verdict := "all as the simulation predicts"
	if r.Disagreements > 0 {
		verdict = fmt.Sprintf("%d not as the simulation predicts", r.Disagreements)
	}
	text := fmt.Sprintf("%s: %d plays in %v; %s", r.Server, r.Played, r.Took.Round(time.Second), verdict)
	if r.Skipped > 0 {
		text += fmt.Sprintf("; %d skipped", r.Skipped)
	}
	return text + "."
}
