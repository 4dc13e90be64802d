package timeline

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
)

// messages draws the requests and the replies, below the bars, and a dot where one was executed.
func (p *plot) messages() {
	for _, m := range p.t.Messages {
		from, to := p.laneOf(m.Process), p.laneOf(m.Place)
		if from == nil || to == nil || m.watching() || m.Sent == never || !p.shows(m.Sent) {
			continue
		}
		end := to.Line
		if to.Kind == "server" {
			end -= barHeight / 2 // the upper edge of its bars
		}
		p.Under(func() { p.wires(m, from.Line, end) })
		if m.Arrived != never && to.Kind == "server" {
			class := "o"
			if m.ok() {
				class = "d"
			}
			p.tip(p.Dot(p.series(class, m.Process), p.x(m.Arrived), end, 6), "%s", m.words())
		}
	}
}

// wires draws a request's way from one y to another, and its reply's.
func (p *plot) wires(m Message, from, to float64) {
	line, sent := p.series("l", m.Process), p.x(m.Sent)
	lost := func(class string, x1, y1, x, y float64) {
		p.tip(p.Line(class, x1, y1, x, y), "%s", m.words())
		p.Path("lost", "M", x-4, y-4, "l8 8m0 -8l-8 8")
	}
	if m.Arrived == never && m.Received == never {
		lost(line, sent, from, sent+18, from+(to-from)*0.55)
		return
	}
	arrived := p.x(m.Arrived)
	if m.Arrived == never { // the log omits the arrival of some requests
		arrived = (sent + p.x(m.Received)) / 2
	}
	p.Line(line, sent, from, arrived, to)
	if back := max(m.Received, m.Missed); back != never {
		p.Line(line+" x2", arrived, to, p.x(back), from)
	} else if m.Lost == fault.Replies {
		lost(line+" x2", arrived, to, arrived+14, to+(from-to)*0.45)
	}
}

// words describes a message.
func (m Message) words() string {
	s := fmt.Sprintf("%s asks %s: %s, sent %s ms", m.Process, m.Place, m.Op, Clock(m.Sent))
	for _, part := range []struct {
		at   time.Duration
		what string
	}{{m.Arrived, "executed"}, {m.Received, "reply received"}, {m.GaveUp, "given up"}} {
		if part.at != never {
			s += fmt.Sprintf(", %s %s ms", part.what, Clock(part.at))
		}
	}
	if m.Lost != "" {
		s += ", the " + string(m.Lost) + " was lost"
	}
	if m.Outcome != "" {
		s += ": " + m.Outcome
	}
	return s
}

// marks draws the events of the lanes.
func (p *plot) marks() {
	for _, m := range p.t.Events {
		l := p.laneOf(m.Lane)
		if text, _ := describe(m, p.token); l != nil && text != "" && p.shows(m.At) {
			p.tip(p.Path("ink", "M", p.x(m.At), l.Line-6, "v12"), "%s ms: %s", Clock(m.At), sentence(m.who(), text))
		}
	}
	for _, s := range p.t.Spans {
		if l := p.laneOf(s.Lane); l != nil && s.Place != "" && p.overlaps(s.From, s.Until) {
			p.tip(p.Box("fl", p.x(s.From), l.Line-11, p.x(s.Until)-p.x(s.From), 3), "%s and %s: %s %s", s.Lane, s.Place, s.Kind, s.Words)
		}
	}
}
