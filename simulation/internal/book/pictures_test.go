package book_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/report"
)

func init() {
	generatedFiles["figures/token.svg"] = tokenPicture
	generatedFiles["figures/bench.svg"] = benchPicture
}

// tokenPicture is the README's. It is drawn from runs that are played now.
func tokenPicture() ([]byte, error) {
	opening, err := matrix.Opening()
	if err != nil {
		return nil, err
	}
	var svg bytes.Buffer
	err = opening.SVG(&svg)
	return svg.Bytes(), err
}

// benchPicture draws locks per second against workers.
func benchPicture() ([]byte, error) {
	r, err := benchmarks()
	if err != nil {
		return nil, err
	}
	c := report.Curve{
		ID: "bench", Title: "Locks taken and released per second",
		Words: "Each worker takes and releases its own lock again and again. Redsync and this library ask five servers, the others one.",
		X:     report.Scale{Label: "workers", Log: true}, Y: report.Scale{Label: "locks per second", Log: true},
	}
	for _, s := range []struct{ contender, name string }{
		{"redlock", "this library"}, {"redsync", "redsync"}, {"rueidislock, 3 keys", "rueidislock"}, {"redislock", "redislock"},
	} {
		series := report.Series{Name: s.name, Line: true}
		for _, row := range r.rows("throughput") {
			if row["contender"] == s.contender {
				series.Points = append(series.Points, report.Point{X: row["workers"].(float64), Y: row["cycles_per_second"].(float64)})
			}
		}
		c.Series = append(c.Series, series)
	}
	var svg bytes.Buffer
	err = c.SVG(&svg)
	return svg.Bytes(), err
}

// Every figure is on a page. Links are checked, so every picture of a page is there.
func TestFiguresAreShown(t *testing.T) {
	files, err := filepath.Glob("figures/*.svg")
	require.NoError(t, err)
	text := everything(t)
	for _, file := range files {
		assert.Contains(t, text, filepath.ToSlash(file)+")", "no page shows it")
	}
}
