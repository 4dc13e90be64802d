package mutants

import (
	"fmt"
	"strings"
	"time"
)

// Line returns the mutant's row of the table: its name, the time, and the test that caught it. If
// none did, a second line says what happened.
func (r Result) Line() string {
	by := r.By
	switch r.Outcome {
	case outcomeSurvived:
		by = "NOT by " + r.Expected
	case outcomeBroken:
		by = "ERROR"
	}
	line := fmt.Sprintf("%-30s %5.1fs  %s\n", r.Name, r.Took.Seconds(), by)
	if r.Outcome != outcomeCaught {
		line += fmt.Sprintf("  breaks: %s\n", r.Guarantee)
		if r.Err != nil {
			line += fmt.Sprintf("  %v\n", r.Err)
		}
	}
	return line
}

// Summary returns the rows of the mutants that were not caught, and the totals of the table.
func (r Report) Summary() string {
	caught, survived, broken := 0, 0, 0
	var b strings.Builder
	for _, one := range r.Results {
		switch one.Outcome {
		case outcomeCaught:
			caught++
			continue
		case outcomeSurvived:
			survived++
		default:
			broken++
		}
		b.WriteString(one.Line()) // again, because its row in the table is far up
	}
	if len(r.Results) < r.Planned {
		fmt.Fprintf(&b, "INTERRUPTED after %d of %d mutants. Only these are counted.\n", len(r.Results), r.Planned)
	}
	switch r.Unbroken.Outcome {
	case "":
		fmt.Fprintf(&b, "unmodified source: not finished\n")
	case outcomeSurvived:
		fmt.Fprintf(&b, "unmodified source: no detector reports anything\n")
	case outcomeCaught:
		fmt.Fprintf(&b, "THE UNMODIFIED SOURCE is caught by %s, so no other result counts\n", r.Unbroken.By)
	default:
		fmt.Fprintf(&b, "THE UNMODIFIED SOURCE failed, so no other result counts:\n  %v\n", r.Unbroken.Err)
	}
	fmt.Fprintf(&b, "%d of %d mutants caught", caught, len(r.Results))
	if survived > 0 {
		fmt.Fprintf(&b, ", %d SURVIVED", survived)
	}
	if broken > 0 {
		fmt.Fprintf(&b, ", %d failed", broken)
	}
	fmt.Fprintf(&b, " in %v\n", r.Took.Round(time.Second))
	return b.String()
}
