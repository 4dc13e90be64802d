package timeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/record"
)

// lane begins a lane with its name. It returns the y of the lane's line, which is below its top.
func (p *plot) lane(name, label string, height, below float64) float64 {
	y := p.Height + below
	p.lanes[name] = strip{p.Height, height}
	p.Under(func() { p.Box("lane", left, y-0.5, right-left, 1) })
	p.Text("n", 0, y+4, label)
	p.Height += height
	return y
}

// bar draws a period, with the longest of the texts that fits.
func (p *plot) bar(class string, from, until time.Duration, y, h float64, textClass string, texts ...string) {
	if p.overlaps(from, until) {
		p.Box(class, p.x(from), y, p.x(until)-p.x(from), h)
		p.inside(from, until, y+h-3.5, textClass, texts)
	}
}

// inside writes the longest of the texts that fits between two moments.
func (p *plot) inside(from, until time.Duration, y float64, class string, texts []string) {
	for _, text := range texts {
		if drawing.Wide("n", text) <= p.x(until)-p.x(from)-6 {
			p.Text(class, p.x(from)+4, y, text)
			return
		}
	}
}

// series is a process's class: with letter b for bars, d for dots.
func (p *plot) series(letter, process string) string {
	return fmt.Sprintf("%s%d", letter, max(0, slices.Index(p.t.Processes, process))%drawing.Series)
}

// process draws what a process believes, in a row for each lock, and when it is stopped.
func (p *plot) process(name string) {
	keys := []string{}
	for _, b := range p.t.Beliefs {
		if b.Process == name && p.overlaps(b.From, b.Until) && !slices.Contains(keys, b.Key) {
			keys = append(keys, b.Key)
		}
	}
	stops := p.stops(name)
	y, height := p.Height+4, 6+18*float64(max(1, len(keys)))
	stopY := p.Height + height - 2
	if len(stops) > 0 {
		height += 17
	}
	p.lane(name, name, height, 12)
	for _, b := range p.t.Beliefs {
		if b.Process == name && p.overlaps(b.From, b.Until) {
			p.belief(b, len(keys) > 1, y+18*float64(slices.Index(keys, b.Key)))
		}
	}
	for _, s := range stops {
		p.bar("wait", s.from, s.until, stopY, rowHeight, "fa", s.word+" for "+length(s.until-s.from), s.word)
	}
}

// stops are when a process is stopped. Stops that overlap are one.
func (p *plot) stops(process string) (list []stop) {
	for _, s := range p.t.stops {
		switch last := len(list) - 1; {
		case s.lane != process || !p.overlaps(s.from, s.until):
		case last >= 0 && s.from <= list[last].until:
			list[last].until = max(list[last].until, s.until)
			if s.word != list[last].word {
				list[last].word = "stopped"
			}
		default:
			list = append(list, *s)
		}
	}
	return list
}

// belief draws what a process believes, and a dashed box around what isn't so. Of several locks it
// names the one.
func (p *plot) belief(b *belief, several bool, y float64) {
	holds, lock, short := "holds", "the lock", "holds"
	if several {
		lock, short = b.Key, b.Key
	}
	if b.who != b.Process {
		holds = b.who + " holds"
	}
	p.bar(p.series("b", b.Process), b.From, b.Until, y, barHeight, "")
	edges := []time.Duration{b.From, b.Until}
	for _, gap := range p.t.gaps(b) {
		if p.x(gap.until)-p.x(gap.from) > 3 {
			p.bar("un", gap.from, gap.until, y, barHeight, "")
			edges = append(edges, gap.from, gap.until)
		}
	}
	slices.Sort(edges)
	wide := func(i int) float64 { return p.x(edges[i+1]) - p.x(edges[i]) }
	most := 0 // the widest part without an edge
	for i := range edges[1:] {
		if wide(i) > wide(most) {
			most = i
		}
	}
	p.inside(edges[most], edges[most+1], y+barHeight-3.5, "", []string{holds + " " + named(lock, p.t.token(b.token)), holds + " " + lock, short})
}

// resource draws the operations at the resource.
func (p *plot) resource() {
	var captions []caption
	var dots []drawing.Shape
	for _, a := range p.t.accesses {
		if !p.shows(a.At) {
			continue
		}
		dot := drawing.Shape{Class: p.series("d", a.Process), X: p.x(a.At), W: writeSize}
		c := caption{at: dot.X, text: who(a) + " writes"}
		switch {
		case refused(a):
			dot.Class, c.class, c.text = "dok", "ok", fmt.Sprintf("%s's %s is REFUSED", who(a), a.Kind)
		case a.Kind != record.Write:
			dot.W, c.text = readSize, ""
		case p.broke(a):
			dot.Class, c.class = "dal", "al"
		}
		dots = append(dots, dot)
		if c.text != "" {
			captions = append(captions, c)
		}
	}
	p.Height += 2
	// If there is no space for all, violations and refusals come first.
	p.captions(captions, 2, func(a, b caption) int {
		order := []string{"al", "ok", ""}
		return slices.Index(order, a.class) - slices.Index(order, b.class)
	})
	y := p.lane(fault.Resource, fault.Resource, 16, 8)
	for _, dot := range dots {
		p.Dot(dot.Class, dot.X, y, dot.W)
	}
}

// broke reports whether an operation was a violation.
func (p *plot) broke(a *record.Event) bool {
	return slices.ContainsFunc(p.violations, func(v *record.Event) bool {
		return v.At == a.At && (v.Violation.Kind == record.StaleWrite || v.Violation.Kind == record.LostUpdate)
	})
}

// servers draws whose key each server had.
func (p *plot) servers() {
	const each, high = 10.0, thinHeight
	p.Height += 4
	top := p.Height
	for _, name := range p.t.Servers {
		y := p.lane(name, "", each, each/2) - high/2
		for _, s := range p.t.stops {
			if s.lane == name {
				p.bar("wait", s.from, s.until, y, high, "")
			}
		}
		for _, n := range p.t.tenures {
			if n.server == name && n.until > n.from {
				p.bar(p.series("b", n.process), n.from, n.until, y, high, "")
			}
		}
	}
	if len(p.t.Servers) == 0 {
		return
	}
	// The lanes are too small for names of their own.
	what, who := "servers", p.t.Servers[0]+" to "+p.t.Servers[len(p.t.Servers)-1]
	if len(p.t.Servers) == 1 {
		what, who = "server", p.t.Servers[0]
	}
	p.Height = max(p.Height, top+28)
	p.Text("n", 0, (top+p.Height)/2-3, what)
	p.Text("s", 0, (top+p.Height)/2+11, who)
	p.Height += 4
}
