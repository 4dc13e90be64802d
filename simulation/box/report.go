package box

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// Report is the result of Run.
type Report struct {
	// Name and Version are the client's.
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Servers are Count servers.
	Servers string        `json:"servers"`
	Count   int           `json:"count"`
	TTL     time.Duration `json:"ttl_ns"`
	// LeftOut says what was not played.
	LeftOut []string `json:"left_out,omitempty"`
	Tallies []*Tally `json:"faults"`
	// Broken is what was found, by faults: first what only this client shows, the worst first.
	Broken []*Broken `json:"broken,omitempty"`
	// WhySkipped is why the first skipped play was skipped, see Tally.
	WhySkipped string        `json:"why_skipped,omitempty"`
	Took       time.Duration `json:"took_ns"`

	missing []string // faults that were asked for, and that these servers don't have
	last    Play     // the one that was counted last
}

// tally is that of a fault.
func (r *Report) tally(fault string) *Tally {
	i := slices.IndexFunc(r.Tallies, func(t *Tally) bool { return t.Fault == fault })
	if i < 0 {
		i = len(r.Tallies)
		r.Tallies = append(r.Tallies, &Tally{Fault: fault})
	}
	return r.Tallies[i]
}

// found counts a play that shows a kind of finding, and keeps the shortest schedule. A random one may lack the steps of
// the fault that it was drawn for.
func (r *Report) found(c Case, p Play, kind Kind) {
	fault := p.Schedule.faultOf(c.Fault)
	i := slices.IndexFunc(r.Broken, func(k *Broken) bool { return k.Fault == fault && k.Kind == kind })
	if i < 0 {
		i = len(r.Broken)
		r.Broken = append(r.Broken, &Broken{Fault: fault, Kind: kind})
	}
	k := r.Broken[i]
	if k.Plays++; k.Plays == 1 || len(p.Schedule) < len(k.Shown.Schedule) {
		k.Title, k.Shown, k.whole = c.Title, p, len(p.Schedule)
	}
}

// of returns what broke under a fault.
func (r Report) of(fault string) []*Broken {
	return slices.DeleteFunc(slices.Clone(r.Broken), func(b *Broken) bool { return b.Fault != fault })
}

// list returns findings, by the faults that show them: "pause: stale write, lost update; crash: never free".
func (r Report) list(is func(*Broken) bool) string {
	var faults []string
	for _, fault := range Faults() {
		var kinds []Kind
		for _, b := range r.of(fault) {
			if is(b) {
				kinds = append(kinds, b.Kind)
			}
		}
		if fault == noFault {
			fault = "without a fault"
		}
		if len(kinds) > 0 {
			faults = append(faults, fault+": "+listed(kinds))
		}
	}
	return strings.Join(faults, "; ")
}

// listed joins kinds with commas.
func listed(kinds []Kind) string {
	var all []string
	for _, kind := range kinds {
		all = append(all, string(kind))
	}
	return strings.Join(all, ", ")
}

// NotAllowed lists the findings that are not allowed: first the client's own, and then the limits.
func (r Report) NotAllowed() string {
	own, limit := r.list(func(b *Broken) bool { return !b.Allowed && !b.Limit }), r.list(func(b *Broken) bool { return !b.Allowed && b.Limit })
	if own == "" && limit != "" {
		return "only limits of the algorithm, which -allow limits allows: " + limit
	} else if limit != "" {
		own += "; and limits of the algorithm: " + limit
	}
	return own
}

// Allowed lists the findings that are allowed.
func (r Report) Allowed() string { return r.list(func(b *Broken) bool { return b.Allowed }) }

// Unknown says which faults never struck, so that nothing is known of them.
func (r Report) Unknown() string {
	all := slices.Clone(r.missing)
	for _, t := range r.Tallies {
		if t.Struck == 0 && t.Plays+t.Skipped > 0 && faultNamed(t.Fault).own != nil {
			all = append(all, t.Fault)
		}
	}
	if slices.Equal(all, []string{noFault}) {
		return "no client got the lock"
	} else if len(all) > 0 {
		all[len(all)-1] += " never struck"
	}
	return strings.Join(all, ", ")
}

// notSeen is what row says if nothing was found where the Redis document's lock has limits.
const notSeen = "- (not seen)"

// row says what was found under a fault. "!" marks what only this client shows.
func (r Report) row(t *Tally) string {
	var all []string
	for _, b := range r.of(t.Fault) {
		mark := "! "
		if b.Limit {
			mark = ""
		}
		all = append(all, fmt.Sprintf("%s%s (%d)", mark, b.Kind, b.Plays))
	}
	if t.Refused > 0 {
		all = append(all, fmt.Sprintf("late writes refused by token (%d)", t.Refused))
	}
	if len(all) == 0 && t.Plays > 0 && len(Limits(t.Fault)) > 0 {
		return notSeen
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

// conclusions says in sentences which findings are the client's own and which are limits, and what is not known.
func (r Report) conclusions() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	own, limit := r.list(func(b *Broken) bool { return !b.Limit }), r.list(func(b *Broken) bool { return b.Limit })
	switch {
	case r.Played() == 0:
		say("Verdict: none, because nothing was played.")
	case own == "" && limit == "":
		say("Verdict: no promise broke.")
	case own == "":
		say("Verdict: nothing that broke is %s's own.", r.Name)
	default:
		say("Verdict: %s breaks promises that the Redis document's lock keeps: %s.", r.Name, own)
	}
	if limit != "" {
		say("Limits of the algorithm (-allow limits), which the Redis document's lock has under the same faults: %s.", limit)
	}
	if allowed := r.Allowed(); allowed != "" {
		say("Allowed: %s. Not allowed: %s.", allowed, cmp.Or(r.NotAllowed(), "nothing that was found"))
	}
	if unknown := r.Unknown(); unknown != "" {
		say("Unknown: %s, so nothing is known of it.", unknown)
	}
	if n := r.skipped(); n > 0 {
		say("Skipped: %s, because a client did not get its first lock: %s.", wrap.Count(n, "play"), r.WhySkipped)
	}
	return all
}

func (r Report) skipped() (n int) {
	for _, t := range r.Tallies {
		n += t.Skipped
	}
	return n
}

// subject says what was played, and on which servers.
func (r Report) subject() string {
	return fmt.Sprintf("%s, %d x %s", strings.TrimSpace(r.Name+" "+r.Version), r.Count, r.Servers)
}

// Text returns the report as text: the table and the findings. If all is set, it has what happened in their plays, too,
// or in the last play if nothing was found.
func (r Report) Text(all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, TTL %v, in %v\n\n", r.subject(), r.TTL, r.Took.Round(time.Second))
	rows := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "fault\tplays\tstruck\tfound, in how many plays\tthe Redis document's lock")
	for _, t := range r.Tallies {
		fmt.Fprintf(rows, "%s\t%d\t%d\t%s\t%s\n", t.Fault, t.Plays, t.Struck, r.row(t), cmp.Or(listed(Limits(t.Fault)), "-"))
	}
	_ = rows.Flush() // a Builder takes everything
	b.WriteString("\n!: only this client shows it. The Redis document's lock: Redlock on several servers, SET NX PX on one.\n")
	if slices.ContainsFunc(r.Tallies, func(t *Tally) bool { return r.row(t) == notSeen }) {
		b.WriteString(notSeen + ": the client may be safe, or too slow for the schedules (a longer -ttl helps), or something else kept it from the lock.\n")
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(&b, "Left out: %s\n", strings.Join(r.LeftOut, "; "))
	}
	for _, kind := range Kinds() {
		if slices.ContainsFunc(r.Broken, func(b *Broken) bool { return b.Kind == kind }) {
			fmt.Fprintf(&b, "%s: %s\n", kind, kind.Means())
		}
	}
	for i, k := range r.Broken { // findings of one play share a paragraph
		same := func(o *Broken) bool { return o.Fault == k.Fault && slices.Equal(o.Shown.Record, k.Shown.Record) }
		if slices.ContainsFunc(r.Broken[:i], same) {
			continue
		}
		b.WriteString("\n" + paragraph(slices.DeleteFunc(slices.Clone(r.Broken), func(o *Broken) bool { return !same(o) })))
		if all {
			b.WriteString(k.Shown.history())
		}
	}
	if all && len(r.Broken) == 0 && r.Played() > 0 {
		b.WriteString("\nThe last play:\n" + cmp.Or(r.last.history(), "  nothing happened\n"))
	}
	for _, sentence := range r.conclusions() {
		fmt.Fprintf(&b, "\n%s\n", sentence)
	}
	return b.String()
}

// Played returns how many schedules were played.
func (r Report) Played() (n int) {
	for _, t := range r.Tallies {
		n += t.Plays
	}
	return n
}

// Tally counts the plays of one fault.
type Tally struct {
	Fault string `json:"fault"`
	Plays int    `json:"plays"`
	// Struck counts the plays in which the fault struck: a client held the lock or asked for it then. Skipped counts
	// those that did not come about, because a client did not get its first lock.
	Struck  int `json:"struck"`
	Skipped int `json:"skipped,omitempty"`
	// Refused counts the plays in which the resource refused a write.
	Refused int `json:"refused,omitempty"`
}

// count counts a play.
func (t *Tally) count(p Play) {
	t.Plays++
	if p.struck(t.Fault) {
		t.Struck++
	}
	for e := range p.Record.All() {
		if e.Words == refused {
			t.Refused++
			break
		}
	}
}
