package cells

import (
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/record"
)

// beliefs are the kinds of violations in what holders believe. A design whose resource
// checks tokens does not promise what holders believe, only that the data stay correct.
var beliefs = []record.ViolationKind{record.TwoHolders, record.Overvalued}

// Harms reports whether a kind of violation counts in a cell. A lease with a validity beyond
// its servers' keys is not counted there, because locks on one server have one in nearly
// every run. Cell.Overvalued counts it for all designs.
func Harms(d designs.Design, kind record.ViolationKind) bool {
	return kind != record.Overvalued && Promised(d, kind)
}

// Promised reports whether a violation breaks what a design promises.
func Promised(d designs.Design, kind record.ViolationKind) bool {
	return !d.Fenced() || !slices.Contains(beliefs, kind)
}

// watches reports whether a design's clients monitor the servers' restarts and clocks.
func watches(d designs.Design) bool {
	return slices.Contains([]string{"monitor", "topup", "default", "token-write", "token-admit", "idempotent"}, d.Name)
}

// Unreached names the events that never happened and on which a 0 depends.
func (f Fault) Unreached(d designs.Design, counts map[string]int) []string {
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
