package box

import (
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// Broken is a promise that broke under a fault: all findings of a kind.
type Broken struct {
	Fault string `json:"fault"`
	Kind  Kind   `json:"kind"`
	Plays int    `json:"plays"`
	// Limit: the lock of the Redis document shows it, too. Allowed: Options.Allow has it.
	Limit   bool `json:"limit,omitempty"`
	Allowed bool `json:"allowed,omitempty"`
	// Title is the case that showed it, and Shown its play, as short as it could be made.
	Title string `json:"title"`
	Shown Play   `json:"shown"`
	// Repeated counts the plays of Shown's schedule that showed it again, of Again.
	Repeated int `json:"repeated"`
	Again    int `json:"again"`

	whole int // how many steps the case has
}

// rank orders by faults, then what only this client shows before the limits, then the worst first.
func (b *Broken) rank() int {
	rank := 2*place(b.Fault)*len(kinds) + slices.Index(Kinds(), b.Kind)
	if b.Limit {
		rank += len(kinds)
	}
	return rank
}

// Finding returns what the play shows of the kind.
func (b *Broken) Finding() Finding {
	for _, f := range b.Shown.Findings {
		if f.Kind == b.Kind {
			return f
		}
	}
	return Finding{}
}

// Flags are those of the box that play it again.
func (b *Broken) Flags() string {
	return fmt.Sprintf("-servers %d -ttl %v -schedule %q", b.Shown.Servers, b.Shown.TTL, b.Shown.Schedule)
}

// paragraph says what a play shows under a fault, whose each finding is, and how often it was found again.
func paragraph(all []*Broken) string {
	b, shows, lines := all[0], []Kind{}, ""
	by, in := "by "+b.Fault, "in"
	if b.Fault == noFault {
		by = "without a fault"
	}
	if len(b.Shown.Schedule) < b.whole {
		in = "shortened from"
	}
	for _, b := range all {
		whose, again := "this client's own", "not played again"
		if b.Limit {
			whose = "a limit of the algorithm"
		}
		if b.Again > 0 {
			again = fmt.Sprintf("again in %d of %s", b.Repeated, wrap.Count(b.Again, "play"))
		}
		shows = append(shows, b.Kind)
		lines += fmt.Sprintf("  %s: %s (%s).\n", whose, b.Finding().Text, again)
	}
	return fmt.Sprintf("%s %s, %s %q\n%s  again: %s\n", listed(shows), by, in, b.Title, lines, b.Flags())
}
