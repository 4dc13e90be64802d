package box

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the result of Run.
type Report struct {
	// Name and Version are the client's, Can is what its driver can do.
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"`
	Can     []string `json:"can,omitempty"`
	// Servers are Count servers.
	Servers string        `json:"servers"`
	Count   int           `json:"count"`
	TTL     time.Duration `json:"ttl_ns"`
	// LeftOut says what was not played.
	LeftOut []string `json:"left_out,omitempty"`
	Tallies []Tally  `json:"faults"`
	// Checks says of each kind how often it could be found.
	Checks []Check `json:"checks,omitempty"`
	// WhySkipped is why the first play was skipped that was, see Tally.
	WhySkipped string        `json:"why_skipped,omitempty"`
	Took       time.Duration `json:"took_ns"`
	// Reference is what the lock of the Redis document shows.
	Reference Reference `json:"reference"`
}

// Check is how many plays could have shown a finding of a kind, see Kind.Could, and how many did.
type Check struct {
	Kind   Kind `json:"kind"`
	Could  int  `json:"could"`
	Failed int  `json:"failed"`
}

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

// Finding returns what the play shows of the kind.
func (b Broken) Finding() Finding {
	for _, f := range b.Shown.Findings {
		if f.Kind == b.Kind {
			return f
		}
	}
	return Finding{}
}

// Replay is a play to be played again.
type Replay struct {
	Name     string        `json:"name"`
	Servers  int           `json:"servers"`
	TTL      time.Duration `json:"ttl_ns"`
	Fault    string        `json:"fault,omitempty"`
	Kind     Kind          `json:"kind"`
	Text     string        `json:"text,omitempty"`
	Schedule Schedule      `json:"schedule"`
}

// Replay returns the replay of one of a Tally's findings.
func (r Report) Replay(t Tally, b Broken) Replay {
	return Replay{Name: r.Name, Servers: cmp.Or(b.Shown.Servers, r.Count), TTL: b.Shown.TTL, Fault: t.By(b), Kind: b.Kind, Text: b.Finding().Text, Schedule: b.Shown.Schedule}
}

// Worst returns the replay of the worst finding, first of those that only this client shows, and false if
// there is none.
func (r Report) Worst() (replay Replay, ok bool) {
	for _, limit := range []bool{false, true} {
		for _, kind := range Kinds() {
			for _, t := range r.Tallies {
				for _, b := range t.Kinds {
					if b.Kind == kind && b.Limit == limit {
						return r.Replay(t, b), true
					}
				}
			}
		}
	}
	return Replay{}, false
}

// list returns findings, by the faults that show them: "pause: stale write, lost update; crash: never free".
func (r Report) list(is func(Broken) bool) string {
	var faults []string
	kinds := map[string][]string{}
	for _, t := range r.Tallies {
		for _, b := range t.Kinds {
			by := t.By(b)
			if !is(b) || slices.Contains(kinds[by], string(b.Kind)) {
				continue
			}
			if kinds[by] == nil {
				faults = append(faults, by)
			}
			kinds[by] = append(kinds[by], string(b.Kind))
		}
	}
	for i, fault := range faults {
		faults[i] = fault + ": " + strings.Join(kinds[fault], ", ")
	}
	return strings.Join(faults, "; ")
}

// NotAllowed lists the findings that are not allowed.
func (r Report) NotAllowed() string { return r.list(func(b Broken) bool { return !b.Allowed }) }

// Limits reports whether some of the findings that are not allowed are limits.
func (r Report) Limits() bool {
	return r.list(func(b Broken) bool { return !b.Allowed && b.Limit }) != ""
}

// Allowed lists the findings that are allowed.
func (r Report) Allowed() string { return r.list(func(b Broken) bool { return b.Allowed }) }

// Unknown lists the faults that never struck, so that nothing is known of them.
func (r Report) Unknown() string {
	var all []string
	for _, t := range r.Tallies {
		if t.Struck == 0 && ownSteps(t.Fault) != nil {
			all = append(all, t.Fault)
		}
	}
	return strings.Join(all, ", ")
}

// Conclusions say in sentences whose findings the findings are, and what is not known.
func (r Report) Conclusions() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	own, limit := r.list(func(b Broken) bool { return !b.Limit }), r.list(func(b Broken) bool { return b.Limit })
	switch {
	case own == "" && limit == "":
		say("Verdict: no promise broke.")
	case own == "":
		say("Verdict: all that broke are limits of the algorithm, which the Redis document's lock has, too (%s). Nothing is %s's own.", limit, r.Name)
	case limit == "":
		say("Verdict: all that broke is %s's own (%s). The Redis document's lock shows none of it.", r.Name, own)
	default:
		say("Verdict: %s's own are %s. Limits of the algorithm, which the Redis document's lock has, too, are %s.", r.Name, own, limit)
	}
	if allowed := r.Allowed(); allowed != "" {
		say("Allowed: %s. Not allowed: %s.", allowed, cmp.Or(r.NotAllowed(), "nothing that was found"))
	}
	if unknown := r.Unknown(); unknown != "" {
		say("Unknown: %s never struck, so nothing is known of that.", unknown)
	}
	if n := r.skipped(); n > 0 {
		say("Skipped: %s, because a client did not get its first lock: %s.", count(n, "play"), r.WhySkipped)
	}
	return all
}

func (r Report) skipped() (n int) {
	for _, t := range r.Tallies {
		n += t.Skipped
	}
	return n
}

// By returns the fault that shows a finding: another one than the tally's if its schedule was made so short
// that it lacks that one's steps.
func (t Tally) By(b Broken) string { return b.Shown.Schedule.faultOf(t.Fault) }

// Own reports whether something was found that only this client shows.
func (t Tally) Own() bool {
	return slices.ContainsFunc(t.Kinds, func(b Broken) bool { return !b.Limit })
}

// What says what was found, in a few words. "!" marks what only this client shows.
func (t Tally) What() string {
	var all []string
	for _, b := range t.Kinds {
		text := fmt.Sprintf("%s (%d)", b.Kind, b.Plays)
		if by := t.By(b); by == noFault && t.Fault != noFault {
			text = fmt.Sprintf("%s (%d, also without it)", b.Kind, b.Plays)
		} else if by != t.Fault {
			text = fmt.Sprintf("%s (%d, by %s)", b.Kind, b.Plays, by)
		}
		if !b.Limit {
			text = "! " + text
		}
		all = append(all, text)
	}
	if t.Refused > 0 {
		all = append(all, fmt.Sprintf("late writes refused by token (%d)", t.Refused))
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

// Shows says what the reference shows under a fault.
func (r Reference) Shows(fault string) string {
	var all []string
	for _, kind := range r.Faults[fault] {
		all = append(all, string(kind))
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

// About says what the reference is.
func (r Reference) About() string {
	return fmt.Sprintf("%s %s, %d x %s, recorded on %s at commit %s", r.Name, r.Version, r.Count, r.Servers, r.Day, r.Commit)
}

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
	for _, t := range tallies {
		for i := range t.Kinds {
			b := &t.Kinds[i]
			by := t.By(*b)
			found := by + ": " + string(b.Kind)
			if seen[found] {
				continue
			}
			seen[found] = true
			at := slices.IndexFunc(all, func(g *group) bool {
				return g.By == by && g.Servers == b.Shown.Servers && g.TTL == b.Shown.TTL && slices.Equal(g.Schedule, b.Shown.Schedule)
			})
			if at < 0 {
				at = len(all)
				all = append(all, &group{By: by, Play: b.Shown})
			}
			all[at].Kinds = append(all[at].Kinds, b)
		}
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

// Whose says whether it is the client's own.
func (b Broken) Whose() string {
	if b.Limit {
		return "a limit of the algorithm"
	}
	return "this client's own"
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

// again says how often it was found again.
func (b Broken) again() string {
	if b.Again == 0 {
		return "not played again, because the time was up"
	}
	return fmt.Sprintf("again in %d of %s", b.Repeated, count(b.Again, "play"))
}

// count is a number of things.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// subject says what was played, and on which servers.
func (r Report) subject() string {
	return fmt.Sprintf("%s, %d x %s", strings.TrimSpace(r.Name+" "+r.Version), r.Count, r.Servers)
}

// Text returns the report as text: the table, and the shortest schedules that show the findings, with
// what happened in them if wanted.
func (r Report) Text(histories bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, TTL %v, in %v\n\n", r.subject(), r.TTL, r.Took.Round(time.Second))
	rows := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "fault\tplays\tstruck\tfound, in how many plays\tthe Redis document's lock")
	for _, t := range r.Tallies {
		fmt.Fprintf(rows, "%s\t%d\t%d\t%s\t%s\n", t.Fault, t.Plays, t.Struck, t.What(), r.Reference.Shows(t.Fault))
	}
	_ = rows.Flush() // a Builder takes everything
	fmt.Fprintf(&b, "\n!: only this client shows it. The Redis document's lock: %s.\n", r.Reference.About())
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(&b, "Left out: %s\n", strings.Join(r.LeftOut, "; "))
	}
	for _, g := range groups(r.Tallies) {
		fmt.Fprintf(&b, "\n%s, %s\n", g.Heading(), g.From(r.Count))
		for _, k := range g.Kinds {
			fmt.Fprintf(&b, "  %s (%s): %s (%s)\n", k.Kind, k.Whose(), k.Finding().Text, k.again())
		}
		if g.Late != "" {
			fmt.Fprintf(&b, "  The machine was slow: %s. A lease of %v may have run out meanwhile; try a longer TTL.\n", g.Late, g.TTL)
		}
		for _, step := range g.Schedule {
			fmt.Fprintf(&b, "    %s\n", step)
		}
		if histories {
			g.history(&b)
		}
	}
	fmt.Fprintf(&b, "\nIn how many of %s a check could have failed: %s\n", count(r.plays(), "play"), r.checks())
	for _, sentence := range r.Conclusions() {
		fmt.Fprintf(&b, "\n%s\n", sentence)
	}
	return b.String()
}

// checks lists the checks and how often each could have failed.
func (r Report) checks() string {
	var all []string
	for _, c := range r.Checks {
		all = append(all, fmt.Sprintf("%s %d", c.Kind, c.Could))
	}
	return strings.Join(all, ", ")
}

func (r Report) plays() (n int) {
	for _, t := range r.Tallies {
		n += t.Plays
	}
	return n
}
