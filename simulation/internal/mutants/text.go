package mutants

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// Widths of the table's columns in characters. The sum with the spaces is below 100.
const (
	nameWidth   = 29
	breaksWidth = 31
	byWidth     = 26
)

// Line returns the mutant's row of the table. It may span several lines.
func (r Result) Line() string {
	by := r.By
	switch r.Outcome {
	case outcomeSurvived:
		by = "NOT by " + r.Expected
	case outcomeBroken:
		by = "ERROR"
	}
	columns := [][]string{wrap.Lines(r.Name, nameWidth, "", ""), wrap.Lines(r.Guarantee, breaksWidth, "", ""), wrap.Lines(by, byWidth, "", "")}
	var b strings.Builder
	for i := range max(len(columns[0]), len(columns[1]), len(columns[2])) {
		cells := [3]string{}
		for c, lines := range columns {
			if i < len(lines) {
				cells[c] = lines[i]
			}
		}
		line := row(cells)
		if i == 0 {
			line += fmt.Sprintf(" %4.1fs", r.Took.Seconds())
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if r.Outcome != outcomeCaught && r.Says != "" {
		b.WriteString("  " + r.Says + "\n")
	}
	return b.String()
}

// row fills the columns up.
func row(cells [3]string) string {
	return fmt.Sprintf("%-*s %-*s %-*s", nameWidth, cells[0], breaksWidth, cells[1], byWidth, cells[2])
}

// Heading returns the table's first line.
func Heading() string {
	return row([3]string{"mutant", "broken guarantee", "caught by"}) + "  time\n"
}

// Summary returns the totals of the table.
func (r Report) Summary() string {
	caught, survived, broken := 0, 0, 0
	for _, one := range r.Results {
		switch one.Outcome {
		case outcomeCaught:
			caught++
		case outcomeSurvived:
			survived++
		default:
			broken++
		}
	}
	var b strings.Builder
	if len(r.Results) < r.Planned {
		fmt.Fprintf(&b, "INTERRUPTED after %d of %d mutants. Only these are counted.\n", len(r.Results), r.Planned)
	}
	switch r.Unbroken.Outcome {
	case "":
		fmt.Fprintf(&b, "unmodified source: not finished\n")
	case outcomeSurvived:
		fmt.Fprintf(&b, "unmodified source: no detector reports anything\n")
	case outcomeCaught:
		fmt.Fprintf(&b, "THE UNMODIFIED SOURCE is caught by %s, so no other result counts:\n  %s\n", r.Unbroken.By, r.Unbroken.Says)
	default:
		fmt.Fprintf(&b, "THE UNMODIFIED SOURCE failed, so no other result counts:\n  %s\n", r.Unbroken.Says)
	}
	fmt.Fprintf(&b, "%d of %d mutants caught", caught, len(r.Results))
	if survived > 0 {
		fmt.Fprintf(&b, ", %d SURVIVED", survived)
	}
	if broken > 0 {
		fmt.Fprintf(&b, ", %d failed", broken)
	}
	fmt.Fprintf(&b, " in %v, with %v of processor time\n", r.Took.Round(time.Second), r.CPU.Round(time.Second))
	return b.String()
}

// WriteJSON writes the report as JSON.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}
