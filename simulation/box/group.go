package box

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// group is what one schedule shows.
type group struct {
	By string
	Play
	Kinds []*Broken
}

// groups returns the findings by their schedules, first those with something that only this client shows.
// What several tallies have by the same fault is in them once.
func groups(tallies []Tally) (all []*group) {
	seen := map[string]bool{}
	for t, b := range found(tallies) {
		by := t.By(*b)
		is := by + ": " + string(b.Kind)
		if seen[is] {
			continue
		}
		seen[is] = true
		at := slices.IndexFunc(all, func(g *group) bool {
			return g.By == by && g.Servers == b.Shown.Servers && g.TTL == b.Shown.TTL && slices.Equal(g.Schedule, b.Shown.Schedule)
		})
		if at < 0 {
			at = len(all)
			all = append(all, &group{By: by, Play: b.Shown})
		}
		all[at].Kinds = append(all[at].Kinds, b)
	}
	slices.SortStableFunc(all, func(a, b *group) int { return min(1, b.own()) - min(1, a.own()) })
	return all
}

// own counts the findings that only this client shows.
func (g *group) own() (n int) {
	for _, b := range g.Kinds {
		if !b.Limit {
			n++
		}
	}
	return n
}

// Heading says what is found, and by which fault.
func (g *group) Heading() string {
	var kinds []string
	for _, b := range g.Kinds {
		kinds = append(kinds, string(b.Kind))
	}
	if g.By == noFault {
		return strings.Join(kinds, ", ") + " without a fault"
	}
	return strings.Join(kinds, ", ") + " by " + g.By
}

// From says in which schedule it was found, and on how many servers if not on all.
func (g *group) From(count int) string {
	b := g.Kinds[0]
	text := fmt.Sprintf("in %q", b.Title)
	if len(g.Schedule) < b.whole {
		text = fmt.Sprintf("shortened from %q", b.Title)
	}
	if g.Servers != 0 && g.Servers != count {
		text += fmt.Sprintf(", on %d servers", g.Servers)
	}
	return text
}

// history writes what happened, and marks what shows a finding.
func (g *group) history(w io.Writer) {
	seq := 0
	for e := range g.Record.All() {
		seq++
		shows := slices.ContainsFunc(g.Kinds, func(b *Broken) bool { return b.Finding().Seq == seq })
		if e.Op == "" && !shows {
			continue
		}
		line := fmt.Sprintf("  %4d %7.2fs  %-2s  %-21s  %s", seq, e.At.Seconds(), e.Process, e.Op, details(e))
		if shows {
			line += "  <--"
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}
