package box

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// Tally is what came of one fault.
type Tally struct {
	Fault string `json:"fault"`
	Plays int    `json:"plays"`
	// Struck counts the plays in which the fault struck, see Strikes. Skipped counts those that did not
	// come about, because a client did not get its first lock.
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

// By returns the fault that shows a finding: another one than the tally's if its schedule was made so short
// that it lacks that one's steps.
func (t Tally) By(b Broken) string { return b.Shown.Schedule.faultOf(t.Fault) }

// Word says what was found of a kind. "!" marks what only this client shows.
func (t Tally) Word(b Broken) string {
	mark, also := "", ""
	if !b.Limit {
		mark = "! "
	}
	if by := t.By(b); by == noFault && t.Fault != noFault {
		also = ", also without it"
	} else if by != t.Fault {
		also = ", by " + by
	}
	return fmt.Sprintf("%s%s (%d%s)", mark, b.Kind, b.Plays, also)
}

// Words say what was found under a fault, in a few words: without one also what only other faults' schedules show,
// though it needs no fault.
func (r Report) Words(t Tally) string {
	var all []string
	for _, b := range t.Kinds {
		all = append(all, t.Word(b))
	}
	if t.Refused > 0 {
		all = append(all, fmt.Sprintf("late writes refused by token (%d)", t.Refused))
	}
	if t.Fault == noFault {
		all = append(all, r.bare(t)...)
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

// bare are the findings without a fault that none's own schedules don't show, each with the row that it is in.
func (r Report) bare(none Tally) (all []string) {
	seen := map[Kind]bool{}
	for _, b := range none.Kinds {
		seen[b.Kind] = true
	}
	for t, b := range found(r.Tallies) {
		if t.By(*b) == noFault && !seen[b.Kind] {
			seen[b.Kind] = true
			all = append(all, fmt.Sprintf("%s (see %s)", b.Kind, t.Fault))
		}
	}
	return all
}

// Whose says whether it is the client's own.
func (b Broken) Whose() string {
	if b.Limit {
		return "a limit of the algorithm"
	}
	return "this client's own"
}

// again says how often it was found again.
func (b Broken) again() string {
	if b.Again == 0 {
		return "not played again, because the time was up"
	}
	return fmt.Sprintf("again in %d of %s", b.Repeated, wrap.Count(b.Again, "play"))
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
		j := slices.IndexFunc(t.Kinds, func(k Broken) bool { return k.Kind == kind })
		if j < 0 {
			j = len(t.Kinds)
			t.Kinds = append(t.Kinds, Broken{Kind: kind})
		}
		k := &t.Kinds[j]
		// The shortest schedule is shown, of those that have steps of the fault, which random ones may lack.
		shows := p.Schedule.faultOf(c.Fault) == c.Fault
		if k.Plays++; k.Plays == 1 || shows && t.By(*k) != c.Fault || shows == (t.By(*k) == c.Fault) && len(p.Schedule) < len(k.Shown.Schedule) {
			k.Title, k.Shown, k.whole = c.Title, p, len(p.Schedule)
		}
	}
}
