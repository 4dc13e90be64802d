package stats

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuantile(t *testing.T) {
	assert.Zero(t, Quantile(nil, 0.5))
	times := []time.Duration{1, 2, 3, 4}
	assert.Equal(t, time.Duration(3), Quantile(times, 0.5))
	assert.Equal(t, time.Duration(4), Quantile(times, 1))
}

func TestMedian(t *testing.T) {
	assert.Zero(t, Median(nil))
	assert.Equal(t, 2.0, Median([]float64{3, 1, 2}))
	assert.Equal(t, 2.5, Median([]float64{4, 3, 1, 2}))
}

// The ranks are those of the tables for the sign test at 95 %.
func TestInterval(t *testing.T) {
	for n, rank := range map[int]int{1: 1, 5: 1, 6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 20: 6, 40: 14} {
		values := make([]float64, n)
		for i := range values {
			values[n-1-i] = float64(i + 1)
		}
		low, high := Interval(values)
		assert.Equal(t, float64(rank), low, "of %d values", n)
		assert.Equal(t, float64(n+1-rank), high, "of %d values", n)
	}
	low, high := Interval(nil)
	assert.Zero(t, low)
	assert.Zero(t, high)
}

func TestRatios(t *testing.T) {
	assert.Equal(t, []float64{2, 0.5}, Ratios([]float64{2, 1, 7, 9}, []float64{1, 2, 0}))
}

type measured struct {
	Name   string
	Middle float64 `json:"middle" join:"median"`
	Most   int     `json:"most,omitempty" join:"max"`
	Sum    int     `json:"sum" join:"sum"`
	Rounds Rounds
}

func TestJoin(t *testing.T) {
	all := []measured{{Name: "a", Middle: 3, Most: 7, Sum: 1}, {Name: "a", Middle: 1.0000001, Most: 9}, {Name: "a", Middle: 2, Most: 8, Sum: 1}}
	joined := Join(all)
	assert.Equal(t, measured{
		Name: "a", Middle: 2, Most: 9, Sum: 2,
		Rounds: Rounds{"middle": {3, 1.0000001, 2}, "most": {7, 9, 8}, "sum": {1, 0, 1}},
	}, joined)
	assert.Equal(t, joined.Rounds, RoundsOf(all))
	text, err := json.Marshal(joined.Rounds)
	require.NoError(t, err)
	assert.JSONEq(t, `{"middle": [3, 1, 2], "most": [7, 9, 8], "sum": [1, 0, 1]}`, string(text))
}
