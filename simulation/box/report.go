package box

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
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
	LeftOut []string      `json:"left_out,omitempty"`
	Tallies []Tally       `json:"faults"`
	Took    time.Duration `json:"took_ns"`

	allow []string // faults that may break the client
}

// Tally is what came of one fault.
type Tally struct {
	Fault string `json:"fault"`
	Plays int    `json:"plays"`
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
	// Title is the case that shows it, and Shown its play, as short as it could be made.
	Title string `json:"title"`
	Shown Play   `json:"shown"`
	// Repeated counts the plays of Shown's schedule that showed it again, of Again.
	Repeated int `json:"repeated"`
	Again    int `json:"again"`
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

// Worst returns the replay of the worst finding, and false if there is none.
func (r Report) Worst() (replay Replay, ok bool) {
	for _, kind := range Kinds() {
		for _, t := range r.Tallies {
			for _, b := range t.Kinds {
				if b.Kind == kind {
					return r.Replay(t, b), true
				}
			}
		}
	}
	return Replay{}, false
}

// Broke returns how many plays had findings, but for those with faults that may break the client.
func (r Report) Broke() (plays int) {
	for _, t := range r.Tallies {
		if !slices.Contains(r.allow, t.Fault) {
			plays += t.Broke
		}
	}
	return plays
}

// noFault is the fault of the schedules without one.
const noFault = "none"

// By returns the fault that shows a finding: "none" if its schedule was made so short that no fault is left.
func (t Tally) By(b Broken) string {
	if t.Fault == evenNumber || len(b.Shown.Schedule.withoutFaults()) < len(b.Shown.Schedule) {
		return t.Fault
	}
	return noFault
}

// what returns what was found, in a few words.
func (t Tally) what() string {
	var all []string
	for _, b := range t.Kinds {
		also := ""
		if t.By(b) != t.Fault {
			also = ", also without it"
		}
		all = append(all, fmt.Sprintf("%s (%d%s)", b.Kind, b.Plays, also))
	}
	if t.Refused > 0 {
		all = append(all, fmt.Sprintf("late writes refused by token (%d)", t.Refused))
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}

// group is what one schedule shows.
type group struct {
	By, Title string
	Play
	Kinds []*Broken
}

// groups returns the findings by their schedules. What is found without a fault is in them once.
func groups(tallies []Tally) (all []*group) {
	bare := map[Kind]bool{} // found without a fault
	for _, t := range tallies {
		for i := range t.Kinds {
			b := &t.Kinds[i]
			by := t.By(*b)
			if by == noFault && bare[b.Kind] {
				continue
			}
			bare[b.Kind] = bare[b.Kind] || by == noFault
			at := slices.IndexFunc(all, func(g *group) bool {
				return g.By == by && g.Servers == b.Shown.Servers && g.TTL == b.Shown.TTL && slices.Equal(g.Schedule, b.Shown.Schedule)
			})
			if at < 0 {
				at = len(all)
				all = append(all, &group{By: by, Title: b.Title, Play: b.Shown})
				if by != t.Fault {
					all[at].Title = fmt.Sprintf("first seen in %q", b.Title)
				}
			}
			all[at].Kinds = append(all[at].Kinds, b)
		}
	}
	return all
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

// heading says by which fault, in which schedule and on how many servers, if these are not all.
func (g *group) heading(count int) string {
	text := "by " + g.By
	if g.By == noFault {
		text = "without a fault"
	}
	text += ": " + g.Title
	if g.Servers != 0 && g.Servers != count {
		text += fmt.Sprintf(", on %d servers", g.Servers)
	}
	return text
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
	const row = "%-11s %6v %14v  %s\n"
	fmt.Fprintf(&b, row, "fault", "plays", "with findings", "which, in how many plays")
	for _, t := range r.Tallies {
		fmt.Fprintf(&b, row, t.Fault, t.Plays, t.Broke, t.what())
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(&b, "\nleft out: %s\n", strings.Join(r.LeftOut, "; "))
	}
	for _, g := range groups(r.Tallies) {
		fmt.Fprintf(&b, "\n%s\n", g.heading(r.Count))
		for _, k := range g.Kinds {
			fmt.Fprintf(&b, "  %s: %s (%s)\n", k.Kind, k.Finding().Text, k.again())
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
	return b.String()
}
