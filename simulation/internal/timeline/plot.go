package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/record"
)

const (
	left      = 68.0              // of the axis: the lanes' names
	right     = drawing.Width - 8 // the axis's end
	rowHeight = 15.0              // of a line of text
	barHeight = 16.0
	// thinHeight is that of a server's bar, and the sizes are those of dots.
	thinHeight, writeSize, readSize = 8.0, 8.0, 5.0
	// titleLetters is how many letters of a title fit into a line.
	titleLetters = 44

	// fewBeliefs: a drawing shows the whole of a run with up to so many beliefs. Of a longer run it
	// shows the time before the first violation, or around the first fault.
	fewBeliefs = 4
)

// plot is the drawing of a run.
type plot struct {
	*drawing.Canvas // its Height is where the next thing is drawn
	axis
	t     *Timeline
	about []string // kinds of violations to show; empty: all
	token func(fencing.Token) string
	lanes map[string]strip
	lines []float64 // the vertical ones
}

// violations returns those that are shown: the first of each kind.
func (p *plot) violations() []event {
	var first []event
	for _, v := range p.t.Violations {
		kind := v.Violation.Kind
		if (len(p.about) == 0 || slices.Contains(p.about, string(kind))) && !slices.ContainsFunc(first, func(f event) bool { return f.Violation.Kind == kind }) {
			first = append(first, v)
		}
	}
	return first
}

// window returns the part of the run that is shown.
func (p *plot) window(moments []time.Duration) (from, until time.Duration) {
	if beliefs := p.t.Beliefs; len(beliefs) > fewBeliefs {
		at, violated := p.cause()
		i := len(slices.DeleteFunc(slices.Clone(beliefs), func(b belief) bool { return b.At > at }))
		end := i
		if !violated {
			end = min(len(beliefs), max(i+1, fewBeliefs))
		}
		from, until = at, at
		for _, b := range beliefs[max(0, i-3):end] {
			from, until = min(from, b.At), max(until, b.Until)
		}
		if violated {
			until = max(at, min(until, at+(at-from)/3))
		}
	} else if len(moments) > 0 {
		from, until = slices.Min(moments), slices.Max(moments)
	}
	until = min(until, p.t.End)
	if until <= from {
		from, until = max(0, from-time.Second), from+time.Second
	}
	margin := (until - from) / 50
	return max(0, from-margin), until + margin
}

// cause is the moment of the first violation or, without one, of the first fault or belief.
func (p *plot) cause() (at time.Duration, violated bool) {
	if violations := p.violations(); len(violations) > 0 {
		return violations[0].At, true
	}
	at = forever
	for _, s := range p.t.Spans {
		at = min(at, s.From)
	}
	for _, m := range p.t.Events {
		if m.Kind == record.Suffered || m.Kind == record.Crashed {
			at = min(at, m.At)
		}
	}
	if at == forever {
		at = p.t.Beliefs[0].At
	}
	return at, false
}

// active reports whether a process does something in the window.
func (p *plot) active(name string) bool {
	return slices.ContainsFunc(p.t.Events, func(m event) bool {
		return m.lane == name && m.Kind != record.Started && m.Kind != record.Ended && p.shows(m.At)
	}) || slices.ContainsFunc(p.t.Beliefs, func(b belief) bool { return b.Process == name && p.overlaps(b.At, b.Until) }) ||
		slices.ContainsFunc(p.t.Accesses, func(a access) bool { return a.Process == name && p.shows(a.At) })
}

// ticks writes round times below the lanes, where there is space.
func (p *plot) ticks() {
	y := p.Height
	p.Under(func() { p.Box("axis", left, y, right-left, 1) })
	step := time.Microsecond
	for n := 0; share(p.until()-p.from(), step) > 6; n++ {
		step = step * []time.Duration{2, 5, 2}[n%3] / []time.Duration{1, 2, 1}[n%3]
	}
	last := left - 28.0
	for at := (p.from() + step - 1) / step * step; at <= p.until(); at += step {
		text := length(at)
		if step < 10*time.Millisecond { // of which length has too few digits
			text = strings.Replace(Clock(at), ".000", "", 1)
		}
		x, half := p.x(at), drawing.Wide("", text)/2
		if x-half < last+8 || x+half > drawing.Width {
			continue
		}
		last = x + half
		p.Box("axis", x, y, 1, 4)
		p.Text("s m", x, y+17, text)
	}
	p.Height += 22
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
	for _, v := range p.violations() {
		if p.shows(v.At) {
			p.Box("vl", p.x(v.At)-.5, top, 1.5, bottom-top)
		}
	}
}
