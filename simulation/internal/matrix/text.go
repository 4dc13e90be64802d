package matrix

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// VerdictTable writes which scenarios break which designs, in 100 columns.
func (r Result) VerdictTable(w io.Writer) error {
	rows := map[string]report.VerdictRow{}
	for _, row := range r.Verdicts() {
		rows[row.Scenario+"/"+row.Design] = row
	}
	b := bufio.NewWriter(w)
	columns := cells.Rows()
	head(b, columns)
	for _, s := range r.Plan.scenarios() {
		line := fmt.Sprintf("%-5s", s.ID)
		for _, d := range columns {
			line += " " + sign(rows[s.ID+"/"+d.Name])
		}
		others, wrong := 0, 0
		for _, d := range s.Designs() {
			row, ok := rows[s.ID+"/"+d.Name]
			if ok && !slices.ContainsFunc(columns, func(c designs.Design) bool { return c.Name == d.Name }) {
				others++
				if !row.OK {
					wrong++
				}
			}
		}
		line += "  " + more(others, wrong)
		title := []rune(s.Title)
		if room := 99 - utf8.RuneCountInString(line); len(title) > room {
			title = append(title[:room-1], '…')
		}
		fmt.Fprintln(b, strings.TrimRight(line+string(title), " "))
	}
	fmt.Fprintln(b, "\nv: violated. \".\": held. \"!\": not as the scenario says. Blank: not played. +3: three more")
	fmt.Fprintln(b, "designs, flaws and variants, that end as the scenario says.")
	return b.Flush()
}

// sign is a verdict as one letter.
func sign(row report.VerdictRow) string {
	switch {
	case row.Runs == 0:
		return " "
	case !row.OK:
		return "!"
	case len(row.Expected) > 0:
		return "v" // violated, as it must be
	}
	return "."
}

func more(others, wrong int) string {
	words := ""
	if others > 0 {
		words = fmt.Sprintf("+%d", others)
	}
	if wrong > 0 {
		words += "!"
	}
	return fmt.Sprintf("%-4s", words)
}

// head writes the designs' names vertically.
func head(w io.Writer, columns []designs.Design) {
	longest := 0
	for _, d := range columns {
		longest = max(longest, len(d.Name))
	}
	for i := range longest {
		line := strings.Repeat(" ", 5)
		for _, d := range columns {
			letter := " "
			if from := longest - len(d.Name); i >= from {
				letter = d.Name[i-from : i-from+1]
			}
			line += " " + letter
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	fmt.Fprintln(w, strings.Repeat("─", 5+2*len(columns)))
}

// CurveTable writes the curves' points, with their confidence intervals and what was
// calculated for them.
func (r Result) CurveTable(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i, c := range r.Curves() {
		if i > 0 {
			fmt.Fprintln(b)
		}
		c.Text(b)
	}
	return b.Flush()
}
