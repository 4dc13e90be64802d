package matrix

import (
	"fmt"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/record"
)

// cell is one design under one fault, and what its runs showed.
type cell struct {
	fault  cells.Fault
	design designs.Design
	// want is what is expected, if listed.
	want   cells.Expectation
	listed bool

	sum report.Cell
	// counts is how often each event happened that a check depends on.
	counts map[string]int
	// surprises is the number of runs that broke the lock in an unexpected way. surprise says what the first
	// of them had, and its seed.
	surprises int
	surprise  string
}

func newCell(f cells.Fault, d designs.Design) *cell {
	c := &cell{fault: f, design: d, sum: report.Cell{Kinds: map[string]int{}, First: map[string]uint64{}}, counts: map[string]int{}}
	c.want, c.listed = cells.ExpectationOf(f.Name, d.Name)
	return c
}

// outcome is what one run showed. A run's log is too large to be kept.
type outcome struct {
	kinds    []record.ViolationKind // those that count
	counts   map[string]int
	surprise error
}

// play plays a run.
func (c *cell) play(seed uint64) (outcome, error) {
	r, err := c.fault.Play(seed, c.design)
	return c.judge(r), err
}

// judge is the outcome of a run.
func (c *cell) judge(r simulation.Result) outcome {
	o := outcome{counts: r.Log.Counts()}
	for _, kind := range r.Kinds() {
		if cells.Harms(c.design, kind) {
			o.kinds = append(o.kinds, kind)
		}
	}
	if c.listed {
		o.surprise = c.want.Check(r, c.design)
	}
	return o
}

// add adds a run. Seeds rise.
func (c *cell) add(seed uint64, o outcome) {
	c.sum.Runs++
	if len(o.kinds) > 0 {
		if c.sum.Violated == 0 {
			c.sum.Seed = seed
		}
		c.sum.Violated++
	}
	for _, kind := range o.kinds {
		if c.sum.Kinds[string(kind)] == 0 {
			c.sum.First[string(kind)] = seed
		}
		c.sum.Kinds[string(kind)]++
	}
	if o.counts[record.LongerThanKept] > 0 {
		c.sum.Overvalued++
	}
	for what, n := range o.counts {
		c.counts[what] += n
	}
	if o.surprise != nil {
		if c.surprises == 0 {
			c.surprise = fmt.Sprintf("first with seed %d: %v", seed, o.surprise)
		}
		c.surprises++
	}
}

// report is the cell of a page. It is empty if the cell wasn't played.
func (c *cell) report() report.Cell {
	if c == nil || c.sum.Runs == 0 {
		return report.Cell{}
	}
	shown := c.sum
	shown.Unexpected = c.surprises > 0
	if c.listed {
		shown.Expected = c.want.String()
	}
	if shown.Violated > 0 {
		shown.Command = fmt.Sprintf("redlocksim run %s -design %s -seed %d", c.fault.Name, c.design.Name, shown.Seed)
	} else {
		shown.Unreached = c.fault.Unreached(c.counts)
	}
	return shown
}
