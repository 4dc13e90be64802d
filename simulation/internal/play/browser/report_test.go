package browser_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// The matrix's report works from a file: a link opens a cell, and the cell shows its run.
func TestReport(t *testing.T) {
	t.Parallel() // it waits for the compiler of other tests
	c := newChromium(t)
	run := played(t, play.Setup{Base: "S4", Design: "redlock"})
	path := filepath.Join(t.TempDir(), "report.html")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, report.HTML(file, report.Report{
		Matrix: report.Matrix{
			Designs: []report.Axis{{Name: "redlock"}}, Faults: []report.Axis{{Name: "jump"}},
			Cells: [][]report.Cell{{{Runs: 1, Violated: 1}}},
		},
		Timelines: []report.TimelineRun{{Design: "redlock", Fault: "jump", Log: run.Result.Log}},
	}))
	require.NoError(t, file.Close())
	c.look(390, true)
	c.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	c.until(`document.querySelector("table.matrix td a")`)
	c.eval(`document.querySelector("table.matrix td a").click()`)
	c.until(`[...document.querySelectorAll("details[open] #cell-redlock-jump svg text.al")].some((text) => text.textContent === "!! two holders")`)
	assert.Equal(t, "true", c.eval(`document.documentElement.scrollWidth <= 390`))
	assert.Empty(t, c.problems)
}
