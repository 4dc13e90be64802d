package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/wrap"
	"github.com/redquorum/redlock/simulation/record"
)

// Draw draws the run below what the picture has, and below a title: which processes believed that
// they held the lock or were stopped, whose key the servers had, what reached the resource, the faults
// and the violations. With kinds of violations, it shows only those. It returns sentences that explain
// what is drawn.
func (t *Timeline) Draw(c *drawing.Canvas, title string, kinds ...string) (legend []string) {
	p := &plot{Canvas: c, t: t, about: kinds, token: t.tokens(), lanes: map[string]strip{}}
	moments := t.moments()
	from, until := p.window(moments)
	const width = right - left
	p.axis = newAxis(moments, from, until, left, width, min(3, width/4/float64(len(moments)+1)))
	for _, line := range wrap.Lines(title, titleLetters, "", "") {
		if line != "" {
			c.Height += 17
			c.Text("h", 0, c.Height-3, line)
		}
	}
	c.Desc = strings.TrimSpace(c.Desc + " " + title + " " + strings.Join(t.Summary(), " "))
	alarms, faults := p.alarms(), p.faults()
	for _, c := range slices.Concat(alarms, faults) {
		p.lines = append(p.lines, c.at)
	}
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

// moments returns every time that is drawn.
func (t *Timeline) moments() (out []time.Duration) {
	for _, b := range t.Beliefs {
		out = append(out, b.At, b.Until)
	}
	for _, n := range t.Tenures {
		out = append(out, n.From, n.Until)
	}
	for _, a := range t.Accesses {
		out = append(out, a.At)
	}
	for _, v := range t.Violations {
		out = append(out, v.At)
	}
	for _, s := range t.Spans {
		out = append(out, s.From)
		if s.Traits().Stops {
			out = append(out, s.Until)
		}
	}
	for _, m := range t.Events {
		if m.Kind == record.Suffered || m.Kind == record.Crashed || m.Kind == record.Asked {
			out = append(out, m.At)
		}
	}
	return slices.DeleteFunc(out, func(at time.Duration) bool { return at > t.End })
}
