package report_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// sample has something in every part, and a cell of every kind.
func sample(t *testing.T) report.Report {
	t.Helper()
	s, err := scenarios.ByID("S4")
	require.NoError(t, err)
	redlock, err := s.Design("redlock")
	require.NoError(t, err)
	jumps, err := s.Play(1, redlock)
	require.NoError(t, err)
	found := func(violated int, kinds map[string]int) report.Cell {
		return report.Cell{Runs: 1000, Violated: violated, Kinds: kinds}
	}
	none, unproved := found(0, nil), report.Cell{Runs: 1000, Unreached: []string{"a clock was seen to jump"}}
	jump := found(1000, map[string]int{"two holders": 312, "lost update": 1000})
	jump.Command, jump.First = "redlocksim run S4 -design redlock -seed 0", map[string]uint64{"two holders": 3}
	surprise := found(3, map[string]int{"two holders": 3})
	surprise.Unexpected = true
	m := report.Matrix{
		Designs: []report.Axis{{Name: "redlock", Title: "Redlock as\ndocumented", Source: "redis.io"}, {Name: "default", Title: "this\nlibrary"}},
		Faults:  []report.Axis{{Name: "pause", Title: "a process stops", Source: "Kleppmann 2016"}, {Name: "jump", Title: "a clock jumps"}, {Name: "rate", Title: "clocks of two rates"}, {Name: "loss"}},
		Cells:   [][]report.Cell{{{}, jump, found(31, map[string]int{"two holders": 31}), none}, {found(1, nil), unproved, surprise, none}},
	}
	return report.Report{
		Title: "Lock designs", Version: "v0.1.0", Command: "go run redlocksim", Seeds: "0:1000", Runs: 7000, Notes: []string{"Each run is a simulation."},
		Summary: report.Summary{Matrix: m, Note: "A lock fails if two clients hold it at once."}, Matrix: m,
		Timelines: []report.TimelineRun{{Design: "redlock", Fault: "jump", Log: jumps.Log}},
	}
}

// html is the page, after a check of what a browser would forgive: tags balance, IDs are unique, links lead
// somewhere on the page, and nothing is loaded or run.
func html(t *testing.T, r report.Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, report.HTML(&b, r))
	decoder := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(b.String(), "<!DOCTYPE html>")))
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
					assert.NotContains(t, ids, a.Value)
					ids = append(ids, a.Value)
				case "href":
					to, err := url.PathUnescape(a.Value)
					require.NoError(t, err)
					links = append(links, strings.TrimPrefix(to, "#"))
				default:
					assert.NotRegexp(t, `^(on|src|action|background)`, a.Name.Local)
				}
			}
		}
	}
	assert.Empty(t, open, "not closed")
	assert.Subset(t, ids, links)
	assert.NotRegexp(t, `@import|url\(|NaN`, b.String())
	return b.String()
}

func TestHTML(t *testing.T) {
	page := html(t, sample(t))
	assert.Equal(t, page, html(t, sample(t)), "same report, same bytes")
	for _, want := range []string{
		"prefers-color-scheme:dark", "Content-Security-Policy", `lang="en"`, `name="viewport"`, `<td class="bad unexpected">`, "Never reached: a clock was seen to jump", `<td class="bad"><a href="#cell-redlock-jump">100%</a></td>`,
		`<div id="cell-redlock-jump">`, "<th scope=\"col\">Redlock as\ndocumented</th>", `<a href="#cell-default-loss">none</a>`,
		"Found: lost update in 1000; two holders in 312, first with seed 3.", "!! two holders",
	} {
		assert.Contains(t, page, want)
	}
	// The signs are explained before the tables, of which the small one comes first.
	order := []string{"none: no violation was found.", `<table class="short">`, `<table class="matrix">`}
	assert.True(t, slices.IsSortedFunc(order, func(a, b string) int { return strings.Index(page, a) - strings.Index(page, b) }))
	html(t, report.Report{Matrix: report.Matrix{Designs: []report.Axis{{Name: "d"}}, Faults: []report.Axis{{Name: "f"}}}, Timelines: []report.TimelineRun{{Design: "x"}}})
}

// However much it shows, a page stays below what a browser loads at once.
func TestPageIsBounded(t *testing.T) {
	r := sample(t)
	r.Matrix = report.Matrix{}
	log := r.Timelines[0].Log
	for i := range 20 {
		r.Matrix.Designs = append(r.Matrix.Designs, report.Axis{Name: fmt.Sprintf("design-%d", i)})
		r.Matrix.Cells = append(r.Matrix.Cells, slices.Repeat([]report.Cell{{Runs: 50, Violated: 20, Kinds: map[string]int{"two holders": 20}}}, 12))
		for j := range 12 {
			r.Timelines = append(r.Timelines, report.TimelineRun{Design: r.Matrix.Designs[i].Name, Fault: fmt.Sprintf("f%d", j), Log: log})
		}
	}
	for j := range 12 {
		r.Matrix.Faults = append(r.Matrix.Faults, report.Axis{Name: fmt.Sprintf("f%d", j)})
	}
	r.Summary = report.Summary{}
	var page strings.Builder
	require.NoError(t, report.HTML(&page, r))
	assert.Equal(t, 20*12, strings.Count(page.String(), "<svg"))
	assert.Less(t, page.Len(), 2_000_000)
}

func TestHTMLEscapes(t *testing.T) {
	const bad = `<script>alert("1")</script>&'`
	html(t, report.Report{
		Title: bad, Version: bad, Command: bad, Seeds: bad, Notes: []string{bad},
		Matrix: report.Matrix{
			Designs: []report.Axis{{Name: bad, Title: bad, Source: bad}}, Faults: []report.Axis{{Name: bad}},
			Cells: [][]report.Cell{{{Runs: 1, Violated: 1, Kinds: map[string]int{bad: 1}, Command: bad}}},
		},
		Timelines: []report.TimelineRun{{Design: bad, Fault: bad, Log: record.Log{
			{Kind: record.Asked, Process: "c1", Key: bad},
			{At: 1, Kind: record.Found, Violation: &record.Violation{Kind: record.TwoHolders, Text: bad}},
		}}},
	})
}

func TestText(t *testing.T) {
	r := sample(t)
	var short, long strings.Builder
	require.NoError(t, r.Summary.Text(&short))
	require.NoError(t, r.Matrix.Text(&long))
	for line := range strings.Lines(short.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
	}
	for _, test := range []struct{ text, want string }{
		{short.String(), "of 1 000 runs each"},
		{short.String(), "Redlock as this documented library"},
		{short.String(), "clocks of two rates 3.1% 0.3%!"},
		{short.String(), "a clock jumps 100% ?"},
		{long.String(), "rate: redlock 3.1%, default 0.3%!"},
		{long.String(), "redlock / jump: 1 000 of 1 000 runs: 100 % (99.6 to 100 %); lost update in 1000; two holders in 312, first with seed 3"},
		{long.String(), "a 0 shows nothing: default / jump: a clock was seen to jump"},
	} {
		assert.Contains(t, strings.Join(strings.Fields(test.text), " "), test.want)
	}
	var nothing strings.Builder
	require.NoError(t, report.Summary{}.Text(&nothing))
	assert.Empty(t, nothing.String())
}

// full fails to write.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestErrorsOfTheWriter(t *testing.T) {
	r := sample(t)
	for name, err := range map[string]error{
		"HTML": report.HTML(full{}, r), "summary": r.Summary.Text(full{}), "text": r.Matrix.Text(full{}),
	} {
		require.ErrorIs(t, err, os.ErrClosed, name)
	}
}

// The interval's ends are the rates p from which the measured rate is exactly z standard deviations away: that is
// its definition. A rate other than 0 and 1 is never shown as 0 or 1.
func TestRates(t *testing.T) {
	const z = 1.959963984540054
	low, high := report.Cell{}.Interval()
	assert.Equal(t, [2]float64{0, 1}, [2]float64{low, high}, "nothing is known of what wasn't played")
	for _, runs := range []int{1, 2, 3, 7, 10, 199, 1000, 100_000} {
		for _, hits := range []int{0, 1, 2, runs / 2, runs - 1, runs} {
			c := report.Cell{Violated: min(hits, runs), Runs: runs}
			low, high := c.Interval()
			assert.True(t, 0 <= low && low <= c.Rate() && c.Rate() <= high && high <= 1, "%+v", c)
			for _, p := range []float64{low, high} {
				if p > 0 && p < 1 {
					assert.InDelta(t, z, math.Abs(c.Rate()-p)/math.Sqrt(p*(1-p)/float64(runs)), 1e-6, "%+v: %v", c, p)
				}
			}
			switch word := c.Word(); c.Violated {
			case 0:
				assert.Equal(t, "none", word)
			case runs:
				assert.Equal(t, "100%", word)
			default:
				assert.NotContains(t, []string{"none", "0%", "0.0%", "100%"}, word, "%+v", c)
				assert.LessOrEqual(t, len(word), 4)
			}
		}
	}
}
