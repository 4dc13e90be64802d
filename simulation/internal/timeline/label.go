package timeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redlock/simulation"
)

// label is a text that points at a moment of a lane.
type label struct {
	x     float64
	parts []part
	level int
}

// part is what one event adds to a label.
type part struct {
	line  int // of the log: their order
	text  string
	class string
}

// wide is how wide a label is taken to be.
func (l label) wide() float64 {
	w := 0.0
	for _, p := range l.parts {
		w += wide(p.text, 12) + 8
		if p.class != "s" {
			w += wide(p.text, 3) // bold, and in capitals
		}
	}
	return w
}

// wide is how wide a text is taken to be.
func wide(text string, size float64) float64 {
	return letter * size * float64(utf8.RuneCountInString(text))
}

// settle gives each label a level, 0 the lowest, so that none covers another, nor
// the line that leads from another down to its moment. It gives the number of
// levels.
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

// note adds a label to a lane; those of one moment become one.
func (d *drawing) note(name string, at time.Duration, line int, text, class string) {
	if l := d.lanes[name]; l != nil && text != "" && d.axis.shows(at) {
		l.labels = join(l.labels, d.axis.x(at), part{line: line, text: text, class: class})
	}
}

func join(labels []label, x float64, one part) []label {
	for i := range labels {
		b := &labels[i]
		if b.x-x >= 1.5 || x-b.x >= 1.5 {
			continue
		}
		if !slices.ContainsFunc(b.parts, func(p part) bool { return p.text == one.text }) {
			b.parts = append(b.parts, one)
			slices.SortStableFunc(b.parts, func(p, q part) int { return p.line - q.line })
		}
		return labels
	}
	return append(labels, label{x: x, parts: []part{one}})
}

// The end of a pause and that of waiting come before what follows from them at the
// same moment. Lines are counted from 1.
const (
	resumed = iota - 1
	gaveUp
)

// label says what the lanes' labels are. What a bar shows is written in the bar.
func (d *drawing) label() {
	t := d.t
	for _, m := range t.Marks {
		if !d.hidden(m.Lane, m.At) {
			d.labelMark(m)
		}
	}
	for _, v := range d.vains {
		d.note(v.process, v.until, 0, fmt.Sprintf("%d times in vain", v.n-2), "s")
	}
	type sending struct {
		process, op string
		at          time.Duration
	}
	fans := map[sending][]string{}
	quits := map[sending][]string{}
	lines := map[sending]int{}
	var fanned, quitted []sending
	for _, m := range t.Messages {
		if !d.draws(m) {
			continue
		}
		if s := (sending{m.Process, m.Op, m.Sent}); m.Sent != None {
			if fans[s] == nil {
				fanned = append(fanned, s)
				lines[s] = m.Line
			}
			fans[s] = append(fans[s], m.Place)
		}
		if s := (sending{m.Process, m.Op, m.GaveUp}); m.GaveUp != None {
			if quits[s] == nil {
				quitted = append(quitted, s)
			}
			quits[s] = append(quits[s], m.Place)
		}
	}
	// "asks for k; → A B" rather than "asks for k; acquire → A B".
	said := map[sending]bool{}
	for _, m := range t.Marks {
		switch m.Kind {
		case simulation.Asked:
			said[sending{m.Lane, "acquire", m.At}] = true
		case simulation.Released:
			said[sending{m.Lane, "release", m.At}] = true
		}
	}
	for _, s := range fanned {
		text := s.op
		if places := fans[s]; places[0] != simulation.Resource {
			text += " → " + strings.Join(places, " ")
		}
		if said[s] {
			text = strings.TrimPrefix(text, s.op+" ")
		}
		d.note(s.process, s.at, lines[s], text, "s")
	}
	for _, s := range quitted {
		d.note(s.process, s.at, gaveUp, "gives up on "+strings.Join(quits[s], " "), "s")
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
		d.note(simulation.Resource, a.At, a.Line, text, class)
	}
	for _, v := range t.Violations {
		if !d.axis.shows(v.At) {
			continue
		}
		d.alarms = join(d.alarms, d.axis.x(v.At), part{line: v.Line, text: "!! " + strings.ToUpper(v.Kind), class: "al"})
	}
	for _, o := range t.Overlaps() {
		if !d.axis.shows(o.From) {
			continue
		}
		text := fmt.Sprintf("both believe that they hold %s, for %s", o.Key, length(o.Until-o.From))
		d.alarms = join(d.alarms, d.axis.x(o.From), part{line: math.MaxInt, text: text, class: "al"})
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

func (d *drawing) labelMark(m Mark) {
	text, class := "", "s"
	switch m.Kind {
	case simulation.Asked:
		text = "asks for " + m.Key
	case simulation.Acquired:
		text = "GETS " + m.Key
	case simulation.Refused:
		text = "refused: " + strings.TrimPrefix(reason(m.Words), "lock is ")
	case simulation.Looked:
		text = "looks: " + length(m.Validity) + " left"
	case simulation.Extended:
		text = "extended to " + length(m.Validity)
	case simulation.Released:
		text = "releases " + m.Key
	case simulation.HandedOff:
		text = "hands off " + m.Key
	case simulation.Noted:
		text = m.Words
	case simulation.Quarantined:
		text = "distrusts " + m.Place
	case simulation.FellBack:
		text, class = "no longer waits for replicas", "fa"
	case simulation.NotificationSent:
		text = "calls " + m.Process
	case simulation.NotificationLost:
		text, class = "calls "+m.Process+", in vain", "fa"
	case simulation.Notified:
		text = "is called"
	case simulation.SubscriptionLost:
		text, class = "hears no more calls", "fa"
	case simulation.Crashed:
		text, class = "CRASHES", "fa"
	case simulation.Back:
		text, class = "is back", "fa"
	case simulation.KeyChanged:
		text, class = "has "+m.Key+" no more", "fa"
	case simulation.Suffered:
		text, class = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(suffering(m), m.Lane), "'s")), "fa"
	}
	if m.Goroutine > 0 && text != "" {
		text = m.who() + " " + text
	}
	d.note(m.Lane, m.At, m.Line, text, class)
}

func (d *drawing) labelSpan(s Span) {
	lasting := ""
	if s.Known && s.Until < d.t.End {
		lasting = " " + length(s.Until-s.From)
	}
	if s.Words != "" {
		lasting += " (" + s.Words + ")"
	}
	switch s.Kind {
	case "pause":
		d.note(s.Lane, s.From, s.Line, "PAUSED"+lasting, "fa")
		d.runsAgain(s)
	case "suspend":
		d.note(s.Lane, s.From, s.Line, "SUSPENDED"+lasting, "fa")
		d.runsAgain(s)
	case "restart":
		d.note(s.Lane, s.From, s.Line, "CRASHES, down"+lasting, "fa")
	case "lag":
		d.note(s.Lane, s.From, s.Line, strings.TrimSpace(s.Place+" LAGS")+lasting, "fa")
	case "reboot":
		d.note(s.Lane, s.From, s.Line, "CRASHES, starts anew", "fa")
	case "failover":
		d.note(s.Lane, s.From, s.Line, "FAILS OVER to a replica"+bracketed(s.Words), "fa")
	case "split-brain":
		d.note(s.Lane, s.From, s.Line, "SPLITS: "+s.Words+lasting, "fa")
	case "demote":
		d.note(s.Lane, s.From, s.Line, "DEMOTED, promoted again"+lasting, "fa")
	case "hang":
		d.note(s.Lane, s.From, s.Line, "HANGS"+lasting, "fa")
	default:
		words := map[string]string{"cut": "cut off from ", "lose": "loses messages with ", "delay": "slow to reach ", "reconnect": "loses its connection to ", "proxy": "behind a proxy to ", "switch": "led elsewhere than to "}[s.Kind]
		if words == "" {
			words = s.Kind + " "
		}
		name := s.Place
		if name == "*" || name == "" {
			name = "every server"
		}
		way := ""
		if s.Way != simulation.Both {
			way = " (" + plural(s.Way) + ")"
		}
		for _, p := range d.t.Processes {
			if s.Lane == p || s.Lane == "*" || s.Lane == "" {
				d.note(p, s.From, s.Line, words+name+way+lasting, "fa")
			}
		}
	}
}

func bracketed(words string) string {
	if words == "" {
		return ""
	}
	return " (" + words + ")"
}

func (d *drawing) runsAgain(s Span) {
	if s.Until < d.t.End {
		d.note(s.Lane, s.Until, resumed, "runs again", "fa")
	}
}

// labels writes a lane's labels, each with a line down to its moment.
func (d *drawing) labels(l *lane) {
	for _, b := range l.labels {
		y := l.y + 8 + labelRow*float64(l.levels-b.level)
		fmt.Fprintf(&d.back, `<line class="lead" x1="%[1]s" y1="%[2]s" x2="%[1]s" y2="%[3]s"/>`+"\n", px(b.x), px(y-10), px(l.line))
		d.parts(b, y-1)
	}
}

// parts writes a label whose parts differ in weight.
func (d *drawing) parts(b label, y float64) {
	fmt.Fprintf(&d.front, `<text class="halo" x="%s" y="%s">`, px(b.x+3), px(y))
	for i, p := range b.parts {
		if i > 0 {
			d.front.WriteString(`<tspan class="s">; </tspan>`)
		}
		fmt.Fprintf(&d.front, `<tspan class="%s">%s</tspan>`, p.class, escaped(p.text))
	}
	d.front.WriteString("</text>\n")
}
