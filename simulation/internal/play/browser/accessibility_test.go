package browser_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// axe returns the checker's source. In a module's cache it is missing, because it is in another
// module.
func axe(t *testing.T) string {
	t.Helper()
	packed, err := os.Open("axe/axe.min.js.gz")
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("REDLOCK_REQUIRE_CHROMIUM") == "" {
		t.Skip("axe-core isn't here: ", err)
	}
	require.NoError(t, err)
	defer func() { _ = packed.Close() }() // nothing was written
	plain, err := gzip.NewReader(packed)
	require.NoError(t, err)
	source, err := io.ReadAll(plain)
	require.NoError(t, err)
	return string(source)
}

// mistake is a rule of axe that a page breaks, and the elements that do.
type mistake struct {
	ID, Help string
	Nodes    []struct{ HTML, FailureSummary string }
}

// mistakes runs axe, which must be on the page.
func (c *chromium) mistakes() (found []mistake) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal([]byte(c.text(`axe.run(document, { resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations))`)), &found))
	return found
}

// check runs axe on the page, on a phone and on a desk, light and dark.
func (c *chromium) check(what string) {
	c.t.Helper()
	for _, width := range []int{1400, 390} {
		for _, dark := range []bool{false, true} {
			c.look(width, dark)
			assert.Empty(c.t, c.mistakes(), "%s, %d px, dark: %v", what, width, dark)
			assert.Equal(c.t, "true", c.eval(`document.documentElement.scrollWidth <= innerWidth`), "%s: wider than %d px", what, width)
		}
	}
}

// Axe finds no mistake in any state of the page.
func TestAccessibility(t *testing.T) {
	t.Parallel() // it waits for the compiler
	source := axe(t)
	c, base := opened(t)
	c.open(base, 1400, false)
	c.eval(source + "; 0")
	c.eval(`location.hash = "chapter=4-a-servers-clock-jumps&base=S4&design=redlock&seed=1"`)
	c.until(`document.querySelector("#chapter-title").textContent && ` + compared)
	c.check("a chapter")
	c.eval(`location.hash = "tour=3"`)
	c.until(`!document.querySelector("#slide").hidden && ` + compared)
	c.check("the tour")
	many := `[{"kind":"pause","process":"c1","op":"write","nth":1,"for_ns":12000000000},{"kind":"rate","server":"A","ppm":100000},{"kind":"cut","process":"c2","server":"*","at_ns":1000000000,"for_ns":12000000000},{"kind":"restart","server":"C","at_ns":1000000000}]`
	c.eval(`location.hash = "` + url.Values{"base": {"S1"}, "design": {"redlock"}, "schedule": {many}}.Encode() + `"`)
	c.until(`document.querySelectorAll("#faults li").length === 4 && ` + compared)
	c.check("faults of four kinds")
	c.eval(`location.hash = "base=S99"`)
	c.until(`document.querySelector("#error").textContent`)
	c.check("an error")

	// Axe notices what is wrong.
	c.eval(`document.querySelector("#seed").parentElement.replaceWith(document.querySelector("#seed"))`)
	broken := c.mistakes()
	require.Len(t, broken, 1)
	assert.Equal(t, "label", broken[0].ID)
	assert.Empty(t, c.problems)
}

// The matrix's report works from a file: a link opens a cell, the cell shows its run, and axe finds no mistake.
func TestReport(t *testing.T) {
	t.Parallel() // it waits for the compiler of other tests
	source, c := axe(t), newChromium(t)
	path := filepath.Join(t.TempDir(), "report.html")
	file, err := os.Create(path)
	require.NoError(t, err)
	m := report.Matrix{
		Designs: []report.Axis{{Name: "redlock", Title: "Redlock"}}, Faults: []report.Axis{{Name: "jump", Title: "a clock jumps"}, {Name: "loss", Title: "loss"}},
		Cells: [][]report.Cell{{{Runs: 1, Violated: 1, Unexpected: true, Log: played(t, play.Setup{Base: "S4", Design: "redlock"}).Result.Log}, {Runs: 1, Unreached: []string{"a loss"}}}},
	}
	require.NoError(t, report.HTML(file, report.Report{
		Title: "Locks", Summary: report.Summary{Matrix: m, Runs: 1}, Matrix: m,
	}))
	require.NoError(t, file.Close())
	c.look(1400, true)
	c.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	c.until(`document.querySelector("table.matrix td a")`)
	c.eval(`document.querySelector("table.matrix td a").click()`)
	c.until(`[...document.querySelectorAll("details[open] #cell-redlock-jump svg text.al")].some((text) => text.textContent === "!! two holders")`)
	c.eval(source + `; for (const d of document.querySelectorAll("details")) d.open = true`)
	c.check("the report")
	assert.Empty(t, c.problems)
}
