package matrix

import (
	"fmt"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// chosenDesigns are the summary's columns: each adds one thing to the one before it.
var chosenDesigns = []report.Choice{
	{Name: "setpx-cad", Words: "one Redis with SET NX PX", Head: [2]string{"one Redis,", "SET NX PX"}},
	{Name: "wait-one", Words: "the same with one replica and WAIT", Head: [2]string{"", "+ WAIT"}},
	{Name: "redlock", Words: "Redlock as documented", Head: [2]string{"Redlock as", "documented"}},
	{Name: "default", Words: "this library", Head: [2]string{"this", "library"}},
	{Name: "token-admit", Words: "this library and a token check at the resource", Head: [2]string{"+ token", "check"}},
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
		return s
	}
	s.Conclusions = []string{
		fmt.Sprintf("When a client is paused, one Redis fails in %s, Redlock as documented in %s, and this library in %s; with a token check at the resource harm is done in %s.",
			r.often("setpx-cad", "pause"), r.often("redlock", "pause"), r.often("default", "pause"), r.often("token-admit", "pause")),
		fmt.Sprintf("When servers restart empty, fail over, or have clocks that jump, Redlock as documented fails in %s, and this library in %s.",
			r.often("redlock", "restart-empty", "failover", "step-server"), r.often("default", "restart-empty", "failover", "step-server")),
		fmt.Sprintf("A token check can't tell a holder's late write from its newer ones: harm is done in %s.", r.often("token-admit", "delay-write")),
	}
	return s
}

// often says in how many of its runs under some faults a design had a violation: "82%",
// "none of 150".
func (r Result) often(design string, faults ...string) string {
	var sum report.Cell
	for _, fault := range faults {
		t := r.of(fault, design)
		sum.Runs += t.Runs
		sum.Violated += t.Violated.Runs
	}
	if sum.Violated == 0 {
		return fmt.Sprintf("none of %d", sum.Runs)
	}
	return sum.Word()
}
