package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/wrap"
	"github.com/redquorum/redlock/simulation/record"
)

const (
	smallLeft = 68.0 // left of the axis: the lanes' names
	wideLeft  = 92.0
	rowHeight = 15.0 // of a line of text
	barHeight = 16.0
	// titleLetters is how many letters of a title fit into a line.
	titleLetters = 44

	// fewBeliefs: a small picture shows the whole of a run with up to so many beliefs. Of a longer
	// run it shows the time before the first violation.
	fewBeliefs = 4
)

// plot draws a run: which processes believed that they held the lock or were stopped, whose key
// the servers had, what reached the resource, the faults and the violations. A wide one also has
// the messages, where a process's key really was, and a text on everything under the pointer.
type plot struct {
	*drawing.Canvas // its Height is where the next thing is drawn
	Axis
	t     *Timeline
	wide  bool
	about []string // kinds of violations to show; nil: all
	token func(fencing.Token) string
	truth []KeyPeriod
	right float64
	lanes []Lane
}

// Small draws the run on a picture of the usual width, below what it has and below a title. With
// kinds of violations, it shows only those.
func (t *Timeline) Small(c *drawing.Canvas, title string, kinds ...string) {
	p := &plot{Canvas: c, t: t, about: kinds, token: t.tokens(), truth: t.Truth(), right: drawing.Width - 8}
	moments := t.moments(false)
	from, until := p.window(moments)
	width := p.right - smallLeft
	p.Axis = newAxis(moments, from, until, smallLeft, width, min(3, width/4/float64(len(moments)+1)))
	for _, line := range wrap.Lines(title, titleLetters, "", "") {
		if line != "" {
			c.Height += 17
			c.Text("h", 0, c.Height-3, line)
		}
	}
	c.Desc = strings.TrimSpace(c.Desc + " " + title + " " + strings.Join(t.Summary(), " "))
	p.draw()
}

// Wide draws all of the run on an empty picture. Without an axis it makes one.
func (t *Timeline) Wide(c *drawing.Canvas, axis Axis) (Axis, []Lane) {
	p := &plot{Canvas: c, t: t, wide: true, token: t.tokens(), truth: t.Truth(), Axis: axis}
	if len(axis) == 0 {
		moments := slices.Compact(slices.Sorted(slices.Values(t.moments(true))))
		each := min(13, 5000/float64(len(moments)+1))
		p.Axis = newAxis(moments, 0, t.End, wideLeft, 700+each*float64(len(moments)+1), each)
	}
	p.right = p.Axis[len(p.Axis)-1].X
	c.Width, c.Desc = p.right+30, strings.Join(t.Summary(), " ")
	p.draw()
	return p.Axis, p.lanes
}

func (p *plot) draw() {
	top := p.captions(p.alarms(), 2)
	p.captions(p.faults(), 3)
	p.Height += 4
	for _, name := range p.t.Processes {
		if p.wide || p.active(name) {
			p.process(name)
		}
	}
	if p.t.UsesResource {
		p.resource()
	}
	p.servers()
	if p.wide {
		p.messages()
		p.marks()
	}
	bottom := p.Height
	p.ticks()
	p.Under(func() { p.across(top, bottom) })
}

// violations returns those that are shown: all, or on a small picture the first of each kind.
func (p *plot) violations() []Violation {
	if p.wide {
		return p.t.Violations
	}
	var first []Violation
	for _, v := range p.t.Violations {
		if (len(p.about) == 0 || slices.Contains(p.about, v.Kind)) && !slices.ContainsFunc(first, func(f Violation) bool { return f.Kind == v.Kind }) {
			first = append(first, v)
		}
	}
	return first
}

// window returns the part of the run that a small picture shows.
func (p *plot) window(moments []time.Duration) (from, until time.Duration) {
	beliefs, violated := p.t.Beliefs, p.violations()
	switch {
	case len(beliefs) > fewBeliefs && len(violated) > 0:
		at := violated[0].At
		before := slices.DeleteFunc(slices.Clone(beliefs), func(b belief) bool { return b.From > at })
		from, until = at, at
		for _, b := range before[max(0, len(before)-3):] {
			from, until = min(from, b.From), max(until, b.Until)
		}
		until = max(at, min(until, at+(at-from)/3))
	case len(beliefs) > fewBeliefs:
		from, until = beliefs[0].From, beliefs[0].Until
		for _, b := range beliefs[:fewBeliefs] {
			from, until = min(from, b.From), max(until, b.Until)
		}
	case len(moments) > 0:
		from, until = slices.Min(moments), slices.Max(moments)
	}
	until = min(until, p.t.End)
	if until <= from {
		from, until = max(0, from-time.Second), from+time.Second
	}
	margin := (until - from) / 50
	return max(0, from-margin), until + margin
}

// active reports whether a process does something in the window.
func (p *plot) active(name string) bool {
	return slices.ContainsFunc(p.t.Events, func(m laneEvent) bool {
		return m.Lane == name && m.Kind != record.Started && m.Kind != record.Ended && p.shows(m.At)
	}) || slices.ContainsFunc(p.t.Beliefs, func(b belief) bool { return b.Process == name && p.overlaps(b.From, b.Until) }) ||
		slices.ContainsFunc(p.t.Accesses, func(a access) bool { return a.Process == name && p.shows(a.At) })
}

// ticks writes times below the lanes: round ones, and on a wide picture others where there is space.
func (p *plot) ticks() {
	y := p.Height
	p.Under(func() { p.Box("axis", p.left(), y, p.right-p.left(), 1) })
	step, most := time.Microsecond, p.right/drawing.Width*6
	for n := 0; share(p.until()-p.from(), step) > most; n++ {
		step = step * []time.Duration{2, 5, 2}[n%3] / []time.Duration{1, 2, 1}[n%3]
	}
	var taken []float64
	tick := func(at time.Duration, text string) {
		x, half := p.x(at), drawing.Wide("", text)/2
		for i := 0; i < len(taken); i += 2 {
			if x-half < taken[i+1]+8 && x+half > taken[i]-8 {
				return
			}
		}
		if x-half < p.left()-20 || x+half > min(p.right+16, cmp.Or(p.Width, drawing.Width)) {
			return
		}
		taken = append(taken, x-half, x+half)
		p.Box("axis", x, y, 1, 4)
		p.Text("s m", x, y+17, text)
	}
	for at := (p.from() + step - 1) / step * step; at <= p.until(); at += step {
		tick(at, length(at))
	}
	for i, k := range p.Axis {
		if at := k.At.Truncate(time.Millisecond); p.wide && i > 0 && at > p.Axis[i-1].At {
			tick(at, Grouped(at.Milliseconds())+" ms")
		}
	}
	p.Height += 22
}

// across draws what concerns several lanes.
func (p *plot) across(top, bottom float64) {
	for _, o := range p.t.Overlaps() {
		if first, second := p.laneOf(processOf(o.First)), p.laneOf(processOf(o.Second)); first != nil && second != nil && p.overlaps(o.From, o.Until) {
			y := min(first.Y, second.Y)
			p.tip(p.Box("both", p.x(o.From), y, p.x(o.Until)-p.x(o.From), max(first.Y+first.Height, second.Y+second.Height)-y),
				"%s and %s both believe that they hold %s, for %s", o.First, o.Second, o.Key, length(o.Until-o.From))
		}
	}
	for _, c := range p.faults() {
		p.Box("fl", c.at, top, 1, bottom-top)
	}
	for _, v := range p.violations() {
		if p.shows(v.At) {
			p.tip(p.Box("vl", p.x(v.At)-.5, top, 1.5, bottom-top), "%s ms: %s", Clock(v.At), v.Kind)
		}
	}
}

func (p *plot) laneOf(name string) *Lane {
	i := slices.IndexFunc(p.lanes, func(l Lane) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &p.lanes[i]
}

// mentioned reports whether a picture shows when the event was.
func (m laneEvent) mentioned(wide bool) bool {
	switch m.Kind {
	case record.Suffered, record.Crashed, record.Asked:
		return true
	case record.Started, record.Ended:
		return false
	}
	return wide
}
