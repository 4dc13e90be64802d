package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// Matrix has the results of each design under each fault.
type Matrix struct {
	Designs []Axis `json:"designs"` // the rows
	Faults  []Axis `json:"faults"`  // the columns
	// Cells has a slice for each design with a Cell for each fault. Missing cells were not
	// played.
	Cells [][]Cell `json:"cells"`
}

// Axis is a row or a column.
type Axis struct {
	Name  string `json:"name"` // it heads a column, broken at its dashes
	Title string `json:"title,omitempty"`
	// Source is the source of a design or a fault.
	Source string `json:"source,omitempty"`
}

// At is a cell; the zero Cell where there is none.
func (m Matrix) At(design, fault int) Cell {
	if design < 0 || design >= len(m.Cells) || fault < 0 || fault >= len(m.Cells[design]) {
		return Cell{}
	}
	return m.Cells[design][fault]
}

// Text writes the matrix for a terminal: the rates under each fault, then one line for each cell with
// violations, and what was never reached. Its errors are lost, so the writer has to keep them.
func (m Matrix) Text(w io.Writer) {
	for j, fault := range m.Faults {
		var rates []string
		for i, design := range m.Designs {
			if c := m.At(i, j); c.Runs > 0 {
				rates = append(rates, design.Name+" "+c.Word())
			}
		}
		if len(rates) > 0 {
			wrap.Paragraph(w, fault.Name+": ", strings.Join(rates, ", "))
		}
	}
	wrap.Paragraph(w, "\nRuns with a violation. ", legend)
	m.list(w, "Violated (95 % confidence), and the first seed that shows it:", func(c Cell) string {
		if c.Violated == 0 && !c.Unexpected {
			return ""
		}
		words := append([]string{c.Evidence()}, c.Counts()...)
		if c.Unexpected {
			words = append(words, "! not as expected")
		}
		return strings.Join(words, "; ")
	})
	m.list(w, "Never reached, so that a 0 shows nothing:", func(c Cell) string {
		if c.Runs == 0 || c.Violated > 0 {
			return ""
		}
		return strings.Join(c.Unreached, "; ")
	})
}

// list has an entry for each cell that has something to say, below a heading.
func (m Matrix) list(w io.Writer, heading string, say func(Cell) string) {
	for i, design := range m.Designs {
		for j, fault := range m.Faults {
			text := say(m.At(i, j))
			if text == "" {
				continue
			}
			if heading != "" {
				fmt.Fprintf(w, "\n%s\n", heading)
				heading = ""
			}
			wrap.Paragraph(w, fmt.Sprintf("  %s / %s: ", design.Name, fault.Name), text)
		}
	}
}
