package live

import (
	"fmt"
	"io"
	"time"

	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/wrap"
	"github.com/redquorum/redlock/simulation/record"
)

// Line is the result of one case with one design.
type Line struct {
	Scenario string `json:"scenario"`
	Fault    string `json:"fault"`
	Design   string `json:"design"`
	// Predicted is what the simulation found, and Seen what was observed on real
	// servers. Both are sorted.
	Predicted []record.ViolationKind `json:"predicted"`
	Seen      []record.ViolationKind `json:"seen"`
	Agrees    bool                   `json:"agrees"`
	// Plays is how often the case was played: only the last play is shown.
	Plays int `json:"plays"`
	// Differs says what a client did or was told and should not have, or the other way around.
	Differs string `json:"differs,omitempty"`
	// Skipped says why it did not run, and Err why it failed. With either, Agrees has no
	// meaning.
	Skipped string `json:"skipped,omitempty"`
	Err     string `json:"error,omitempty"`
	// Findings are those of the box.
	Findings []box.Finding `json:"findings,omitempty"`
}

// OK reports whether the line agrees or was skipped.
func (l Line) OK() bool { return l.Skipped != "" || l.Err == "" && l.Agrees }

// Report is the result of Run.
type Report struct {
	// Server is the version of the servers: "redis 7.0.15".
	Server string `json:"server"`
	Lines  []Line `json:"lines"`
	// Played and Skipped count the lines. Disagreements counts those that are not OK.
	Played        int           `json:"played"`
	Skipped       int           `json:"skipped"`
	Disagreements int           `json:"disagreements"`
	Took          time.Duration `json:"took_ns"`
}

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
