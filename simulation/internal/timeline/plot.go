package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/internal/drawing"
)

const (
	rowHeight = 15.0 // of a line of text
	barHeight = 16.0
	// thinHeight is that of a server's bar, and the sizes are those of dots.
	thinHeight, writeSize, readSize = 8.0, 8.0, 5.0

	// fewBeliefs is the number of beliefs up to which a drawing shows the whole run. Of a longer run it shows so many.
	fewBeliefs = 4
)

// plot is the drawing of a run.
type plot struct {
	*drawing.Canvas // its Height is where the next thing is drawn
	axis
	t     *Timeline
	lanes map[string]strip
	lines []line
}

// strip is where a lane is: a process, the resource or a server.
type strip struct{ y, height float64 }

// line is a vertical line, from y down.
type line struct {
	class string
	x, y  float64
}

// moments returns every time that is drawn.
func (t *Timeline) moments() (out []time.Duration) {
	for _, b := range t.Beliefs {
		out = append(out, b.From, b.Until)
	}
	for _, n := range t.tenures {
		out = append(out, n.from, n.until)
	}
	for _, e := range slices.Concat(t.accesses, t.violations) {
		out = append(out, e.At)
	}
	for _, s := range t.Steps {
		if s.brief != "" {
			out = append(out, s.At)
		}
	}
	for _, s := range t.stops {
		out = append(out, s.from, s.until)
	}
	return slices.DeleteFunc(out, func(at time.Duration) bool { return at > t.End })
}

// window returns the part of the run that is shown: all of it, or the beliefs around the first violation, or else
// around the first fault.
func (p *plot) window(moments []time.Duration) (from, until time.Duration) {
	beliefs := p.t.Beliefs
	if len(beliefs) > fewBeliefs {
		first := slices.IndexFunc(p.t.Steps, func(s Step) bool { return s.Alarm || s.Fault && len(p.t.violations) == 0 })
		at := p.t.Steps[max(0, first)].At
		end := slices.IndexFunc(beliefs, func(b *belief) bool { return b.From > at })
		if end < 0 {
			end = len(beliefs)
		}
		end = min(max(end+1, fewBeliefs), len(beliefs))
		moments = []time.Duration{at}
		for _, b := range beliefs[end-fewBeliefs : end] {
			moments = append(moments, b.From, min(b.Until, p.t.End))
		}
	}
	if len(moments) > 0 {
		from, until = slices.Min(moments), slices.Max(moments)
	}
	if until <= from {
		from, until = max(0, from-time.Second), from+time.Second
	}
	margin := (until - from) / 50
	return max(0, from-margin), until + margin
}

// rest says what comes after the window, "" if nothing does.
func (p *plot) rest() string {
	if !slices.ContainsFunc(p.t.moments(), func(at time.Duration) bool { return at > p.until() }) {
		return ""
	}
	text := "continues to " + length(p.t.End)
	for _, v := range p.t.violations {
		if v.At > p.until() {
			text += ", !! " + string(v.Violation.Kind)
		}
	}
	return text
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
	if rest := p.rest(); rest != "" {
		p.Text("s e", right, p.Height+rowHeight-3, rest+" →")
		p.Height += rowHeight + 3
	}
}
