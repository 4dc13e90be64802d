package report_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/record"
)

func html(t *testing.T, r report.Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, report.HTML(&b, r))
	return b.String()
}

var (
	hidden  = regexp.MustCompile(`(?s)<(script|style)(?: type="text/plain" id="runs")?>.*?</(script|style)>`)
	tags    = regexp.MustCompile(`<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z0-9:-]+(?:="[^"]*")?)*)\s*(/?)>`)
	attr    = regexp.MustCompile(`([a-zA-Z0-9:-]+)="([^"]*)"`)
	void    = []string{"meta", "link", "br", "img", "hr", "input"}
	foreign = []string{"http:", "https:", "//", "url(http", "@import", "data:"}
)

// checkHTML checks what a browser would forgive: tags balance, IDs are unique, links lead
// somewhere, and nothing is loaded.
func checkHTML(t *testing.T, page string) {
	t.Helper()
	body := hidden.ReplaceAllString(page, "<$1></$1>")
	rest := strings.TrimPrefix(tags.ReplaceAllString(body, ""), "<!DOCTYPE html>")
	assert.NotContains(t, rest, "<", "something looks like a tag and isn't one")
	var open, ids, links []string
	for _, tag := range tags.FindAllStringSubmatch(body, -1) {
		name := tag[2]
		for _, a := range attr.FindAllStringSubmatch(tag[3], -1) {
			switch a[1] {
			case "id":
				ids = append(ids, a[2])
			case "href":
				links = append(links, a[2])
			case "aria-labelledby":
				for _, id := range strings.Fields(a[2]) {
					links = append(links, "#"+id)
				}
			case "src", "srcset", "background", "action", "onclick", "onload", "xlink:href":
				t.Errorf("%s has %s=%q", name, a[1], a[2])
			case "xmlns":
			default:
				for _, f := range foreign {
					assert.NotContains(t, a[2], f, "%s %s", name, a[1])
				}
			}
		}
		switch {
		case slices.Contains(void, name) || tag[4] == "/":
		case tag[1] == "":
			open = append(open, name)
		default:
			require.NotEmpty(t, open, "</%s> closes nothing", name)
			require.Equal(t, open[len(open)-1], name, "</%s> closes <%s>", name, open[len(open)-1])
			open = open[:len(open)-1]
		}
	}
	assert.Empty(t, open, "not closed")
	slices.Sort(ids)
	assert.Equal(t, slices.Compact(slices.Clone(ids)), ids, "no ID twice")
	for _, l := range links {
		id, local := strings.CutPrefix(l, "#")
		assert.True(t, local, "%q leaves the page", l)
		assert.Contains(t, ids, id, "a link leads nowhere")
	}
	for _, block := range hidden.FindAllString(page, -1) {
		for _, f := range []string{"http", "@import", "url(//", "fetch(", "XMLHttpRequest", "import("} {
			assert.NotContains(t, block, f)
		}
	}
}

func TestHTML(t *testing.T) {
	r := sample(t)
	page := html(t, r)
	checkHTML(t, page)
	assert.Equal(t, page, html(t, r), "same report, same bytes")
	for _, want := range []string{
		"prefers-color-scheme:dark", "Content-Security-Policy", `lang="en"`, `name="viewport"`, "not as expected", "Never reached: a clock was seen to jump", `<td class="bad"><a href="#cell-redlock-jump">100%</a></td>`,
		`<details id="cell-redlock-jump" data-run="0">`, "SETNX without expiry", "<th scope=\"col\">Redlock as\ndocumented</th>",
		`<a href="#cell-default-loss">none</a>`,
	} {
		assert.Contains(t, page, want)
	}
	// The small table comes first, and the signs are explained before the large one.
	order := []string{`<table class="short">`, "none: nothing was found.", `<table class="matrix">`}
	assert.True(t, slices.IsSortedFunc(order, func(a, b string) int { return strings.Index(page, a) - strings.Index(page, b) }))
}

// However much it shows, a page stays below a megabyte, and every cell leads to its evidence.
func TestPageIsBounded(t *testing.T) {
	var r report.Report
	log := clockJumps(t)
	for i := range 40 {
		r.Matrix.Designs = append(r.Matrix.Designs, report.Axis{Name: fmt.Sprintf("design-%d", i)})
		var cells []report.Cell
		for j := range 24 {
			if i == 0 {
				r.Matrix.Faults = append(r.Matrix.Faults, report.Axis{Name: fmt.Sprintf("f%d", j)})
			}
			cells = append(cells, report.Cell{Runs: 50, Violated: 20, Kinds: map[string]int{"two holders": 20}, Command: fmt.Sprintf("redlocksim run %d-%d", i, j)})
			// Each run is a different one.
			own := slices.Concat(log...)
			for k := range own {
				if own[k].Process == "c1" {
					own[k].Process = fmt.Sprintf("c%d", 3+i*24+j)
				}
			}
			r.Timelines = append(r.Timelines, report.TimelineRun{Design: r.Matrix.Designs[i].Name, Fault: fmt.Sprintf("f%d", j), Log: record.Log{own}})
		}
		r.Matrix.Cells = append(r.Matrix.Cells, cells)
	}
	page := html(t, r)
	assert.Less(t, len(page), 1_000_000)
	checkHTML(t, page)
	assert.Equal(t, 40*24, strings.Count(page, `<td class="bad"><a href="#cell-design-`))
}

func TestHTMLOfLittle(t *testing.T) {
	for _, r := range []report.Report{
		{},
		{Title: "only a title"},
		{Matrix: report.Matrix{Designs: []report.Axis{{Name: "d"}}, Faults: []report.Axis{{Name: "f"}}}},
		{Timelines: []report.TimelineRun{{}, {Design: "x"}}},
	} {
		page := html(t, r)
		checkHTML(t, page)
		assert.NotContains(t, page, "NaN")
	}
}

func TestHTMLEscapes(t *testing.T) {
	const bad = `<script>alert("1")</script>&'`
	page := html(t, report.Report{
		Title: bad, Version: bad, Command: bad, Seeds: bad, Notes: []string{bad},
		Matrix: report.Matrix{
			Designs: []report.Axis{{Name: bad, Title: bad, Source: bad}}, Faults: []report.Axis{{Name: bad}},
			Cells: [][]report.Cell{{{Runs: 1, Violated: 1, Kinds: map[string]int{bad: 1}, Command: bad}}},
		},
		Timelines: []report.TimelineRun{{Design: bad, Fault: bad, Log: record.Log{{
			{Kind: record.Asked, Process: "c1", Key: bad},
			{At: 1, Kind: record.Found, Violation: &record.Violation{Kind: record.TwoHolders, Text: bad}},
		}}}},
	})
	checkHTML(t, page)
	assert.Equal(t, 2, strings.Count(page, "<script"), "only the page's own")
}

// full fails to write.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestErrorsOfTheWriter(t *testing.T) {
	r := sample(t)
	for name, err := range map[string]error{
		"HTML": report.HTML(full{}, r), "summary": summary().Text(full{}), "text": r.Matrix.Text(full{}),
	} {
		require.ErrorIs(t, err, os.ErrClosed, name)
	}
}
