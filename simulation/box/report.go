package box

import (
	"cmp"
	"fmt"
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
	// Distance is how much longer each round trip took.
	Distance time.Duration `json:"distance_ns,omitempty"`
	// LeftOut says what was not played.
	LeftOut []string      `json:"left_out,omitempty"`
	Tallies []Tally       `json:"faults"`
	Took    time.Duration `json:"took_ns"`
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
	Distance time.Duration `json:"distance_ns,omitempty"`
	Kind     Kind          `json:"kind"`
	Text     string        `json:"text,omitempty"`
	Schedule Schedule      `json:"schedule"`
}

// Worst returns the replay of the worst finding, and false if there is none.
func (r Report) Worst() (replay Replay, ok bool) {
	for _, kind := range Kinds() {
		for _, t := range r.Tallies {
			for _, b := range t.Kinds {
				if b.Kind == kind {
					return Replay{Name: r.Name, Servers: cmp.Or(b.Shown.Servers, r.Count), TTL: b.Shown.TTL, Distance: r.Distance, Kind: kind, Text: b.Finding().Text, Schedule: b.Shown.Schedule}, true
				}
			}
		}
	}
	return Replay{}, false
}

// WithoutHistories returns a copy without what happened in the plays.
func (r Report) WithoutHistories() Report {
	r.Tallies = slices.Clone(r.Tallies)
	for i := range r.Tallies {
		t := &r.Tallies[i]
		t.Kinds = slices.Clone(t.Kinds)
		for j := range t.Kinds {
			t.Kinds[j].Shown.History = nil
		}
	}
	return r
}

// Broke returns how many plays had findings, but for those with faults that are allowed to
// break the client.
func (r Report) Broke(allowed []string) (plays int) {
	for _, t := range r.Tallies {
		if !slices.Contains(allowed, t.Fault) {
			plays += t.Broke
		}
	}
	return plays
}

// what returns what broke, in a few words.
func (t Tally) what() string {
	var all []string
	for _, b := range t.Kinds {
		all = append(all, fmt.Sprintf("%s (%d)", b.Kind, b.Plays))
	}
	if t.Refused > 0 {
		all = append(all, fmt.Sprintf("late writes refused by token (%d)", t.Refused))
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}

// Heading returns the table's first line.
func Heading() string {
	return fmt.Sprintf("%-9s %6s %6s  %s", "fault", "plays", "broke", "what broke, in how many plays")
}

// Text returns the tally as a line of the table.
func (t Tally) Text() string {
	return fmt.Sprintf("%-9s %6d %6d  %s", t.Fault, t.Plays, t.Broke, t.what())
}

// Text returns the report as text: the table, and the shortest schedule of each kind.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s on %d x %s, TTL %v, in %v\n\n%s\n", r.Name, r.Version, r.Count, r.Servers, r.TTL, r.Took.Round(time.Second), Heading())
	for _, t := range r.Tallies {
		fmt.Fprintln(&b, t.Text())
	}
	for _, text := range r.LeftOut {
		fmt.Fprintf(&b, "\nleft out: %s\n", text)
	}
	for _, t := range r.Tallies {
		for _, k := range t.Kinds {
			fmt.Fprintf(&b, "\n%s by %s: %s\n  (%s; again in %d of %d plays)\n", k.Kind, t.Fault, k.Finding().Text, k.Title, k.Repeated, k.Again)
			for _, step := range k.Shown.Schedule {
				fmt.Fprintf(&b, "    %s\n", step)
			}
		}
	}
	return b.String()
}
