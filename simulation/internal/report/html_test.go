package report_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
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

// checkHTML checks what a browser would forgive: tags balance, IDs are unique, links lead somewhere on the
// page, and nothing is loaded or run.
func checkHTML(t *testing.T, page string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(page, "<!DOCTYPE html>")))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open, ids, links []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch tag := token.(type) {
		case xml.EndElement:
			require.NotEmpty(t, open)
			require.Equal(t, open[len(open)-1], tag.Name.Local)
			open = open[:len(open)-1]
		case xml.StartElement:
			open = append(open, tag.Name.Local)
			assert.NotContains(t, []string{"script", "img", "iframe", "link"}, tag.Name.Local)
			for _, a := range tag.Attr {
				switch a.Name.Local {
				case "id":
					ids = append(ids, a.Value)
				case "href":
					to, err := url.PathUnescape(a.Value)
					require.NoError(t, err)
					links = append(links, to)
				default:
					assert.NotRegexp(t, `^(on|src|action|background)`, a.Name.Local)
				}
			}
		}
	}
	assert.Empty(t, open, "not closed")
	slices.Sort(ids)
	assert.Equal(t, slices.Compact(slices.Clone(ids)), ids, "no ID twice")
	for _, l := range links {
		assert.Contains(t, ids, strings.TrimPrefix(l, "#"), "a link leads nowhere")
	}
	assert.NotRegexp(t, `@import|url\(`, page)
}

func TestHTML(t *testing.T) {
	r := sample(t)
	page := html(t, r)
	checkHTML(t, page)
	assert.Equal(t, page, html(t, r), "same report, same bytes")
	for _, want := range []string{
		"prefers-color-scheme:dark", "Content-Security-Policy", `lang="en"`, `name="viewport"`, `<td class="bad unexpected">`, "Never reached: a clock was seen to jump", `<td class="bad"><a href="#cell-redlock-jump">100%</a></td>`,
		`<div id="cell-redlock-jump">`, "SET NX PX and a plain DEL", "<th scope=\"col\">Redlock as\ndocumented</th>",
		`<a href="#cell-default-loss">none</a>`,
	} {
		assert.Contains(t, page, want)
	}
	// The signs are explained before the tables, of which the small one comes first.
	order := []string{"none: no violation was found.", `<table class="short">`, `<table class="matrix">`}
	assert.True(t, slices.IsSortedFunc(order, func(a, b string) int { return strings.Index(page, a) - strings.Index(page, b) }))
}

// However much it shows, a page stays below what a browser loads at once, and every cell leads to its evidence.
func TestPageIsBounded(t *testing.T) {
	var r report.Report
	log := clockJumps(t)
	for i := range 20 {
		r.Matrix.Designs = append(r.Matrix.Designs, report.Axis{Name: fmt.Sprintf("design-%d", i)})
		var cells []report.Cell
		for j := range 12 {
			if i == 0 {
				r.Matrix.Faults = append(r.Matrix.Faults, report.Axis{Name: fmt.Sprintf("f%d", j)})
			}
			cells = append(cells, report.Cell{Runs: 50, Violated: 20, Kinds: map[string]int{"two holders": 20}, Command: fmt.Sprintf("redlocksim run %d-%d", i, j)})
			r.Timelines = append(r.Timelines, report.TimelineRun{Design: r.Matrix.Designs[i].Name, Fault: fmt.Sprintf("f%d", j), Log: log})
		}
		r.Matrix.Cells = append(r.Matrix.Cells, cells)
	}
	page := html(t, r)
	assert.Less(t, len(page), 2_000_000)
	checkHTML(t, page)
	assert.Equal(t, 20*12, strings.Count(page, `<td class="bad"><a href="#cell-design-`))
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
