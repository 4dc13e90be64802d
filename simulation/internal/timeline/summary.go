package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Summary compares beliefs with the truth in a few sentences, and lists the violations. A
// sentence about an error begins with "!! ".
func (t *Timeline) Summary() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	token := t.tokens()
	truth := t.Truth()
	for _, b := range t.Beliefs {
		what := named(b.Key, b.Token, token)
		if b.Token != 0 {
			what += ","
		}
		s := fmt.Sprintf("%s believed that it held %s from %s to %s ms (%s)", b.who(), what, Clock(b.From), Clock(b.Until), cmp.Or(b.End, "the trace ends"))
		wrong := time.Duration(0)
		for _, gap := range t.gaps(b, truth) {
			wrong += gap.until - gap.from
		}
		if wrong > 0 {
			s += fmt.Sprintf("; for %s of it too few servers had its key", length(wrong))
		}
		out = append(out, s+".")
	}
	for _, o := range t.Overlaps() {
		add("!! %s and %s both believed that they held %s for %s: from %s to %s ms.", o.First, o.Second, o.Key,
			length(o.Until-o.From), Clock(o.From), Clock(o.Until))
	}
	var kinds []string
	for _, v := range t.Violations {
		if !slices.Contains(kinds, v.Kind) {
			kinds = append(kinds, v.Kind)
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

// gaps returns the periods of a belief in which its holder had no quorum of servers, according
// to Timeline.Truth.
func (t *Timeline) gaps(b belief, truth []KeyPeriod) []period {
	var list []period
	at := b.From
	for _, s := range truth { // in the order of time
		if s.Quorum && s.Process == b.Process && s.Key == b.Key && s.Until > at && s.From < b.Until {
			if s.From > at {
				list = append(list, period{at, s.From})
			}
			at = max(at, s.Until)
		}
	}
	if b.Until > at {
		list = append(list, period{at, b.Until})
	}
	return list
}
