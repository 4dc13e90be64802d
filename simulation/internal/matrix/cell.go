package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// beliefs are the kinds that are about what holders believe. They are no violation
// of a design with a resource that looks at tokens: what that promises is that the
// data come to no harm whatever holders believe.
var beliefs = []simulation.ViolationKind{simulation.TwoHolders, simulation.Overvalued}

// harms reports whether a kind of violation counts in a cell. A lease that is promised
// for longer than its servers keep it is judged, but counts in no design's cell: nothing
// of the kind is demanded of locks on one server, which do so in nearly every run.
// Cell.Overvalued has it, for all designs alike.
func harms(d designs.Design, kind simulation.ViolationKind) bool {
	return kind != simulation.Overvalued && Promised(d, kind)
}

// Promised reports whether a violation breaks what a design promises.
func Promised(d designs.Design, kind simulation.ViolationKind) bool {
	return !Fenced(d) || !slices.Contains(beliefs, kind)
}

// Fenced reports whether a design's resource looks at tokens.
func Fenced(d designs.Design) bool {
	return d.Configure(simulation.Config{}).Guard.Tokens()
}

// watches reports whether a design's clients watch the servers' restarts and clocks.
func watches(d designs.Design) bool {
	return slices.Contains([]string{"monitor", "topup", "default", "token-write", "token-admit", "idempotent"}, d.Name)
}

func (t task) playCell(seed uint64, sum *tally) error {
	f, err := ByName(t.A)
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
	sum.run(seed, r, func(kind simulation.ViolationKind) bool { return harms(d, kind) })
	if slices.ContainsFunc(r.Kinds(), func(kind simulation.ViolationKind) bool { return Promised(d, kind) }) {
		sum.Broken++
	}
	return nil
}

// unreached names what never happened, though a 0 depends on it.
func (f Fault) unreached(d designs.Design, counts map[string]int) []string {
	needs := append([]string{"a lease was acquired"}, f.Needs...)
	if d.Servers > 1 {
		needs = append(needs, f.Voted...)
	}
	if watches(d) {
		needs = append(needs, f.Watched...)
	}
	return slices.DeleteFunc(needs, func(need string) bool {
		for one := range strings.SplitSeq(need, " or ") {
			if counts[one] > 0 {
				return true
			}
		}
		return false
	})
}

// command repeats a run of a cell, with its timeline.
func command(scenario, design string, seed uint64) string {
	return fmt.Sprintf("redlocksim run %s -design %s -seed %d", scenario, design, seed)
}
