package book_test

import (
	"bytes"
	"fmt"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// heatColumns are the designs of the heat map, with the words above them.
var heatColumns = []struct{ design, above, below string }{
	{"setnx", "SETNX", ""},
	{"setpx-cad", "one", "Redis"},
	{"replica-async", "and a", "replica"},
	{"redlock", "plain", "Redlock"},
	{"default", "this", "library"},
	{"token-admit", "token", "seen"},
	{"idempotent", "writes", "known"},
}

// heatGroups are the headings above the faults that begin a group.
var heatGroups = map[string]string{
	"slow": "the client's process and clocks", "step-server": "the servers' clocks and memory", "hang": "the way between them",
	"delay-write": "the way to the resource, and any of these",
}

const heatCell, heatRow, heatWidth = 45.0, 22.0, 430.0

// heatMap draws the matrix for a few designs: a row for each fault, in groups.
func heatMap() ([]byte, error) {
	r, err := recorded()
	if err != nil {
		return nil, err
	}
	const left = 112 // where the cells begin
	p := drawing.Canvas{Title: "How often each lock breaks", Desc: fmt.Sprintf("Runs with a violation, of %d, for each fault and each lock.", r.Seeds), Width: heatWidth}
	for i, c := range heatColumns {
		x := left + heatCell*(float64(i)+0.5)
		p.Text("m", x, 18, c.above)
		p.Text("m", x, 33, c.below)
	}
	y := 40.0
	for _, f := range r.Matrix.Faults {
		if group := heatGroups[f.Name]; group != "" {
			p.Text("n", 8, y+19, group)
			y += heatRow + 4
		}
		p.Text("e", left-8, y+15, f.Name)
		for i, c := range heatColumns {
			cell := r.cell(c.design, f.Name)
			if cell.Runs == 0 {
				return nil, fmt.Errorf("the matrix has no cell of %q under %q", c.design, f.Name)
			}
			x := left + heatCell*float64(i)
			p.Box(heat(cell), x+1, y+1, heatCell-2, heatRow-2)
			p.Text("m", x+heatCell/2, y+15, fmt.Sprintf("%.0f", 100*cell.Rate()))
		}
		y += heatRow
	}
	p.Height = y + 8
	var svg bytes.Buffer
	err = p.SVG(&svg)
	return svg.Bytes(), err
}

// heat is the colour of a cell: no violation, in up to a tenth of the runs, in more.
func heat(c report.Cell) string {
	switch {
	case c.Violated == 0:
		return "yes"
	case c.Rate() <= 0.1:
		return "wait"
	default:
		return "no"
	}
}
