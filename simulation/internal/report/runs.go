package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// runs are the runs that a page's script shows when a reader opens them. They are compressed data,
// because drawings of hundreds of runs would take megabytes.
type runs struct {
	list    []json.RawMessage
	indexes map[string]int // in the list, by the TimelineRun's ID
}

// most is the largest number of steps of a run that are told in words.
const most = 12

// runData is a run as data for the script.
type runData struct {
	SVG   string     `json:"svg"`
	Steps [][]string `json:"steps"` // time, text, and "alarm" or "fault"
}

func drawRuns(list []TimelineRun) runs {
	r := runs{indexes: map[string]int{}}
	same := map[string]int{}
	for _, run := range list {
		t := timeline.Of(run.Log)
		var c drawing.Canvas
		t.Small(&c, "", run.Kinds...)
		text, _ := json.Marshal(runData{c.Inline(), steps(t, run.Kinds)}) // texts: it can't fail
		// Similar designs may have the same run.
		i, known := same[string(text)]
		if !known {
			i = len(r.list)
			same[string(text)] = i
			r.list = append(r.list, text)
		}
		r.indexes[run.ID] = i
	}
	return r
}

// index is where a run is in the page's data, -1 if there is no such run.
func (r runs) index(id string) int {
	i, ok := r.indexes[id]
	if !ok {
		return -1
	}
	return i
}

// data is all runs: JSON, compressed with gzip, in base64.
func (r runs) data() string {
	if len(r.list) == 0 {
		return ""
	}
	text, _ := json.Marshal(r.list) // it is JSON already
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a level that exists
	_, _ = w.Write(text)                                    // a Buffer takes everything
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// steps are the steps up to the first shown violation, or the first steps.
func steps(t *timeline.Timeline, kinds []string) [][]string {
	story := t.Story()
	end := min(len(story), most)
	first := slices.IndexFunc(t.Violations, func(v timeline.Violation) bool { return len(kinds) == 0 || slices.Contains(kinds, v.Kind) })
	if first >= 0 {
		at := t.Violations[first].At
		for i, s := range story {
			if s.At <= at {
				end = i + 1
			}
		}
		end = min(len(story), end+2) // and its consequences
	}
	var out [][]string
	for _, s := range story[max(0, end-most):end] {
		step := []string{timeline.Clock(s.At), s.Text}
		switch {
		case s.Alarm:
			step = append(step, "alarm")
		case s.Fault:
			step = append(step, "fault")
		}
		out = append(out, step)
	}
	return out
}
