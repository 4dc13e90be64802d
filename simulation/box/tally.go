package box

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// Tally is what came of one fault. Its Kinds are what is found by this fault, see byFault, whichever schedules showed it.
type Tally struct {
	Fault string `json:"fault"`
	Plays int    `json:"plays"`
	// Struck counts the plays in which the fault struck: a client held the lock or asked for it then. Skipped counts
	// those that did not come about, because a client did not get its first lock.
	Struck  int `json:"struck"`
	Skipped int `json:"skipped,omitempty"`
	// Broke counts the plays with findings, Refused those in which the resource refused a write.
	Broke   int `json:"broke"`
	Refused int `json:"refused,omitempty"`
	// Kinds are the kinds of the findings, the worst first.
	Kinds []Broken `json:"kinds,omitempty"`
}

// Broken is a kind of finding.
type Broken struct {
	Kind  Kind `json:"kind"`
	Plays int  `json:"plays"`
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

// found yields all findings with their tallies.
func found(tallies []Tally) iter.Seq2[Tally, *Broken] {
	return func(yield func(Tally, *Broken) bool) {
		for _, t := range tallies {
			for i := range t.Kinds {
				if !yield(t, &t.Kinds[i]) {
					return
				}
			}
		}
	}
}

// byFault puts each finding into the tally of the fault that its schedule shows: another one than that for which it was
// played if it was made so short that it lacks that one's steps. The faults are in their order.
func byFault(tallies []Tally) (all []Tally) {
	for _, fault := range Faults() {
		now := Tally{Fault: fault}
		for _, t := range tallies {
			if t.Fault == fault {
				now = t
				now.Kinds = nil
			}
		}
		for t, b := range found(tallies) {
			if b.Shown.Schedule.faultOf(t.Fault) != fault {
				continue
			}
			k := *b
			if t.Fault != fault {
				k.Plays = 1 // the others may need their fault
			}
			if i := now.kind(k.Kind); i < 0 {
				now.Kinds = append(now.Kinds, k)
			} else if k.Repeated > now.Kinds[i].Repeated {
				k.Plays = now.Kinds[i].Plays
				now.Kinds[i] = k
			}
		}
		if now.Plays+now.Skipped+len(now.Kinds) > 0 {
			all = append(all, now)
		}
	}
	return all
}

// kind is the index of a kind of finding, -1 without one.
func (t Tally) kind(kind Kind) int {
	return slices.IndexFunc(t.Kinds, func(b Broken) bool { return b.Kind == kind })
}

// rank orders findings: the worst first, and before all limits what only this client shows.
func (b Broken) rank() int {
	n := slices.Index(Kinds(), b.Kind)
	if b.Limit {
		n += len(kinds)
	}
	return n
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

// Word says what was found of a kind. "!" marks what only this client shows.
func (b Broken) Word() string {
	mark := "! "
	if b.Limit {
		mark = ""
	}
	return fmt.Sprintf("%s%s (%d)", mark, b.Kind, b.Plays)
}

// Words say what was found under a fault, in a few words.
func (t Tally) Words() string {
	var all []string
	for _, b := range t.Kinds {
		all = append(all, b.Word())
	}
	if t.Refused > 0 {
		all = append(all, fmt.Sprintf("late writes refused by token (%d)", t.Refused))
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}

// Heading says what is found, and by which fault.
func (t Tally) Heading(b *Broken) string {
	if t.Fault == noFault {
		return string(b.Kind) + " without a fault"
	}
	return string(b.Kind) + " by " + t.Fault
}

// From says in which schedule it was found, and on how many servers if not on all.
func (b Broken) From(count int) string {
	text := fmt.Sprintf("in %q", b.Title)
	if len(b.Shown.Schedule) < b.whole {
		text = fmt.Sprintf("shortened from %q", b.Title)
	}
	if b.Shown.Servers != 0 && b.Shown.Servers != count {
		text += fmt.Sprintf(", on %d servers", b.Shown.Servers)
	}
	return text
}

// Says is the finding in a sentence, whose it is, and how often it was found again.
func (b Broken) Says() string {
	whose, again := "this client's own", "not played again, because the time was up"
	if b.Limit {
		whose = "a limit of the algorithm"
	}
	if b.Again > 0 {
		again = fmt.Sprintf("again in %d of %s", b.Repeated, wrap.Count(b.Again, "play"))
	}
	return fmt.Sprintf("%s: %s (%s)", whose, b.Finding().Text, again)
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

// count counts a play.
func (t *Tally) count(c Case, p Play) {
	t.Plays++
	if p.struck(c.Fault) {
		t.Struck++
	}
	for e := range p.Record.All() {
		if e.Words == refused {
			t.Refused++
			break
		}
	}
	if len(p.Findings) > 0 {
		t.Broke++
	}
	for _, kind := range p.kinds() {
		i := t.kind(kind)
		if i < 0 {
			i = len(t.Kinds)
			t.Kinds = append(t.Kinds, Broken{Kind: kind})
		}
		b := &t.Kinds[i]
		b.Plays++
		// The shortest schedule is shown, of those that have steps of the fault, which random ones may lack.
		is, was := p.Schedule.faultOf(c.Fault) == c.Fault, b.Shown.Schedule.faultOf(c.Fault) == c.Fault
		if b.Plays == 1 || is && !was || is == was && len(p.Schedule) < len(b.Shown.Schedule) {
			b.Title, b.Shown, b.whole = c.Title, p, len(p.Schedule)
		}
	}
}
