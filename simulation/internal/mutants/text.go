package mutants

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Widths of the table's columns in characters. The sum with the spaces is below 100.
const (
	nameWidth   = 29
	breaksWidth = 31
	byWidth     = 26
)

// Line returns the mutant's row of the table. It may span several lines.
func (r Result) Line() string {
	by, name := r.By, r.Name
	switch r.Outcome {
	case Survived:
		by = "NONE, in " + fmt.Sprint(r.Runs) + " runs"
	case Broken:
		by = "ERROR"
	case Caught:
		if !r.AsExpected {
			by += ", not by " + r.Expected
		}
	}
	columns := [][]string{wrap(name, nameWidth), wrap(r.Guarantee, breaksWidth), wrap(by, byWidth)}
	height := 1
	for _, c := range columns {
		height = max(height, len(c))
	}
	var b strings.Builder
	for i := range height {
		cell := func(c int) string {
			if i < len(columns[c]) {
				return columns[c][i]
			}
			return ""
		}
		line := fmt.Sprintf("%-*s %-*s %-*s", nameWidth, cell(0), breaksWidth, cell(1), byWidth, cell(2))
		if i == 0 {
			line = pad(line, nameWidth+breaksWidth+byWidth+2) + fmt.Sprintf(" %4d %4.1fs", r.Runs, r.Took.Seconds())
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if r.Outcome != Caught && r.Says != "" {
		b.WriteString("  " + r.Says + "\n")
	}
	return b.String()
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// wrap breaks a text into lines at spaces. It breaks a word longer than a line after a
// slash or an underscore, or else anywhere.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		for line += word; len(line) > width; {
			at := strings.LastIndexAny(line[:width], "/_") + 1
			if at == 0 {
				at = width
			}
			lines, line = append(lines, line[:at]), line[at:]
		}
	}
	return append(lines, line)
}

// Heading returns the table's first line.
func Heading() string {
	return fmt.Sprintf("%-*s %-*s %-*s runs   time\n", nameWidth, "mutant", breaksWidth, "broken guarantee", byWidth, "caught by")
}

// Summary returns the totals of the table.
func (r Report) Summary() string {
	caught, others, survived, broken := 0, 0, 0, 0
	for _, one := range r.Results {
		switch one.Outcome {
		case Caught:
			caught++
			if !one.AsExpected {
				others++
			}
		case Survived:
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
	case Survived:
		fmt.Fprintf(&b, "unmodified source: no detector reports anything, in %d runs\n", r.Unbroken.Runs)
	case Caught:
		fmt.Fprintf(&b, "THE UNMODIFIED SOURCE is caught by %s, so no other result counts:\n  %s\n", r.Unbroken.By, r.Unbroken.Says)
	default:
		fmt.Fprintf(&b, "THE UNMODIFIED SOURCE failed, so no other result counts:\n  %s\n", r.Unbroken.Says)
	}
	fmt.Fprintf(&b, "%d of %d mutants caught", caught, len(r.Results))
	if others > 0 {
		fmt.Fprintf(&b, ", %d of them NOT BY THEIR OWN DETECTOR", others)
	}
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
func WriteJSON(w io.Writer, r Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}
