package timeline

import (
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
)

// Picture is a timeline as plain data, for programs that draw it on their own. Times are true
// times in nanoseconds from the start of the run; a time of -1 is that of an event that did not
// happen. Lists are in the order of time or of the log. None is null in JSON.
type Picture struct {
	End time.Duration `json:"end"` // of the run
	// Width is that of the axis, and Axis maps time to it: busy periods have an even scale, and
	// the quiet time between two of them fills the space between them. Cropped: the run is too
	// long, and the axis shows the part around the first violation.
	Width   float64  `json:"width"`
	Axis    []Scale  `json:"axis"`
	Cropped bool     `json:"cropped"`
	Lanes   []Lane   `json:"lanes"`
	Summary []string `json:"summary"` // see Timeline.Summary
	// Steps are the run in sentences, see Timeline.Story.
	Steps      []step          `json:"steps"`
	Marks      []Mark          `json:"marks"`
	Messages   []message       `json:"messages"`
	Spans      []span          `json:"spans"`
	Beliefs    []belief        `json:"beliefs"`
	Truth      []keyPeriod     `json:"truth"`    // which servers had a process's key
	Mistaken   []MistakenTime  `json:"mistaken"` // when a belief was wrong
	Overlaps   []overlap       `json:"overlaps"`
	Keys       []tenure        `json:"keys"` // which keys each server had
	Accesses   []access        `json:"accesses"`
	Violations []Violation     `json:"violations"`
	Tokens     []ShortenedName `json:"tokens"`
}

// Scale is a busy period of the axis, and the place that it takes there.
type Scale struct {
	From  time.Duration `json:"from"`
	Until time.Duration `json:"until"`
	X     float64       `json:"x"`
	Width float64       `json:"width"`
}

// Lane is a process, the resource or a server.
type Lane struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "process", "resource" or "server"
	// Keys are those that a process had or believed to have.
	Keys []string `json:"keys"`
}

// Mark is an event of a lane, in a few words.
type Mark struct {
	At    time.Duration `json:"at"`
	Lane  string        `json:"lane"`
	Who   string        `json:"who"` // the process or its goroutine, or the server
	Label string        `json:"label"`
	Fault bool          `json:"fault"`
	Line  int           `json:"line"`
}

// MistakenTime is a period in which a process believed that it held a lock, and fewer servers
// than a quorum had its key.
type MistakenTime struct {
	Who   string        `json:"who"`
	Key   string        `json:"key"`
	Token fencing.Token `json:"token"`
	From  time.Duration `json:"from"`
	Until time.Duration `json:"until"`
}

// ShortenedName is how sentences name a token.
type ShortenedName struct {
	Token fencing.Token `json:"token"`
	Name  string        `json:"name"`
}

// Picture returns the timeline as data.
func (t *Timeline) Picture() Picture {
	d := &drawing{t: t, token: t.tokens(), lanes: map[string]*lane{}}
	a := newAxis(d.moments(), t.quiet(), t.focus(), 0)
	s := story{t: t, token: d.token}
	p := Picture{
		End: t.End, Width: a.width, Cropped: a.cropped, Summary: t.Summary(), Steps: t.Story(),
		Messages: t.Messages, Spans: t.Spans, Beliefs: t.Beliefs, Truth: t.Truth(), Overlaps: t.Overlaps(),
		Keys: t.Tenures, Accesses: t.Accesses,
	}
	for _, b := range a.busy {
		p.Axis = append(p.Axis, Scale{b.from, b.until, b.x, b.width})
	}
	for _, name := range t.Processes {
		p.Lanes = append(p.Lanes, Lane{name, "process", notNull(d.keysOf(name))})
	}
	if t.UsesResource {
		p.Lanes = append(p.Lanes, Lane{fault.Resource, "resource", []string{}})
	}
	for _, name := range t.Servers {
		p.Lanes = append(p.Lanes, Lane{name, "server", []string{}})
	}
	for _, m := range t.Events {
		if words := describe(m, d.token); words.label != "" {
			p.Marks = append(p.Marks, Mark{m.At, m.Lane, m.who(), words.label, words.fault, m.Line})
		}
	}
	named := map[fencing.Token]bool{0: true}
	name := func(token fencing.Token) {
		if !named[token] {
			named[token] = true
			p.Tokens = append(p.Tokens, ShortenedName{token, d.token(token)})
		}
	}
	for _, b := range t.Beliefs {
		for _, gap := range t.gaps(b, p.Truth) {
			p.Mistaken = append(p.Mistaken, MistakenTime{b.who(), b.Key, b.Token, gap.from, gap.until})
		}
		name(b.Token)
	}
	for _, a := range t.Accesses {
		name(a.Token)
	}
	for _, v := range t.Violations {
		v.Text = s.short(v.Text)
		p.Violations = append(p.Violations, v)
	}
	p.Lanes, p.Steps, p.Marks, p.Messages = notNull(p.Lanes), notNull(p.Steps), notNull(p.Marks), notNull(p.Messages)
	p.Spans, p.Beliefs, p.Truth, p.Mistaken = notNull(p.Spans), notNull(p.Beliefs), notNull(p.Truth), notNull(p.Mistaken)
	p.Overlaps, p.Keys, p.Accesses = notNull(p.Overlaps), notNull(p.Keys), notNull(p.Accesses)
	p.Violations, p.Tokens = notNull(p.Violations), notNull(p.Tokens)
	return p
}

// notNull returns a list that JSON doesn't write as null.
func notNull[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
