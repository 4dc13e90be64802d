package report

import (
	"io"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// Opening is the first part of a page: a few runs side by side, with an explanation.
type Opening struct {
	Words string
	// Runs are drawn small, each with its Title, which should be short.
	Runs []TimelineRun
}

// SVG draws the runs one below the other as a file, light or dark like the reader's system.
func (o Opening) SVG(w io.Writer) error {
	c := drawing.Canvas{Title: o.Words}
	for _, run := range o.Runs {
		if c.Height > 0 {
			c.Height += 18
		}
		timeline.Of(run.Log).Small(&c, run.Title)
	}
	return c.SVG(w)
}
