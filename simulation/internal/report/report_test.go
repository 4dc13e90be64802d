package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
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
	jump.Log, jump.Command, jump.First = jumps.Log, "redlocksim run S4 -design redlock -seed 0", map[string]uint64{"two holders": 3}
	surprise := found(3, map[string]int{"two holders": 3, "no progress": 1})
	surprise.Unexpected = true
	m := report.Matrix{
		Designs: []report.Axis{{Name: "redlock", Title: "Redlock as\ndocumented", Source: "redis.io"}, {Name: "default", Title: "this\nlibrary"}},
		Faults:  []report.Axis{{Name: "pause", Title: "a process stops", Source: "Kleppmann 2016"}, {Name: "jump", Title: "a clock jumps"}, {Name: "rate", Title: "clocks of two rates"}, {Name: "loss"}},
		Cells:   [][]report.Cell{{{}, jump, found(31, map[string]int{"two holders": 31}), none}, {found(1, map[string]int{"no progress": 1}), unproved, surprise, none}},
	}
	return report.Report{
		Title: "Lock designs", Version: "v0.1.0", Command: "go run redlocksim", Seeds: "0:1000", Runs: 7000, Notes: []string{"Each run is a simulation."},
		Summary: report.Summary{Matrix: m, Runs: 1000, Note: "A lock fails if two clients hold it at once.", Others: "Other faults: suspend 1 %."}, Matrix: m,
	}
}

// html is the page, after a check of what a browser would forgive: tags balance, IDs are unique, and links lead
// somewhere on the page.
func html(t *testing.T, r report.Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, report.HTML(&b, r))
	decoder := xml.NewDecoder(strings.NewReader(b.String()))
	for err := error(nil); !errors.Is(err, io.EOF); _, err = decoder.Token() {
		require.NoError(t, err)
	}
	values := func(attribute string) (all []string) {
		for _, m := range regexp.MustCompile(" "+attribute+`="#?([^"]+)"`).FindAllStringSubmatch(b.String(), -1) {
			all = append(all, m[1])
		}
		return all
	}
	ids := slices.Sorted(slices.Values(values("id")))
	assert.Equal(t, slices.Compact(slices.Clone(ids)), ids)
	assert.Subset(t, ids, values("href"))
	return b.String()
}

func TestHTML(t *testing.T) {
	page := html(t, sample(t))
	assert.Equal(t, page, html(t, sample(t)), "same report, same bytes")
	for _, want := range []string{
		"prefers-color-scheme:dark", "Content-Security-Policy", `lang="en"`, `name="viewport"`, `<td class="bad unexpected">`, `<td class="unavailable">`, "Never reached: a clock was seen to jump", `<td class="bad"><a href="#cell-redlock-jump">100 %</a></td>`,
		`<div id="cell-redlock-jump">`, "<th scope=\"col\">Redlock as\ndocumented</th>", `<a href="#cell-default-loss">none</a>`,
		"<p>Other faults: suspend 1 %.</p>", "Found: lost update in 1000; two holders in 312, first with seed 3.", "!! two holders",
	} {
		assert.Contains(t, page, want)
	}
	// The signs are explained before the tables, of which the small one comes first.
	order := []string{"none: no violation was found.", `<table class="short">`, `<table class="matrix">`}
	assert.True(t, slices.IsSortedFunc(order, func(a, b string) int { return strings.Index(page, a) - strings.Index(page, b) }))
	html(t, report.Report{Matrix: report.Matrix{Designs: []report.Axis{{Name: "d"}}, Faults: []report.Axis{{Name: "f"}}}})
}

func TestText(t *testing.T) {
	r := sample(t)
	var short, long strings.Builder
	r.Summary.Text(&short)
	r.Matrix.Text(&long)
	for line := range strings.Lines(short.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
	}
	for _, test := range []struct{ text, want string }{
		{short.String(), "of 1 000 runs each"},
		{short.String(), "Redlock as this documented library"},
		{short.String(), "! none none Other faults: suspend 1 %. A lock fails"},
		{short.String(), "a process stops - 0.1 %~"},
		{short.String(), "clocks of two rates 3.1 % 0.3 %!"},
		{short.String(), "a clock jumps 100 % ?"},
		{long.String(), "rate: redlock 3.1 %, default 0.3 %!"},
		{long.String(), "redlock / jump: 1 000 of 1 000 runs: 100 % (99.6 to 100 %); lost update in 1000; two holders in 312, first with seed 3"},
		{long.String(), "a 0 shows nothing: default / jump: a clock was seen to jump"},
	} {
		assert.Contains(t, strings.Join(strings.Fields(test.text), " "), test.want)
	}
	var nothing strings.Builder
	report.Summary{}.Text(&nothing)
	assert.Empty(t, nothing.String())
}

func TestErrorOfTheWriter(t *testing.T) {
	_, closed := io.Pipe()
	require.NoError(t, closed.Close())
	require.ErrorIs(t, report.HTML(closed, sample(t)), io.ErrClosedPipe)
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
				assert.Equal(t, "100 %", word)
			default:
				assert.NotContains(t, []string{"none", "0 %", "100 %"}, word, "%+v", c)
				assert.LessOrEqual(t, len(word), 5)
			}
		}
	}
}
