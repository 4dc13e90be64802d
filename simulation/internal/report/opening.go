package report

import (
	"io"

	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// Opening is the first part of a page: a few runs side by side, with an explanation.
type Opening struct {
	Words string `json:"words"`
	// Runs are drawn small, each with its Title, which should be short.
	Runs []TimelineRun `json:"runs"`
}

// SVG draws the runs one below the other as a file, light or dark like the reader's system.
func (o Opening) SVG(w io.Writer) error {
	return timeline.WriteSketches(w, timeline.SketchOptions{Label: o.Words}, o.sketches()...)
}

func (o Opening) sketches() []timeline.Sketch {
	var all []timeline.Sketch
	for _, run := range o.Runs {
		all = append(all, timeline.Of(run.Log).Sketch(run.Title))
	}
	return all
}
