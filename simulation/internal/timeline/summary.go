package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// manyBeliefs: of more beliefs, a summary tells only those that weren't so.
const manyBeliefs = 12

// Summary compares beliefs with the truth in a few sentences, and lists the violations. A
// sentence about an error begins with "!! ".
func (t *Timeline) Summary() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	token := t.tokens()
	if len(t.Beliefs) > manyBeliefs {
		add("Leases were held %d times.", len(t.Beliefs))
	}
	for _, b := range t.Beliefs {
		what := named(b.event, token)
		if b.Token != 0 {
			what += ","
		}
		wrong, without := time.Duration(0), ""
		for _, gap := range t.gaps(b) {
			wrong += gap.until - gap.from
			without = fmt.Sprintf("; for %s of it too few servers had its key", length(wrong))
		}
		if len(t.Beliefs) > manyBeliefs && wrong == 0 {
			continue
		}
		add("%s believed that it held %s from %s to %s (%s)%s.", b.who(), what, Clock(b.At), Clock(b.Until), cmp.Or(b.End, "the trace ends"), without)
	}
	for _, o := range t.overlaps() {
		add("!! %s and %s both believed that they held %s for %s: from %s to %s.", o.first.who(), o.second.who(), o.first.Key,
			length(o.until-o.from), Clock(o.from), Clock(o.until))
	}
	var kinds []string
	for _, v := range t.Violations {
		if kind := string(v.Violation.Kind); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	switch n := len(t.Violations); n {
	case 0:
		add("Nothing was violated.")
	case 1:
		add("!! 1 violation: %s.", list(kinds))
	default:
		add("!! %d violations: %s.", n, list(kinds))
	}
	return out
}
