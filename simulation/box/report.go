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
	Tallies []Tally  `json:"faults"`
	// Broken is what was found, by faults: first what only this client shows, the worst first.
	Broken []Broken `json:"broken,omitempty"`
	// WhySkipped is why the first play was skipped that was, see Tally.
	WhySkipped string        `json:"why_skipped,omitempty"`
	Took       time.Duration `json:"took_ns"`
	// Reference is what the lock of the Redis document shows.
	Reference Reference `json:"reference"`

	missing []string // faults that were asked for, and that these servers don't have
}

// of returns what broke under a fault.
func (r Report) of(fault string) []Broken {
	return slices.DeleteFunc(slices.Clone(r.Broken), func(b Broken) bool { return b.Fault != fault })
}

// list returns findings, by the faults that show them: "pause: stale write, lost update; crash: never free".
func (r Report) list(is func(Broken) bool) string {
	var faults []string
	for _, fault := range Faults() {
		var kinds []string
		for _, b := range r.of(fault) {
			if is(b) {
				kinds = append(kinds, string(b.Kind))
			}
		}
		if fault == noFault {
			fault = "without a fault"
		}
		if len(kinds) > 0 {
			faults = append(faults, fault+": "+strings.Join(kinds, ", "))
		}
	}
	return strings.Join(faults, "; ")
}

// NotAllowed lists the findings that are not allowed.
func (r Report) NotAllowed() string { return r.list(func(b Broken) bool { return !b.Allowed }) }

// Allowed lists the findings that are allowed.
func (r Report) Allowed() string { return r.list(func(b Broken) bool { return b.Allowed }) }

// Unknown lists the faults that never struck, so that nothing is known of them.
func (r Report) Unknown() string {
	all := slices.Clone(r.missing)
	for _, t := range r.Tallies {
		if t.Struck == 0 && t.Plays+t.Skipped > 0 && faultNamed(t.Fault).own != nil {
			all = append(all, t.Fault)
		}
	}
	return strings.Join(all, ", ")
}

// Found says what was found under a fault. "!" marks what only this client shows.
func (r Report) Found(t Tally) string {
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
	return cmp.Or(strings.Join(all, ", "), "-")
}

// Conclusions say in sentences whose findings the findings are, and what is not known.
func (r Report) Conclusions() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	own, limit := r.list(func(b Broken) bool { return !b.Limit }), r.list(func(b Broken) bool { return b.Limit })
	switch {
	case r.Played() == 0:
		say("Verdict: none, because nothing was played.")
	case own == "" && limit == "":
		say("Verdict: no promise broke.")
	case own == "":
		say("Verdict: all that broke are limits of the algorithm (-allow limits), which the Redis document's lock has under the same faults (%s). Nothing is %s's own.", limit, r.Name)
	case limit == "":
		say("Verdict: %s breaks promises that the Redis document's lock keeps: %s.", r.Name, own)
	default:
		say("Verdict: %s breaks promises that the Redis document's lock keeps: %s. The rest are limits of the algorithm (-allow limits), which that lock has under the same faults: %s.", r.Name, own, limit)
	}
	if allowed := r.Allowed(); allowed != "" {
		say("Allowed: %s. Not allowed: %s.", allowed, cmp.Or(r.NotAllowed(), "nothing that was found"))
	}
	if unknown := r.Unknown(); unknown != "" {
		say("Unknown: %s never struck, so nothing is known of it.", unknown)
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

// Text returns the report as text: the table, and the schedules that show the client's own findings; or those of all
// findings, with what happened.
func (r Report) Text(all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, TTL %v, in %v\n\n", r.subject(), r.TTL, r.Took.Round(time.Second))
	rows := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "fault\tplays\tstruck\tfound, in how many plays\tthe Redis document's lock")
	for _, t := range r.Tallies {
		fmt.Fprintf(rows, "%s\t%d\t%d\t%s\t%s\n", t.Fault, t.Plays, t.Struck, r.Found(t), r.Reference.Shows(t.Fault))
	}
	_ = rows.Flush() // a Builder takes everything
	fmt.Fprintf(&b, "\n!: only this client shows it. The Redis document's lock: %s.\n", r.Reference.About())
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(&b, "Left out: %s\n", strings.Join(r.LeftOut, "; "))
	}
	for _, k := range r.Broken {
		if k.Limit && !all {
			continue
		}
		fmt.Fprintf(&b, "\n%s, %s\n  %s\n", k.Heading(), k.From(), k.Says())
		for _, step := range k.Shown.Schedule {
			fmt.Fprintf(&b, "    %s\n", step)
		}
		fmt.Fprintf(&b, "  again: %s\n", k.Flags())
		if all {
			b.WriteString(k.History())
		}
	}
	for _, sentence := range r.Conclusions() {
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
