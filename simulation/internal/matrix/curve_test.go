package matrix

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
)

// beside has, for each curve, the calculated line of each simulated series: its index, or zero for
// a series that must be 0.
const zero = -1

var beside = map[string][]int{
	"pause": {0, 0, zero}, "rate": {0, 1}, "failover": {0, 1, 2}, "split": {0, 1, 2},
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
			for k, point := range c.Series[j].Points {
				want := 0.0
				if which != zero {
					want = valueAt(t, c.Series[len(all.series)+which], point.X)
				}
				spread := 1e-6 // to the millionth, and a round trip
				if s.unit == 0 {
					n := float64(r.of(ofCurve, c.ID, all.name(j, k)).Runs)
					spread = math.Sqrt(want*(1-want)/n) + .002 // of the moments that are neither
				}
				assert.InDelta(t, want, point.Y, 4.5*spread, "%s, %s at %v", c.ID, s.name, point.X)
			}
		}
	}
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

func TestBinomial(t *testing.T) {
	assert.InDelta(t, .99998, 1-atLeast(3, 5, .01)+.0000098, .0001)
	assert.InDelta(t, 9.85e-6, atLeast(3, 5, .01), 1e-8) // N=5 of the list: .99999015
	assert.InDelta(t, 1-.999702, atLeast(2, 3, .01), 1e-6)
	assert.InDelta(t, 1-.99999966, atLeast(4, 7, .01), 1e-8)
	assert.InDelta(t, 1, atLeast(0, 4, .3), 1e-12)
}

// The documented probabilities, to their precision.
func TestNoWinner(t *testing.T) {
	for _, test := range []struct {
		servers, up   int
		clients, want float64
	}{
		{3, 3, 2, 0}, {3, 3, 3, .222}, {3, 3, 5, .48}, {3, 3, 10, .72}, {5, 5, 2, 0}, {5, 5, 3, .370}, {5, 5, 5, .710}, {5, 5, 10, .914},
		{5, 4, 2, .375}, {5, 4, 3, .667}, {5, 3, 2, .75},
	} {
		assert.InDelta(t, test.want, noWinner(test.servers, test.up)(test.clients), .0006, "%+v", test)
	}
}
