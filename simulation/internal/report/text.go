package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// tableWidth is the width of a matrix's tables in columns.
const tableWidth = 100

// Text writes the matrix for a terminal: tables of rates, then one line for each cell with
// violations, and what was never reached.
func (m Matrix) Text(w io.Writer) error {
	t := &textTable{m: m, w: bufio.NewWriter(w), width: tableWidth}
	t.tables()
	t.details()
	t.unreached()
	return t.w.Flush()
}

type textTable struct {
	m     Matrix
	w     *bufio.Writer
	width int
}

// leastCell is the least width of a column, including a blank before it.
const leastCell = 6

// headLines are the parts of a column's name, broken after dashes.
func headLines(name string) []string { return strings.SplitAfter(name, "-") }

// cell is the width of a column, including a blank before it.
func cell(name string) int {
	wide := leastCell
	for _, l := range headLines(name) {
		wide = max(wide, 1+utf8.RuneCountInString(l))
	}
	return wide
}

func (t *textTable) tables() {
	first := len("design")
	for _, d := range t.m.Designs {
		first = max(first, utf8.RuneCountInString(d.Name))
	}
	first = min(first, t.width/3)
	for from := 0; from < len(t.m.Faults); {
		if from > 0 {
			t.line("")
		}
		to, width := from, first
		for ; to < len(t.m.Faults) && (to == from || width+cell(t.m.Faults[to].Name) <= t.width); to++ {
			width += cell(t.m.Faults[to].Name)
		}
		t.table(first, width, from, to)
		from = to
	}
	t.line("")
	t.wrapped("Runs with a violation. \".\": none found; \"?\": none found, but what it depends on was never reached, so it shows nothing; blank: not played; \"!\": not as expected.", "")
}

// table is the columns from one to another, of a width in all.
func (t *textTable) table(first, width, from, to int) {
	faults := t.m.Faults[from:to]
	lines := 0
	for _, fault := range faults {
		lines = max(lines, len(headLines(fault.Name)))
	}
	for n := range lines {
		row := fit("", first)
		if n == lines-1 {
			row = fit("design", first)
		}
		for _, fault := range faults {
			// The last lines of all names stand beside each other.
			head, at := headLines(fault.Name), n-lines
			word := ""
			if at += len(head); at >= 0 {
				word = head[at]
			}
			row += fmt.Sprintf(" %*s", cell(fault.Name)-1, word)
		}
		t.line(strings.TrimRight(row, " "))
	}
	t.line(strings.Repeat("─", width))
	for i, design := range t.m.Designs {
		row := fit(design.Name, first)
		for j, fault := range faults {
			row += fmt.Sprintf(" %*s", cell(fault.Name)-1, t.m.At(i, from+j).short())
		}
		t.line(row)
	}
}

// details has a line for each cell with violations: the rate with its confidence interval,
// the kinds, and the first seeds.
func (t *textTable) details() {
	header := "Violated (95 % confidence), and the first seed that shows it:"
	t.m.cells(func(design, fault string, c Cell) {
		if c.Violated == 0 && !c.Unexpected {
			return
		}
		text := fmt.Sprintf("%s / %s: %s", design, fault, c.intervalText())
		for _, kind := range c.kinds() {
			text += ", " + c.kindText(kind)
		}
		if c.Violated > 0 && len(c.First) == 0 {
			text += fmt.Sprintf("; seed %d", c.Seed)
		}
		if c.Unexpected {
			text += "  ! not as expected"
		}
		t.below(&header, text)
	})
}

// unreached lists the zeros that show nothing.
func (t *textTable) unreached() {
	header := "Never reached, so that a 0 shows nothing:"
	t.m.cells(func(design, fault string, c Cell) {
		if c.Runs > 0 && c.Violated == 0 && !c.proves() {
			t.below(&header, fmt.Sprintf("%s / %s: %s", design, fault, strings.Join(c.Unreached, "; ")))
		}
	})
}

// below writes an entry. The first one is written below the header.
func (t *textTable) below(header *string, text string) {
	if *header != "" {
		t.line("")
		t.wrapped(*header, "")
		*header = ""
	}
	t.wrapped(text, "  ")
}

func (t *textTable) line(s string) {
	_, _ = t.w.WriteString(strings.TrimRight(s, " ")) // Flush returns the error
	_ = t.w.WriteByte('\n')
}

// wrapped breaks a text between words. All but its first line are indented further.
func (t *textTable) wrapped(text, indent string) { t.paragraph(text, indent, indent+"  ") }

// paragraph breaks a text between words.
func (t *textTable) paragraph(text, head, indent string) {
	for _, line := range wrap.Lines(text, t.width, head, indent) {
		t.line(line)
	}
}

// fit cuts or pads a text to n columns.
func fit(s string, n int) string {
	count := utf8.RuneCountInString(s)
	if count > n {
		return string([]rune(s)[:max(0, n-1)]) + "…"
	}
	return s + strings.Repeat(" ", n-count)
}
