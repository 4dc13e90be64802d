package report

import (
	"fmt"
	"io"

	"github.com/redquorum/redlock/simulation/timeline"
)

// Opening is what a reader sees first: a few runs side by side, and what they show.
type Opening struct {
	Words string `json:"words"`
	// Runs are drawn small, each under its Title, which should be short.
	Runs []TimelineRun `json:"runs"`
}

// SVG draws the runs one below the other, as a file of its own, light or dark as the
// reader's system asks.
func (o Opening) SVG(w io.Writer) error {
	sketches, err := o.sketches()
	if err != nil {
		return err
	}
	return timeline.WriteSketches(w, timeline.SketchOptions{Label: o.Words}, sketches...)
}

func (o Opening) sketches() ([]timeline.Sketch, error) {
	var all []timeline.Sketch
	for _, run := range o.Runs {
		t, err := timeline.Parse([]byte(run.Trace))
		if err != nil {
			return nil, fmt.Errorf("report: the trace of %q: %w", run.Title, err)
		}
		all = append(all, t.Sketch(run.Title))
	}
	return all, nil
}
