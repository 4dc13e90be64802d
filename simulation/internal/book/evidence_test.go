package book_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/report"
)

func init() {
	generators["faults"] = func([]string) (string, error) { return faultTable() }
	generatedFiles["figures/matrix.svg"] = heatMap
	generatedFiles["figures/live.svg"] = livePicture
	generatedFiles["figures/bench.svg"] = benchChart
}

// heatGroups are the rows of the heat map, in groups.
var heatGroups = []struct {
	title  string
	faults []string
}{
	{"the client's process and clocks", []string{"slow", "pause", "suspend", "crash", "step-client"}},
	{"the servers' clocks and memory", []string{"step-server", "rate-small", "rate", "restart-empty", "restart-1sec", "restart-kept", "failover", "split-brain", "evict", "flush"}},
	{"the way between them", []string{"hang", "cut", "lose", "delay", "duplicate", "reconnect"}},
	{"the way to the resource, and all of these", []string{"delay-write", "duplicate-write", "all"}},
}

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

const heatCell, heatRow, heatWidth = 45.0, 22.0, 430.0

// heatClasses are the colours of cells.
var heatClasses = []string{"yes", "wait", "no"}

// grid is a picture of cells: columns with two words each, rows in groups.
type grid struct {
	title, about string
	left         float64 // where the cells begin
	columns      [][2]string
	groups       []gridGroup
}

type gridGroup struct {
	title string
	rows  []gridRow
}

type gridRow struct {
	label string
	cells []gridCell
}

// gridCell is a colour, 0 to 2, and a word. The zero gridCell isn't drawn.
type gridCell struct {
	color int
	text  string
}

func (g grid) draw() ([]byte, error) {
	p := drawing.Canvas{Title: g.title, Desc: g.about, Width: heatWidth}
	for i, c := range g.columns {
		x := g.left + heatCell*(float64(i)+0.5)
		p.Text("m", x, 18, c[0])
		p.Text("m", x, 33, c[1])
	}
	y := 44.0
	for _, group := range g.groups {
		p.Text("n", 8, y+15, group.title)
		y += heatRow
		for _, row := range group.rows {
			p.Text("e", g.left-8, y+15, row.label)
			for i, cell := range row.cells {
				if cell.text != "" {
					x := g.left + heatCell*float64(i)
					p.Box(heatClasses[cell.color], x+1, y+1, heatCell-2, heatRow-2)
					p.Text("m", x+heatCell/2, y+15, cell.text)
				}
			}
			y += heatRow
		}
		y += 4
	}
	p.Height = y + 4
	var svg bytes.Buffer
	err := p.SVG(&svg)
	return svg.Bytes(), err
}

// heatMap draws the matrix for a few designs: a row for each fault, in groups.
func heatMap() ([]byte, error) {
	r, err := recorded()
	if err != nil {
		return nil, err
	}
	g := grid{left: 112, title: "How often each lock breaks", about: fmt.Sprintf("Runs with a violation, of %d, for each fault and each lock.", r.Seeds)}
	for _, c := range heatColumns {
		g.columns = append(g.columns, [2]string{c.above, c.below})
	}
	for _, group := range heatGroups {
		rows := gridGroup{title: group.title}
		for _, fault := range group.faults {
			j := slices.IndexFunc(r.Matrix.Faults, func(f report.Axis) bool { return f.Name == fault })
			if j < 0 {
				return nil, fmt.Errorf("the matrix has no fault %q", fault)
			}
			row := gridRow{label: fault}
			for _, c := range heatColumns {
				i := slices.IndexFunc(r.Matrix.Designs, func(d report.Axis) bool { return d.Name == c.design })
				if i < 0 {
					return nil, fmt.Errorf("the matrix has no design %q", c.design)
				}
				cell := r.Matrix.At(i, j)
				row.cells = append(row.cells, gridCell{heat(cell), fmt.Sprintf("%.0f", 100*cell.Rate())})
			}
			rows.rows = append(rows.rows, row)
		}
		g.groups = append(g.groups, rows)
	}
	return g.draw()
}

// livePicture draws the plays on real servers: a row for each story, with the outcome.
func livePicture() ([]byte, error) {
	r, err := recordedLive()
	if err != nil {
		return nil, err
	}
	columns := []string{"setpx-cad", "replica-async", "redlock", "default", "token-admit"}
	g := grid{
		left: 140, title: "The scenarios on real servers",
		about:   fmt.Sprintf("%d plays, %d of which ended otherwise than the simulation says.", r.Played, r.Disagreements),
		columns: [][2]string{{"one", "Redis"}, {"and a", "replica"}, {"plain", "Redlock"}, {"this", "library"}, {"token", "seen"}, {"another", ""}},
		groups:  []gridGroup{{title: "the scenario, and what was seen"}},
	}
	rows := &g.groups[0].rows
	for _, l := range r.Lines {
		if l.Skipped != "" {
			continue
		}
		label := strings.TrimSpace(l.Scenario + " " + l.Form)
		if n := len(*rows); n == 0 || (*rows)[n-1].label != label {
			*rows = append(*rows, gridRow{label: label, cells: make([]gridCell, len(columns)+1)})
		}
		i := slices.Index(columns, l.Design)
		if i < 0 {
			i = len(columns)
		}
		cell := gridCell{0, "holds"}
		switch {
		case !slices.Equal(l.Predicted, l.Seen):
			cell = gridCell{1, "differs"}
		case len(l.Seen) > 0:
			cell = gridCell{2, "breaks"}
		}
		if old := &(*rows)[len(*rows)-1].cells[i]; cell.color >= old.color {
			*old = cell // of several others the one that breaks
		}
	}
	return g.draw()
}

// heat is how dark a cell is: no violation, in up to a tenth of the runs, in more.
func heat(c report.Cell) int {
	switch {
	case c.Violated == 0:
		return 0
	case c.Rate() <= 0.1:
		return 1
	default:
		return 2
	}
}

// The heat map has every fault of the matrix once, and designs that the matrix has; its
// letters can be read on a phone.
func TestHeatMapIsWhole(t *testing.T) {
	r, err := recorded()
	require.NoError(t, err)
	var shown, all []string
	for _, g := range heatGroups {
		shown = append(shown, g.faults...)
	}
	for _, f := range r.Matrix.Faults {
		all = append(all, f.Name)
	}
	assert.ElementsMatch(t, all, shown)
	for _, c := range heatColumns {
		assert.True(t, slices.ContainsFunc(r.Matrix.Designs, func(d report.Axis) bool { return d.Name == c.design }), c.design)
	}
	svg, err := heatMap()
	require.NoError(t, err)
	assert.Equal(t, len(all)*len(heatColumns), strings.Count(string(svg), `<rect class="`)-1, "the paper is one, too")
}

// benchChart draws locks per second against workers.
func benchChart() ([]byte, error) {
	r, err := benchmarks()
	if err != nil {
		return nil, err
	}
	c := report.Curve{
		ID: "bench", Title: "Locks taken and released per second",
		Words: "Each worker takes and releases its own lock again and again. Redsync and this library ask five servers, the others one.",
		X:     report.Scale{Label: "workers", Log: true}, Y: report.Scale{Label: "locks per second", Log: true},
	}
	for _, s := range []struct{ contender, name string }{
		{"redlock", "this library"}, {"redsync", "redsync"}, {"rueidislock, 3 keys", "rueidislock"}, {"redislock", "redislock"},
	} {
		series := report.Series{Name: s.name, Line: true}
		for _, workers := range []int{1, 16, 128, 1024} {
			series.Points = append(series.Points, report.Point{X: float64(workers), Y: r.cycles(s.contender, workers).PerSecond})
		}
		c.Series = append(c.Series, series)
	}
	var svg bytes.Buffer
	err = c.SVG(&svg)
	return svg.Bytes(), err
}

// faultTable says what each fault of the matrix is.
func faultTable() (string, error) {
	r, err := recorded()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, f := range r.Matrix.Faults {
		rows = append(rows, []string{"`" + f.Name + "`", f.Title})
	}
	return table("fault | what happens in a run", rows), nil
}
