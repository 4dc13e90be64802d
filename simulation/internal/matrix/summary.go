package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/report"
)

// chosenDesigns are the summary's columns: each adds one thing to the one before it.
var chosenDesigns = []report.Axis{
	{Name: "setpx-cad", Title: "one Redis,\nSET NX PX"},
	{Name: "wait-one", Title: "\n+ WAIT"},
	{Name: "redlock", Title: "Redlock as\ndocumented"},
	{Name: "default", Title: "this\nlibrary"},
	{Name: "token-admit", Title: "+ token\ncheck"},
}

// chosenFaults are the summary's rows: the subjects of the debate about Redlock, a fault that
// breaks no column, and two that also break the last one or this library.
var chosenFaults = []report.Axis{
	{Name: "pause", Title: "a client is paused"},
	{Name: "delay-write", Title: "a write arrives late"},
	{Name: "step-server", Title: "servers' clocks jump"},
	{Name: "rate", Title: "clocks run apart"},
	{Name: "restart-empty", Title: "servers restart empty"},
	{Name: "failover", Title: "servers fail over"},
	{Name: "flush", Title: "servers are flushed"},
	{Name: "cut", Title: "the network is cut"},
}

// Summary has the cells of the matrix that most readers ask for. It is empty if none of them
// was played.
func (r Result) Summary() report.Summary {
	s := report.Summary{
		Matrix: report.Matrix{Designs: chosenDesigns, Faults: chosenFaults},
		Note:   "A lock fails if two clients hold it at once, a late write does harm, or nobody gets it. With a token check two holders alone do no harm.",
	}
	for _, d := range s.Designs {
		row := r.row(d.Name, s.Faults)
		for _, c := range row {
			s.Runs = max(s.Runs, c.Runs)
		}
		s.Cells = append(s.Cells, row)
	}
	var others []string
	for _, f := range r.faults {
		c := r.cell("default", f.Name).report()
		if c.Violated > 0 && !slices.ContainsFunc(s.Faults, func(row report.Axis) bool { return row.Name == f.Name }) {
			others = append(others, fmt.Sprintf("%s (%s)", f.Name, c.Word()))
		}
	}
	if len(others) > 0 {
		s.Others = "Other faults that break this library: " + strings.Join(others, ", ") + "."
	}
	return s
}
