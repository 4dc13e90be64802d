package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

func TestRatio(t *testing.T) {
	assert.Equal(t, Ratio{1.25, 0.5, 2}, RatioOf([]float64{2, 1, 7, 9}, []float64{1, 2, 0}))
	assert.Zero(t, RatioOf(nil, nil))
}

type measured struct {
	Name   string
	Middle float64 `join:"median"`
	Most   int     `join:"max"`
	Sum    int     `join:"sum"`
}

func TestJoin(t *testing.T) {
	all := []measured{{"a", 3, 7, 1}, {"a", 1, 9, 0}, {"a", 2, 8, 1}}
	assert.Equal(t, measured{"a", 2, 9, 2}, Join(all))
}
