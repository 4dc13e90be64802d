package matrix

import (
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// chosenDesigns are the summary's columns: each adds one thing to the one before it.
var chosenDesigns = []report.Choice{
	{Name: "setpx-cad", Head: [2]string{"one Redis,", "SET NX PX"}},
	{Name: "wait-one", Head: [2]string{"", "+ WAIT"}},
	{Name: "redlock", Head: [2]string{"Redlock as", "documented"}},
	{Name: "default", Head: [2]string{"this", "library"}},
	{Name: "token-admit", Head: [2]string{"+ token", "check"}},
}

// chosenFaults are the summary's rows: the subjects of the debate about Redlock, a fault that
// breaks no column, and two that also break the last one or this library.
var chosenFaults = []report.Choice{
	{Name: "pause", Words: "a client is paused"},
	{Name: "delay-write", Words: "a write arrives late"},
	{Name: "step-server", Words: "servers' clocks jump"},
	{Name: "rate", Words: "clocks run apart"},
	{Name: "restart-empty", Words: "servers restart empty"},
	{Name: "failover", Words: "servers fail over"},
	{Name: "flush", Words: "servers are flushed"},
	{Name: "cut", Words: "the network is cut"},
}

// Summary has the cells of the matrix that most readers ask for. It is empty if none of them
// was played.
func (r Result) Summary() report.Summary {
	s := report.Summary{
		Designs: chosenDesigns, Faults: chosenFaults,
		Note: "A lock fails if two clients hold it at once, a late write does harm, or nobody gets it. With a token check two holders alone do no harm.",
	}
	played := false
	for _, f := range chosenFaults {
		var row []report.Cell
		for _, c := range chosenDesigns {
			var cell report.Cell
			if d, err := designs.ByName(c.Name); err == nil { // a test holds the names
				cell = r.cell(f.Name, d)
			}
			played = played || cell.Runs > 0
			row = append(row, cell)
		}
		s.Cells = append(s.Cells, row)
	}
	if !played {
		s.Cells = nil
	}
	return s
}
