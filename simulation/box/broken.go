package box

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// found counts a play that shows a kind of finding. The shortest schedule is kept, of those that have steps of the
// fault, which random ones may lack.
func (b *box) found(c Case, p Play, kind Kind) {
	i := slices.IndexFunc(b.broken, func(k *Broken) bool { return k.Fault == c.Fault && k.Kind == kind })
	if i < 0 {
		i = len(b.broken)
		b.broken = append(b.broken, &Broken{Fault: c.Fault, Kind: kind})
	}
	k := b.broken[i]
	k.Plays++
	is, was := p.Schedule.faultOf(c.Fault) == c.Fault, k.Shown.Schedule.faultOf(c.Fault) == c.Fault
	if k.Plays == 1 || is && !was || is == was && len(p.Schedule) < len(k.Shown.Schedule) {
		k.Title, k.Shown, k.whole = c.Title, p, len(p.Schedule)
	}
}

// byFault puts each under the fault that its schedule shows: another one than that for which it was played if it was
// made so short that it lacks that one's steps.
func byFault(broken []*Broken) (all []Broken) {
	for _, one := range broken {
		k := *one
		if k.Fault = k.Shown.Schedule.faultOf(one.Fault); k.Fault != one.Fault {
			k.Plays = 1 // the others may need their fault
		}
		i := slices.IndexFunc(all, func(o Broken) bool { return o.Fault == k.Fault && o.Kind == k.Kind })
		if i < 0 {
			all = append(all, k)
			continue
		}
		kept := all[i]
		if k.Repeated > kept.Repeated {
			kept = k
		}
		kept.Plays = max(k.Plays, all[i].Plays)
		all[i] = kept
	}
	return all
}

// compare orders by faults, then what only this client shows before the limits, then the worst first.
func (b Broken) compare(o Broken) int {
	limit := func(b Broken) int {
		if b.Limit {
			return 1
		}
		return 0
	}
	return cmp.Or(slices.Index(Faults(), b.Fault)-slices.Index(Faults(), o.Fault), limit(b)-limit(o), slices.Index(Kinds(), b.Kind)-slices.Index(Kinds(), o.Kind))
}

// Finding returns what the play shows of the kind.
func (b Broken) Finding() Finding {
	for _, f := range b.Shown.Findings {
		if f.Kind == b.Kind {
			return f
		}
	}
	return Finding{}
}

// Heading says what is found, and by which fault.
func (b Broken) Heading() string {
	if b.Fault == noFault {
		return string(b.Kind) + " without a fault"
	}
	return string(b.Kind) + " by " + b.Fault
}

// From says in which schedule it was found.
func (b Broken) From() string {
	text := fmt.Sprintf("in %q", b.Title)
	if len(b.Shown.Schedule) < b.whole {
		text = fmt.Sprintf("shortened from %q", b.Title)
	}
	return text
}

// Flags are those of the box that play it again.
func (b Broken) Flags() string {
	return fmt.Sprintf("-servers %d -ttl %v -schedule %q", b.Shown.Servers, b.Shown.TTL, b.Shown.Schedule)
}

// Says is the finding in a sentence, whose it is, and how often it was found again.
func (b Broken) Says() string {
	whose, again, late := "this client's own", "not played again, because the time was up", ""
	if b.Limit {
		whose = "a limit of the algorithm"
	}
	if b.Again > 0 {
		again = fmt.Sprintf("again in %d of %s", b.Repeated, wrap.Count(b.Again, "play"))
	}
	if b.Shown.Late != "" {
		late = fmt.Sprintf(" The machine was slow: %s. A lease of %v may have run out meanwhile; try a longer TTL.", b.Shown.Late, b.Shown.TTL)
	}
	return fmt.Sprintf("%s: %s (%s).%s", whose, b.Finding().Text, again, late)
}

// History is what happened, with a mark at what shows the finding.
func (b Broken) History() string {
	var text strings.Builder
	seq := 0
	for e := range b.Shown.Record.All() {
		seq++
		shows := b.Finding().Seq == seq
		if e.Op == "" && !shows {
			continue
		}
		line := fmt.Sprintf("  %4d %7.2fs  %-2s  %-21s  %s", seq, e.At.Seconds(), e.Process, e.Op, details(e))
		if shows {
			line += "  <--"
		}
		fmt.Fprintln(&text, strings.TrimRight(line, " "))
	}
	return text.String()
}
