package report_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
)

// The interval's ends are the rates p from which the measured rate is exactly z standard deviations
// away: that is its definition.
func TestInterval(t *testing.T) {
	const z = 1.959963984540054
	for _, c := range []report.Cell{{Runs: 10, Violated: 5}, {Runs: 10}, {Runs: 10, Violated: 10}, {Runs: 1000}, {Runs: 1000, Violated: 31}, {Runs: 7, Violated: 1}} {
		low, high := c.Interval()
		for _, p := range []float64{low, high} {
			if p > 0 && p < 1 {
				assert.InDelta(t, z, math.Abs(c.Rate()-p)/math.Sqrt(p*(1-p)/float64(c.Runs)), 1e-9, "%+v: %v", c, p)
			}
		}
		assert.Less(t, low, high)
	}
	low, high := report.Cell{}.Interval()
	assert.Zero(t, low)
	assert.Equal(t, 1.0, high, "nothing is known of what wasn't played")
	for runs := 1; runs < 200; runs++ {
		for hits := 0; hits <= runs; hits++ {
			c := report.Cell{Violated: hits, Runs: runs}
			if low, high := c.Interval(); low < 0 || low > c.Rate() || high < c.Rate() || high > 1 {
				t.Errorf("%d of %d: %v to %v", hits, runs, low, high)
			}
		}
	}
}

// A rate other than 0 and 1 is never shown as 0 or 1.
func TestRatesDoNotLie(t *testing.T) {
	for _, runs := range []int{1, 3, 1000, 100_000} {
		for _, hits := range []int{0, 1, 2, runs / 2, runs - 1, runs} {
			if hits < 0 || hits > runs {
				continue
			}
			word := report.Cell{Runs: runs, Violated: hits}.Word()
			switch hits {
			case 0:
				assert.Equal(t, "none", word)
			case runs:
				assert.Equal(t, "100%", word)
			default:
				assert.NotContains(t, []string{"none", "0%", "0.0%", "100%"}, word, "%d of %d", hits, runs)
			}
			assert.LessOrEqual(t, len(word), 5)
		}
	}
}

// Each kind with its first seed, if it is known.
func TestFirstSeeds(t *testing.T) {
	m := report.Matrix{
		Designs: []report.Axis{{Name: "redlock"}}, Faults: []report.Axis{{Name: "empty"}},
		Cells: [][]report.Cell{{{
			Runs: 40, Violated: 16, Seed: 3, Kinds: map[string]int{"two holders": 16, "stale write": 5},
			First: map[string]uint64{"two holders": 3, "stale write": 0},
		}}},
	}
	var text strings.Builder
	require.NoError(t, m.Text(&text))
	assert.Contains(t, strings.Join(strings.Fields(text.String()), " "), "redlock / empty: 16 of 40 runs: 40 % (26.3 to 55.4 %); two holders in 16, first with seed 3; stale write in 5, first with seed 0")
	assert.Contains(t, html(t, report.Report{Matrix: m}), "Found: two holders in 16, first with seed 3; stale write in 5, first with seed 0.")
}
