package timeline

import (
	"fmt"
	"slices"
	"time"
)

// Summary sets belief beside truth in a few sentences, and says what was violated.
// Sentences of what is wrong begin with "!! ".
func (t *Timeline) Summary() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	token, truth := t.tokens(), t.Truth()
	for _, b := range t.Beliefs {
		what := b.Key
		if b.Token != 0 {
			what += ", token " + token(b.Token) + ","
		}
		end := b.End
		if end == "" {
			end = "the trace ends"
		}
		s := fmt.Sprintf("%s believed that it held %s from %s to %s ms (%s)", b.who(), what, Clock(b.From), Clock(b.Until), end)
		if wrong := t.untrue(b, truth); wrong > 0 {
			s += fmt.Sprintf("; for %s of it too few instances had its key", length(wrong))
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
		add("!! 1 violation: %s.", kinds[0])
	default:
		add("!! %d violations: %s.", n, list(kinds))
	}
	return out
}

// untrue is for how much of a belief its holder had no quorum of instances.
func (t *Timeline) untrue(b Belief, truth []Stretch) time.Duration {
	wrong := b.Until - b.From
	for _, s := range truth {
		if s.Quorum && b.is(s) {
			wrong -= max(0, min(b.Until, s.Until)-max(b.From, s.From))
		}
	}
	return wrong
}

// is reports whether a stretch is about the same process and key as a belief.
func (b Belief) is(s Stretch) bool {
	return s.Process == b.Process && s.Key == b.Key
}
