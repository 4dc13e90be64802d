package timeline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/drawing"
)

// Draw draws the run below what the picture has: which processes believed that they held the lock or were
// stopped, whose key the servers had, what reached the resource, the faults, and the first violation of each kind.
// It returns sentences about the run's tokens and violations; Legend explains the rest.
func (t *Timeline) Draw(c *drawing.Canvas) (legend []string) {
	p := &plot{Canvas: c, t: t, lanes: map[string]strip{}}
	moments := t.moments()
	from, until := p.window(moments)
	p.axis = newAxis(moments, from, until)
	c.Desc = strings.TrimSpace(c.Desc + " " + p.words())
	p.captions(p.causes(), math.MaxInt)
	p.Height += 4
	for _, name := range t.Processes {
		if p.active(name) {
			p.process(name)
		}
	}
	if len(t.accesses) > 0 {
		p.resource()
	}
	p.servers()
	p.Under(p.across)
	p.ticks()
	return p.legend()
}

// words are the drawing for readers who can't see it.
func (p *plot) words() string {
	var out []string
	for _, b := range p.t.Beliefs {
		if p.overlaps(b.From, b.Until) {
			out = append(out, fmt.Sprintf("%s holds %s from %s to %s.", b.who, b.Key, Clock(b.From), Clock(b.Until)))
		}
	}
	if rest := p.rest(); rest != "" {
		out = append(out, "The run "+rest+".")
	}
	var kinds []string
	for _, v := range p.t.violations {
		kinds = append(kinds, string(v.Violation.Kind))
	}
	if len(kinds) == 0 {
		return strings.Join(append(out, "Nothing is violated."), " ")
	}
	return strings.Join(append(out, "Violated: "+list(kinds)+"."), " ")
}

// active reports whether a process does something in the window, or a server has its key.
func (p *plot) active(name string) bool {
	return slices.ContainsFunc(p.t.Steps, func(s Step) bool { return s.lane == name && p.shows(s.At) }) ||
		slices.ContainsFunc(p.t.Beliefs, func(b *belief) bool { return b.Process == name && p.overlaps(b.From, b.Until) }) ||
		slices.ContainsFunc(p.t.tenures, func(n *tenure) bool { return n.process == name && p.overlaps(n.from, n.until) })
}

// across draws what concerns several lanes, those above this height: where two processes, or two goroutines of one,
// both believed that they held the same lock, and the lines.
func (p *plot) across() {
	for i, a := range p.t.Beliefs {
		for _, b := range p.t.Beliefs[i+1:] {
			from, until := max(a.From, b.From), min(a.Until, b.Until)
			if a.Key == b.Key && a.who != b.who && from < until && p.overlaps(from, until) {
				first, second := p.lanes[a.Process], p.lanes[b.Process]
				y := min(first.y, second.y)
				p.Box("both", p.x(from), y, p.x(until)-p.x(from), max(first.y+first.height, second.y+second.height)-y)
			}
		}
	}
	for _, l := range p.lines {
		p.Box(l.class, l.x-.5, l.y, 1.5, p.Height-l.y)
	}
}
