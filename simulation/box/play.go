package box

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/record"
)

// Play is a schedule that was played, and what came of it.
type Play struct {
	Schedule Schedule      `json:"schedule"`
	TTL      time.Duration `json:"ttl_ns"`
	// Servers is how many servers there were.
	Servers  int       `json:"servers,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	// Record is what happened, without any Truth. A report in JSON has no room for it.
	Record record.Log `json:"-"`
	// Struck has what was done while a client held the lock or asked for it.
	Struck map[verb]bool `json:"-"`
}

// kinds returns the kinds of its findings, the worst first.
func (p Play) kinds() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return !p.shows(k) })
}

// shows reports whether it has a finding of the kind.
func (p Play) shows(kind Kind) bool {
	return slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Kind == kind })
}

// struck reports whether a fault has struck in the play.
func (p Play) struck(fault string) bool {
	return slices.ContainsFunc(faultNamed(fault).own, func(do verb) bool { return p.Struck[do] })
}

// doubtful reports whether a busy machine may be all that the play shows: what was found depends on a time.
func (p Play) doubtful() bool {
	return len(p.Findings) > 0 && !slices.ContainsFunc(p.Findings, func(f Finding) bool {
		return !slices.Contains([]Kind{NoProgress, LossUntold, OverOnArrival}, f.Kind)
	})
}

// history is what happened, with a mark at what shows a finding.
func (p Play) history() string {
	var text strings.Builder
	lines := 0
	for i, e := range p.Record {
		var shows []Kind
		for _, f := range p.Findings {
			if f.Seq == i+1 {
				shows = append(shows, f.Kind)
			}
		}
		if e.Op == "" && len(shows) == 0 {
			continue
		}
		lines++
		line := fmt.Sprintf("  %4d %7.2fs  %-2s  %-21s  %s", lines, e.At.Seconds(), e.Process, e.Op, details(e))
		if len(shows) > 0 {
			line += "  <-- " + listed(shows)
		}
		fmt.Fprintln(&text, strings.TrimRight(line, " "))
	}
	return text.String()
}

// refused are the Words of a read or a write that the resource refused because of its token.
const refused = "refused"

// details are what a text says of an event, beside its client and Op.
func details(e *record.Event) string {
	var all []string
	if e.Lease > 0 && e.Goroutine > 1 {
		all = append(all, fmt.Sprintf("lease %d", e.Goroutine))
	}
	if e.Token > 0 {
		all = append(all, fmt.Sprintf("token %d", e.Token))
	}
	if e.Op == "read" || e.Op == "wrote" {
		all = append(all, fmt.Sprintf("value %d", e.Value))
	}
	if e.Words != "" && e.Words != e.Op {
		all = append(all, e.Words)
	}
	return strings.Join(all, ", ")
}
