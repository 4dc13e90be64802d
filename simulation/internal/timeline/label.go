package timeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// label is a text beside a moment of a lane.
type label struct {
	x        float64
	segments []segment
	level    int
}

// segment is one event's text in a label.
type segment struct {
	line  int // of the log, for the order
	text  string
	class string
}

// wide estimates the width of a label.
func (l label) wide() float64 {
	w := 0.0
	for _, p := range l.segments {
		w += wide(p.text, 12) + 8
		if p.class != "s" {
			w += wide(p.text, 3) // bold, and in capitals
		}
	}
	return w
}

// wide estimates the width of a text.
func wide(text string, size float64) float64 {
	return letter * size * float64(utf8.RuneCountInString(text))
}

// settle assigns each label a level, 0 the lowest, so that it covers no other label and no
// line from a label down to its moment. It returns the number of levels.
func settle(labels []label) int {
	slices.SortStableFunc(labels, func(a, b label) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	levels := 0
	for i := len(labels) - 1; i >= 0; i-- {
		a := &labels[i]
		a.level = 0
		for _, b := range labels[i+1:] {
			if b.x < a.x+a.wide()+4 {
				a.level = max(a.level, b.level+1)
			}
		}
		levels = max(levels, a.level+1)
	}
	return levels
}

// note adds a label to a lane. Labels of one moment are merged.
func (d *drawing) note(name string, at time.Duration, line int, text, class string) {
	if l := d.lanes[name]; l != nil && text != "" && d.axis.shows(at) {
		l.labels = join(l.labels, d.axis.x(at), segment{line: line, text: text, class: class})
	}
}

func join(labels []label, x float64, one segment) []label {
	for i := range labels {
		b := &labels[i]
		if b.x-x >= 1.5 || x-b.x >= 1.5 {
			continue
		}
		if !slices.ContainsFunc(b.segments, func(p segment) bool { return p.text == one.text }) {
			b.segments = append(b.segments, one)
			slices.SortStableFunc(b.segments, func(p, q segment) int { return p.line - q.line })
		}
		return labels
	}
	return append(labels, label{x: x, segments: []segment{one}})
}

// The lines of a pause's end and of giving up, which precede their consequences at the same
// moment. Lines of the log count from 1.
const (
	resumed = iota - 1
	gaveUp
)

// label adds the lanes' labels. Bars have their own texts.
func (d *drawing) label() {
	t := d.t
	for _, m := range t.Events {
		if !d.hidden(m.Lane, m.At) {
			d.labelMark(m)
		}
	}
	for _, v := range d.vains {
		d.note(v.process, v.until, 0, fmt.Sprintf("%d more tries in vain", v.n-2), "s")
	}
	// "asks for k; → A B" rather than "asks for k; acquire → A B".
	type request struct {
		process, op string
		at          time.Duration
	}
	said := map[request]bool{}
	for _, m := range t.Events {
		switch m.Kind {
		case record.Asked:
			said[request{m.Lane, "acquire", m.At}] = true
		case record.Released:
			said[request{m.Lane, "release", m.At}] = true
		}
	}
	for _, g := range t.grouped(func(m message) (time.Duration, bool) { return m.Sent, d.draws(m) }) {
		text := g.op
		if g.places[0] != fault.Resource {
			text += " → " + strings.Join(g.places, " ")
		}
		if said[request{g.process, g.op, g.at}] {
			text = strings.TrimPrefix(text, g.op+" ")
		}
		d.note(g.process, g.at, g.line, text, "s")
	}
	for _, g := range t.grouped(func(m message) (time.Duration, bool) { return m.GaveUp, d.draws(m) }) {
		d.note(g.process, g.at, gaveUp, "gives up on "+strings.Join(g.places, " "), "s")
	}
	for _, s := range t.Spans {
		d.labelSpan(s)
	}
	for _, a := range t.Accesses {
		text := fmt.Sprintf("%s's %s: version %d", a.who(), a.Op, a.Version)
		class := "s"
		if a.Refused {
			text, class = fmt.Sprintf("%s's %s: REFUSED", a.who(), a.Op), "fa"
		}
		if a.Token != 0 {
			text += ", token " + d.token(a.Token)
		}
		d.note(fault.Resource, a.At, a.Line, text, class)
	}
	for _, v := range t.Violations {
		if !d.axis.shows(v.At) {
			continue
		}
		d.alarms = join(d.alarms, d.axis.x(v.At), segment{line: v.Line, text: "!! " + strings.ToUpper(v.Kind), class: "al"})
	}
	for _, o := range t.Overlaps() {
		if !d.axis.shows(o.From) {
			continue
		}
		text := fmt.Sprintf("both believe that they hold %s, for %s", o.Key, length(o.Until-o.From))
		d.alarms = join(d.alarms, d.axis.x(o.From), segment{line: math.MaxInt, text: text, class: "al"})
	}
	for _, n := range t.Tenures {
		if n.Taker != "" {
			d.note(n.Server, n.Until, n.Line, fmt.Sprintf("%s DELETES %s's %s", n.Taker, n.Process, n.Key), "fa")
		}
	}
	for _, b := range t.Beliefs {
		if b.End == "ran out" {
			d.note(b.Process, b.Until, b.Line, "validity is over", "s")
		}
	}
}

func (d *drawing) labelMark(m laneEvent) {
	described := describe(m, d.token)
	class, text := "s", described.label
	if described.fault {
		class = "fa"
	}
	if m.Goroutine > 0 && text != "" {
		text = m.who() + " " + text
	}
	d.note(m.Lane, m.At, m.Line, text, class)
}

func (d *drawing) labelSpan(s span) {
	kind := s.kind()
	text := s.fill(kind.label, " ", d.t.End)
	if _, own := spanKinds[s.Kind]; own {
		if s.Kind == "lag" {
			text = strings.TrimSpace(s.Place + " " + text)
		}
		d.note(s.Lane, s.From, s.Line, text, "fa")
		if kind.end == "runs again" && s.Until < d.t.End {
			d.note(s.Lane, s.Until, resumed, kind.end, "fa")
		}
		return
	}
	for _, p := range d.t.Processes {
		if s.Lane == p || anyOf(s.Lane, "") == "" {
			d.note(p, s.From, s.Line, text, "fa")
		}
	}
}

// labels draws a lane's labels, each with a line down to its moment.
func (d *drawing) labels(l *lane) {
	for _, b := range l.labels {
		y := l.y + 8 + labelRow*float64(l.levels-b.level)
		fmt.Fprintf(&d.back, `<line class="lead" x1="%[1]s" y1="%[2]s" x2="%[1]s" y2="%[3]s"/>`+"\n", px(b.x), px(y-10), px(l.line))
		d.segments(b, y-1)
	}
}

// segments draws the segments of a label.
func (d *drawing) segments(b label, y float64) {
	fmt.Fprintf(&d.front, `<text class="halo" x="%s" y="%s">`, px(b.x+3), px(y))
	for i, p := range b.segments {
		if i > 0 {
			d.front.WriteString(`<tspan class="s">; </tspan>`)
		}
		fmt.Fprintf(&d.front, `<tspan class="%s">%s</tspan>`, p.class, escaped(p.text))
	}
	d.front.WriteString("</text>\n")
}
