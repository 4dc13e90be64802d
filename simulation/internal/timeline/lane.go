package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/drawing"
)

// Lane is a process, the resource or a server on a wide picture.
type Lane struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "process", "resource" or "server"
	// Y and Height are its strip, and Line is where its messages begin and end.
	Y      float64 `json:"y"`
	Height float64 `json:"height"`
	Line   float64 `json:"line"`

	rows map[string]float64 // the y of what a process believes, by key
}

// lane begins a lane, with its name and its line.
func (p *plot) lane(name, kind string, height, line float64) *Lane {
	p.lanes = append(p.lanes, Lane{Name: name, Kind: kind, Y: p.Height, Height: height, Line: p.Height + line, rows: map[string]float64{}})
	l := &p.lanes[len(p.lanes)-1]
	p.Under(func() {
		if p.wide && len(p.lanes)%2 == 1 {
			p.Box("strip", 0, l.Y, p.Width, height)
		}
		p.Box("lane", p.left(), l.Line-0.5, p.right-p.left(), 1)
	})
	if p.wide || kind != "server" {
		p.Text("n", 0, l.Line+4, name)
	}
	p.Height += height
	return l
}

func (p *plot) left() float64 { return p.Axis[0].X }

// bar draws a period, with the longest of the texts that fits.
func (p *plot) bar(class string, from, until time.Duration, y, h float64, tip, textClass string, texts ...string) {
	if !p.overlaps(from, until) {
		return
	}
	x1, x2 := p.x(from), p.x(until)
	p.tip(p.Box(class, x1, y, x2-x1, h), "%s, %s to %s ms", tip, Clock(from), Clock(until))
	for _, text := range texts {
		if drawing.Wide("n", text) <= x2-x1-6 {
			p.Text(textClass, x1+4, y+h-3.5, text)
			return
		}
	}
}

// tip is the text under the pointer, on a wide picture.
func (p *plot) tip(s *drawing.Shape, format string, args ...any) {
	if p.wide {
		s.Tip = fmt.Sprintf(format, args...)
	}
}

// series is a process's class: with letter b for bars, d for dots, l for lines, o for open dots.
func (p *plot) series(letter, process string) string {
	return fmt.Sprintf("%s%d", letter, max(0, slices.Index(p.t.Processes, process))%len(drawing.Series))
}

// process draws what a process believes, when it is stopped and, on a wide picture, on which
// servers its keys are.
func (p *plot) process(name string) {
	stops := slices.DeleteFunc(slices.Clone(p.t.Spans), func(s Span) bool {
		return s.Lane != name || !s.traits().Stops || !p.overlaps(s.From, s.Until)
	})
	keys := p.t.keysOf(name)
	stopY, height := p.Height+4, 30+36*float64(max(1, len(keys)))
	if !p.wide {
		stopY, height = p.Height+22, 24
		if len(stops) > 0 {
			height += 17
		}
	}
	l := p.lane(name, "process", height, 12)
	for i, key := range keys {
		if l.rows[key] = l.Y + 4; p.wide {
			l.rows[key] = l.Y + 24 + 36*float64(i)
			p.Text("s", 0, l.rows[key]+12, "believes")
			p.Text("s", 0, l.rows[key]+30, "true on")
		}
	}
	p.beliefs(l)
	for _, s := range stops {
		word := s.traits().Short
		p.bar("wait", s.From, s.Until, stopY, rowHeight, name+" is "+word, "fa", word+" for "+length(s.Until-s.From), word)
	}
}

// keysOf lists the keys that a process had or believed to have.
func (t *Timeline) keysOf(process string) (keys []string) {
	for _, b := range t.Beliefs {
		if b.Process == process && !slices.Contains(keys, b.Key) {
			keys = append(keys, b.Key)
		}
	}
	for _, n := range t.Tenures {
		if n.Process == process && !slices.Contains(keys, n.Key) {
			keys = append(keys, n.Key)
		}
	}
	return keys
}

// beliefs draws what a process believes, and a dashed box around what isn't so.
func (p *plot) beliefs(l *Lane) {
	for _, s := range p.truth {
		if p.wide && s.Process == l.Name {
			p.held(s, l.rows[s.Key]+18)
		}
	}
	for _, b := range p.t.Beliefs {
		if b.Process != l.Name || !p.overlaps(b.From, b.Until) {
			continue
		}
		what, who := "the lock", ""
		if p.wide {
			what = b.Key
		}
		if b.Goroutine > 0 {
			who = b.who() + " "
		}
		texts := []string{who + "holds " + what, "holds"}
		if b.Token != 0 {
			token := ", token " + p.token(b.Token)
			texts = []string{who + "holds " + what + token, who + "holds" + token, texts[0], texts[1]}
		}
		y := l.rows[b.Key]
		p.bar(p.series("b", l.Name), b.From, b.Until, y, barHeight, b.who()+" believes that it "+strings.TrimPrefix(texts[0], who), "", texts...)
		if p.wide {
			y += 18 // the box is around what is true
		}
		for _, gap := range p.t.gaps(b, p.truth) {
			if p.x(gap.until)-p.x(gap.from) > 3 {
				p.bar("un", gap.from, gap.until, y, barHeight, b.who()+" believes it, but its key isn't on a quorum", "")
			}
		}
	}
}

// held draws which servers have a process's key.
func (p *plot) held(s KeyPeriod, y float64) {
	class, names := p.series("b", s.Process), strings.Join(s.Servers, " ")
	texts := []string{fmt.Sprintf("%s (%d of %d)", names, len(s.Servers), len(p.t.Servers)), names}
	if !s.Quorum {
		class = p.series("o", s.Process) + " x2"
		texts = []string{"only " + names + ": no quorum", "only " + names, names}
	}
	p.bar(class, s.From, s.Until, y, barHeight, s.Process+"'s "+s.Key+" is on "+names, "", texts...)
}

// resource draws the operations at the resource.
func (p *plot) resource() {
	var list []caption
	for _, a := range p.t.Accesses {
		class, text := "", a.who()+" writes"
		switch {
		case !p.shows(a.At):
			continue
		case a.Refused:
			class, text = "ok", fmt.Sprintf("%s's %s is REFUSED", a.who(), a.Op)
		case a.Op != "write":
			continue
		case p.broke(a):
			class = "al"
		}
		list = append(list, caption{class, p.x(a.At), text})
	}
	// If there is no space for all, refusals and violations come first.
	slices.SortStableFunc(list, func(a, b caption) int { return strings.Compare(rankOf(a.class), rankOf(b.class)) })
	p.Height += 2
	p.captions(list, 2)
	l := p.lane(fault.Resource, "resource", 16, 8)
	for _, a := range p.t.Accesses {
		if !p.shows(a.At) {
			continue
		}
		class, size := p.series("d", a.Process), 8.0
		switch {
		case a.Refused:
			class = "dok"
		case a.Op != "write":
			size = 5
		case p.broke(a):
			class = "dal"
		}
		text := a.who() + "'s " + a.Op
		if a.Refused {
			text += " is refused"
		}
		p.tip(p.Dot(class, p.x(a.At), l.Line, size), "%s ms: %s, version %d", Clock(a.At), text, a.Version)
	}
}

// broke reports whether an operation was a violation.
func (p *plot) broke(a access) bool {
	return slices.ContainsFunc(p.violations(), func(v Violation) bool {
		return v.At == a.At && (v.Kind == "stale write" || v.Kind == "lost update")
	})
}

func rankOf(class string) string { return map[string]string{"al": "0", "ok": "1"}[class] + "2" }

// servers draws whose key each server had.
func (p *plot) servers() {
	each, high := 10.0, 8.0
	if p.wide {
		each, high = 26, barHeight
	}
	p.Height += 4
	top := p.Height
	for _, name := range p.t.Servers {
		l := p.lane(name, "server", each, each/2)
		y := l.Line - high/2
		for _, s := range p.t.Spans {
			if s.Lane == name && s.traits().Stops {
				p.bar("wait", s.From, s.Until, y, high, name+": "+s.Kind, "")
			}
		}
		for _, n := range p.t.Tenures {
			if n.Server != name || n.Until <= n.From {
				continue
			}
			var texts []string
			if p.wide {
				texts = []string{n.Process + " has " + n.Key, n.Process}
			}
			p.bar(p.series("b", n.Process), n.From, n.Until, y, high, fmt.Sprintf("%s has %s's %s%s", name, n.Process, n.Key, n.endWords()), "", texts...)
		}
	}
	if !p.wide && len(p.t.Servers) > 0 {
		p.nameServers(top)
	}
}

// endWords says how a tenure ends.
func (n Tenure) endWords() string {
	switch {
	case n.Open || n.End == "":
		return " until the end"
	case n.Taker != "":
		return ", deleted by " + n.Taker
	}
	return ", " + n.End
}

// nameServers names all servers, whose lanes are too small for names.
func (p *plot) nameServers(top float64) {
	what, who := "servers", p.t.Servers[0]+" to "+p.t.Servers[len(p.t.Servers)-1]
	if len(p.t.Servers) == 1 {
		what, who = "server", p.t.Servers[0]
	}
	middle := (top + p.Height) / 2
	if p.Height-top < 30 {
		p.Text("n", 0, middle+3, what+" "+strings.TrimSpace(who[:min(1, 8-len(what))]))
		p.Height = max(p.Height, top+14)
	} else {
		p.Text("n", 0, middle-3, what)
		p.Text("s", 0, middle+11, who)
	}
	p.Height += 4
}
