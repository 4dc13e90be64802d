package report

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// runs are the runs that a page's script draws when a reader opens them. They are data,
// because drawings of hundreds of runs would take megabytes.
type runs struct {
	list    []json.RawMessage // in the order of the report, the most interesting first
	indexes map[string]int    // in the list, by the TimelineRun's ID
}

const (
	// mostBytes bounds a page. If there are too many runs, the page shows the commands for
	// the others.
	mostBytes = 980_000
	// fewSteps and manySteps bound the steps of a run that are told in words: few for a
	// random run, and many for a scenario.
	fewSteps  = 12
	manySteps = 20
)

// runData is a run as data for the script.
type runData struct {
	timeline.Sketch
	Steps [][]string `json:"t"` // time, text, and "a" or "f" for an alarm or a fault
}

func sketchRuns(list []TimelineRun) runs {
	r := runs{indexes: map[string]int{}}
	same := map[string]int{}
	for _, run := range list {
		t := timeline.Of(run.Log)
		text, _ := json.Marshal(runData{t.Sketch("", run.Kinds...), steps(t, run.Kinds)}) // numbers and texts: it can't fail
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

// data is the runs in at most so many bytes, null for the others.
func (r runs) data(room int) []byte {
	if len(r.list) == 0 {
		return nil
	}
	var out bytes.Buffer
	room -= len(r.list) * len("null,")
	for i, run := range r.list {
		out.WriteByte("[,"[min(i, 1)])
		if len(run) > room {
			out.WriteString("null")
			continue
		}
		room -= len(run)
		out.Write(run)
	}
	out.WriteByte(']')
	return out.Bytes()
}

// steps are the steps up to the first shown violation, or the first steps.
func steps(t *timeline.Timeline, kinds []string) [][]string {
	story, most := t.Story(), manySteps
	if len(kinds) > 0 {
		most = fewSteps
	}
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
			step = append(step, "a")
		case s.Fault:
			step = append(step, "f")
		}
		out = append(out, step)
	}
	return out
}
