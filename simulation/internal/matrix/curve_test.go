package matrix

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
)

// beside has, for each curve, the calculated line of each simulated series: its index, or zero for
// a series that must be 0, or alone.
const zero, alone = -1, -2

var beside = map[string][]int{
	"pause": {0, 0, zero}, "rate": {0, 1}, "crash": {0, 1, zero}, "failover": {0, 1, 2},
	"split": {0, 1, 2}, "rounds": {0, alone, alone}, "availability": {0},
}

// Simulated and calculated values agree within four and a half standard errors.
func TestCurvesMeetTheirFormulas(t *testing.T) {
	p := Plan{CurveSeeds: few(24)}
	r, err := Play(t.Context(), p, Pool{})
	require.NoError(t, err)
	drawn := r.Curves()
	require.Len(t, drawn, len(beside))
	for i, c := range drawn {
		all := curves()[i]
		require.Equal(t, all.id, c.ID)
		for j, s := range all.series {
			which := beside[c.ID][j]
			if which == alone {
				continue
			}
			for k, point := range c.Series[j].Points {
				want := 0.0
				if which != zero {
					want = valueAt(t, c.Series[len(all.series)+which], point.X)
				}
				sum := r.of(ofCurve, c.ID, all.name(j, k))
				assert.InDelta(t, want, point.Y, 4.5*spread(c.ID, s, sum, want), "%s, %s at %v", c.ID, s.name, point.X)
			}
		}
	}
}

// spread is the standard error that a point has, if the formula is right.
func spread(id string, s series, sum tally, want float64) float64 {
	n := float64(sum.Runs)
	switch {
	case id == "rate": // to the millionth, and a round trip
		return 1e-6
	case s.mean: // of a geometric distribution
		return math.Sqrt((want-1)*want/n) + 1e-9
	}
	return math.Sqrt(want*(1-want)/n) + .002 // of the moments that are neither
}

func valueAt(t *testing.T, line report.Series, x float64) float64 {
	t.Helper()
	for _, p := range line.Points {
		if math.Abs(p.X-x) < 1e-9 {
			return p.Y
		}
	}
	require.Fail(t, "the line has no such point", "%s at %v", line.Name, x)
	return 0
}

// Random delays need fewer rounds than staying in lockstep.
func TestWhatHelpsAgainstSplitVotes(t *testing.T) {
	c, err := curveByID("rounds")
	require.NoError(t, err)
	rounds := func(series int) float64 {
		var sum tally
		for seed := range few(30) {
			require.NoError(t, task{Part: ofCurve, A: "rounds", B: c.name(series, 3)}.play(seed, &sum))
		}
		return report.Mean(10, 1, sum.Runs, sum.Sum, sum.Squares).Y
	}
	assert.Less(t, 2*rounds(2), rounds(0))
	assert.Less(t, 2*rounds(1), rounds(0))
}

func TestBinomial(t *testing.T) {
	assert.InDelta(t, .99998, 1-atLeast(3, 5, .01)+.0000098, .0001)
	assert.InDelta(t, 9.85e-6, atLeast(3, 5, .01), 1e-8) // N=5 of the list: .99999015
	assert.InDelta(t, 1-.999702, atLeast(2, 3, .01), 1e-6)
	assert.InDelta(t, 1-.99999966, atLeast(4, 7, .01), 1e-8)
	assert.InDelta(t, 1, atLeast(0, 4, .3), 1e-12)
}

func TestMean(t *testing.T) {
	p := report.Mean(3, .5, 4, 20, 104) // 4, 4, 6, 6: mean 5, variance 4/3
	assert.InDelta(t, 2.5, p.Y, 1e-12)
	half := .5 * 1.96 * math.Sqrt(4./3) / 2
	assert.InDelta(t, 2.5-half, p.Low, 1e-4)
	assert.InDelta(t, 2.5+half, p.High, 1e-4)
	assert.Equal(t, 4, p.Runs)
	assert.Zero(t, report.Mean(1, 1, 1, 2, 4).High, "one value has no spread")
}

func TestCurveTable(t *testing.T) {
	r, err := Play(t.Context(), Plan{CurveSeeds: 1}, Pool{})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.CurveTable(&b))
	for _, c := range curves() {
		assert.Contains(t, b.String(), c.title)
		for _, s := range c.series {
			assert.Contains(t, b.String(), s.name)
		}
	}
	assert.Contains(t, b.String(), "calculated")
	for line := range strings.Lines(b.String()) {
		assert.LessOrEqual(t, len(line), 101)
	}
}
