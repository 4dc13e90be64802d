package matrix

import (
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/record"
)

func (t task) playCell(seed uint64, sum *tally) error {
	f, err := cells.ByName(t.A)
	if err != nil {
		return err
	}
	d, err := designs.ByName(t.B)
	if err != nil {
		return err
	}
	r, err := f.Play(seed, d)
	if err != nil {
		return err
	}
	sum.run(seed, r, func(kind record.ViolationKind) bool { return cells.Harms(d, kind) })
	if slices.ContainsFunc(r.Kinds(), func(kind record.ViolationKind) bool { return cells.Promised(d, kind) }) {
		sum.Broken++
	}
	return nil
}

// command repeats a run of a cell, with its timeline.
func command(scenario, design string, seed uint64) string {
	return fmt.Sprintf("redlocksim run %s -design %s -seed %d", scenario, design, seed)
}
