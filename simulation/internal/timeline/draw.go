package timeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/wrap"
	"github.com/redquorum/redlock/simulation/record"
)

// Draw draws the run below what the picture has, and below a title: which processes believed that
// they held the lock or were stopped, whose key the servers had, what reached the resource, the faults
// and the violations. With kinds of violations, it shows only those. It returns sentences that explain
// what is drawn.
func (t *Timeline) Draw(c *drawing.Canvas, title string, kinds ...string) (legend []string) {
	p := &plot{Canvas: c, t: t, lanes: map[string]strip{}}
	for _, v := range t.violations {
		kind := v.Violation.Kind
		if (len(kinds) == 0 || slices.Contains(kinds, string(kind))) && !slices.ContainsFunc(p.violations, func(f *record.Event) bool { return f.Violation.Kind == kind }) {
			p.violations = append(p.violations, v)
		}
	}
	moments := t.moments()
	from, until := p.window(moments)
	p.axis = newAxis(moments, from, until)
	for _, line := range wrap.Lines(title, titleLetters, "", "") {
		if line != "" {
			c.Height += 17
			c.Text("h", 0, c.Height-3, line)
		}
	}
	alarms, faults := p.alarms(), p.faultCaptions()
	for _, c := range slices.Concat(alarms, faults) {
		p.lines = append(p.lines, c.at)
	}
	c.Desc = strings.TrimSpace(c.Desc + " " + title + " " + p.words())
	top := p.captions(alarms, 2)
	p.captions(faults, 3)
	p.Height += 4
	for _, name := range t.Processes {
		if p.active(name) {
			p.process(name)
		}
	}
	if t.UsesResource {
		p.resource()
	}
	p.servers()
	bottom := p.Height
	p.ticks()
	p.Under(func() { p.across(top, bottom, faults) })
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
	var kinds []string
	for _, v := range p.violations {
		kinds = append(kinds, string(v.Violation.Kind))
	}
	if len(kinds) == 0 {
		return strings.Join(append(out, "Nothing is violated."), " ")
	}
	return strings.Join(append(out, "Violated: "+list(kinds)+"."), " ")
}

// active reports whether a process does something in the window.
func (p *plot) active(name string) bool {
	return slices.ContainsFunc(p.t.asks, func(e *record.Event) bool { return e.Process == name && p.shows(e.At) }) ||
		slices.ContainsFunc(p.t.Steps, func(s Step) bool { return s.lane == name && p.shows(s.At) }) ||
		slices.ContainsFunc(p.t.Beliefs, func(b *belief) bool { return b.Process == name && p.overlaps(b.From, b.Until) })
}

// across draws what concerns several lanes.
func (p *plot) across(top, bottom float64, faults []caption) {
	for _, o := range p.t.overlaps() {
		first, one := p.lanes[o.first.Process]
		second, other := p.lanes[o.second.Process]
		if one && other && p.overlaps(o.from, o.until) {
			y := min(first.y, second.y)
			p.Box("both", p.x(o.from), y, p.x(o.until)-p.x(o.from), max(first.y+first.height, second.y+second.height)-y)
		}
	}
	for _, c := range faults {
		p.Box("fl", c.at, top, 1, bottom-top)
	}
	for _, v := range p.violations {
		if p.shows(v.At) {
			p.Box("vl", p.x(v.At)-.5, top, 1.5, bottom-top)
		}
	}
}
