//go:build unix

package live

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/internal/wrap"
	"github.com/redquorum/redlock/simulation/record"
)

// The columns of the table: 92 wide, and "skipped" or "FAILED" after them.
const (
	nameWidth    = 17
	designWidth  = 17
	verdictWidth = 26
)

// Heading returns the first line of the table.
func Heading() string {
	return columns("scenario", "design", "predicted", "seen on real servers", "agrees")
}

func columns(name, design, predicted, seen, last string) string {
	return strings.TrimRight(fmt.Sprintf("%-*s %-*s %-*s %-*s %s", nameWidth, name, designWidth, design, verdictWidth, predicted, verdictWidth, seen, last), " ")
}

// shortKinds are short names of kinds for the table.
var shortKinds = map[record.ViolationKind]string{
	record.TwoHolders: "holders", record.StaleWrite: "stale", record.LostUpdate: "lost", record.TokenOrder: "tokens",
	record.NoProgress: "no progress", record.NeverFree: "never free",
}

// Legend explains the short kinds.
const Legend = "holders: two holders at once. stale: a write after a later holder's. lost: an update was lost.\n" +
	"tokens: out of order. no progress: a free lock could not be acquired. never free: and never will be."

func kinds(all []record.ViolationKind) string {
	if len(all) == 0 {
		return "-"
	}
	words := make([]string, len(all))
	for i, k := range all {
		if words[i] = shortKinds[k]; words[i] == "" {
			words[i] = string(k)
		}
	}
	return strings.Join(words, ", ")
}

// Text returns the line of the table, at most 100 columns wide, followed by details
// if it does not agree.
func (l Line) Text() string {
	name := Case{Scenario: l.Scenario, Form: l.Form}.Name()
	switch {
	case l.Skipped != "":
		return columns(name, l.Design, "", "", "skipped") + "\n" + indent(l.Skipped)
	case l.Err != "":
		return columns(name, l.Design, kinds(l.Predicted), "?", "FAILED") + "\n" + indent(l.Err)
	case !l.Agrees:
		text := columns(name, l.Design, kinds(l.Predicted), kinds(l.Seen), "NO")
		if l.Differs != "" {
			text += "\n" + indent(l.Differs)
		}
		for _, f := range l.Findings {
			text += "\n" + indent(fmt.Sprintf("%d: %s: %s", f.Seq, f.Kind, f.Text))
		}
		return text
	default:
		return columns(name, l.Design, kinds(l.Predicted), kinds(l.Seen), "yes")
	}
}

// indent breaks text into indented lines of at most 100 columns.
func indent(text string) string {
	return strings.Join(wrap.Lines(text, 100, "    ", "    "), "\n")
}

// interrupted returns a paragraph about an interruption, "" if there was none.
func (r Report) interrupted() string {
	if len(r.Lines) >= r.Planned {
		return ""
	}
	return fmt.Sprintf("INTERRUPTED after %d of %d plays. Only these are counted.\n\n", len(r.Lines), r.Planned)
}

// Summary returns the report in a sentence or two, after a note about an interruption.
func (r Report) Summary() string {
	scenarios := map[string]bool{}
	for _, line := range r.Lines {
		if line.Skipped == "" {
			scenarios[line.Scenario] = true
		}
	}
	text := fmt.Sprintf("%s: %d plays of %d scenarios in %v; ", r.Server, r.Played, len(scenarios), r.Took.Round(time.Second))
	if r.Disagreements == 0 {
		text += "all as the simulation predicts"
	} else {
		text += fmt.Sprintf("%d not as the simulation predicts", r.Disagreements)
	}
	if r.Skipped > 0 {
		text += fmt.Sprintf("; %d skipped", r.Skipped)
	}
	return r.interrupted() + text + "."
}
