package book_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
)

func init() {
	generators["faults"] = func([]string) (string, error) { return faultTable() }
	generatedFiles["figures/matrix.svg"] = heatMap
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

// heatColumns are the designs of the heat map, with what stands above them.
var heatColumns = []struct{ design, above, below string }{
	{"setnx", "SETNX", ""},
	{"setpx-cad", "one", "Redis"},
	{"replica-async", "and a", "replica"},
	{"redlock", "plain", "Redlock"},
	{"default", "this", "library"},
	{"token-admit", "token", "seen"},
	{"idempotent", "writes", "known"},
}

const (
	heatLeft, heatCell, heatRow, heatWidth = 112.0, 49.0, 22.0, 460.0

	heatStyle = `text{font:13px system-ui,sans-serif;fill:var(--ink)}.g{font-weight:600;fill:var(--soft)}` +
		`.paper{fill:var(--paper)}.c0{fill:var(--good-tint)}.c1{fill:var(--fault-tint)}.c2{fill:var(--alarm-tint)}`
)

// heatMap draws the matrix for a few designs: a row for each fault, in groups.
func heatMap() ([]byte, error) {
	r, err := recorded()
	if err != nil {
		return nil, err
	}
	column := func(name string) int {
		return slices.IndexFunc(r.Matrix.Designs, func(d report.Axis) bool { return d.Name == name })
	}
	var body bytes.Buffer
	y := 44.0
	for i, c := range heatColumns {
		x := heatLeft + heatCell*(float64(i)+0.5)
		fmt.Fprintf(&body, `<text x="%.1f" y="18" text-anchor="middle">%s</text><text x="%.1f" y="33" text-anchor="middle">%s</text>`+"\n", x, c.above, x, c.below)
	}
	for _, g := range heatGroups {
		fmt.Fprintf(&body, `<text class="g" x="8" y="%.1f">%s</text>`+"\n", y+15, g.title)
		y += heatRow
		for _, fault := range g.faults {
			j := slices.IndexFunc(r.Matrix.Faults, func(f report.Axis) bool { return f.Name == fault })
			if j < 0 {
				return nil, fmt.Errorf("the matrix has no fault %q", fault)
			}
			fmt.Fprintf(&body, `<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, heatLeft-8, y+15, fault)
			for i, c := range heatColumns {
				cell := r.Matrix.At(column(c.design), j)
				x := heatLeft + heatCell*float64(i)
				fmt.Fprintf(&body, `<rect class="c%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/><text x="%.1f" y="%.1f" text-anchor="middle">%.0f</text>`,
					heat(cell), x+1, y+1, heatCell-2, heatRow-2, x+heatCell/2, y+15, 100*cell.Rate())
			}
			body.WriteByte('\n')
			y += heatRow
		}
		y += 4
	}
	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="m-title m-desc" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`+"\n", heatWidth, y+4, heatWidth, y+4)
	fmt.Fprintf(&svg, "<title id=\"m-title\">How often each lock breaks</title>\n<desc id=\"m-desc\">Runs with a violation, of %d, for each fault and each lock.</desc>\n", r.Seeds)
	fmt.Fprintf(&svg, "<style>%s%s</style>\n<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n%s</svg>\n", palette.CSS("svg"), heatStyle, heatWidth, y+4, body.String())
	return svg.Bytes(), nil
}

// heat is how dark a cell is: nothing was violated, in up to a tenth of the runs, in more.
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
	assert.GreaterOrEqual(t, 13*390/heatWidth, 11.0)
	svg, err := heatMap()
	require.NoError(t, err)
	assert.Equal(t, len(all)*len(heatColumns), strings.Count(string(svg), `<rect class="c`))
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
