package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
)

func draw(t *testing.T, c report.Curve) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, c.SVG(&b))
	out := b.String()
	d := xml.NewDecoder(strings.NewReader(out))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
	assert.NotContains(t, out, "NaN")
	assert.NotContains(t, out, "Inf")
	return out
}

func TestChart(t *testing.T) {
	c := pauses()
	out := draw(t, c)
	for _, want := range []string{"prefers-color-scheme:dark", `aria-label="` + c.Title, "length of the pause (TTL)"} {
		assert.Contains(t, out, want)
	}
	for _, s := range c.Series {
		assert.Contains(t, out, ">"+s.Name+"<")
	}
}

// Whatever the points, nothing is drawn outside of the plot.
func TestChartsOfOddPoints(t *testing.T) {
	points := func(of ...float64) []report.Point {
		var all []report.Point
		for i := 0; i+1 < len(of); i += 2 {
			all = append(all, report.Point{X: of[i], Y: of[i+1], Low: of[i+1] / 2, High: of[i+1] * 2})
		}
		return all
	}
	circle := regexp.MustCompile(`<rect class="o0" x="([^"]+)" y="([^"]+)"`)
	for name, p := range map[string][]report.Point{
		"none": nil, "one": points(1, 1), "zero": points(0, 0), "same": points(3, 5, 3, 5), "negative": points(-1, -2, -3, -4),
		"endless": points(math.Inf(1), 1, 1, math.NaN(), 2, 2), "tiny": points(1e-12, 1e-12, 2e-12, 3e-12), "huge": points(1e12, 1e15, 2e12, 3e15),
		"wide": points(1e-9, 1e-9, 1e9, 1e9),
	} {
		for _, log := range []bool{false, true} {
			c := report.Curve{Title: name, X: report.Scale{Label: "x", Log: log}, Y: report.Scale{Label: "y", Log: log}, Series: []report.Series{{Name: "s", Points: p}}}
			out := draw(t, c)
			for _, at := range circle.FindAllStringSubmatch(out, -1) {
				x, err := strconv.ParseFloat(at[1], 64)
				require.NoError(t, err)
				y, err := strconv.ParseFloat(at[2], 64)
				require.NoError(t, err)
				assert.True(t, x >= 0 && x <= 400 && y >= 0 && y <= 420, "%s: %s", name, at[0])
			}
		}
	}
}

func TestShare(t *testing.T) {
	p := report.Share(0.5, 31, 1000)
	assert.Equal(t, 0.5, p.X)
	assert.InDelta(t, 0.031, p.Y, 1e-12)
	assert.InDelta(t, 0.0219, p.Low, 1e-4)
	assert.InDelta(t, 0.0436, p.High, 1e-4)
	assert.Equal(t, 1000, p.Runs)
}
