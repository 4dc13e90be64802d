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
func (p *plot) bar(class string, from, until time.Duration, y, h float64, texts ...string) {
	if !p.overlaps(from, until) {
		return
	}
	wide := p.x(until) - p.x(from)
	p.Box(class, p.x(from), y, wide, h)
	if i := slices.IndexFunc(texts, func(text string) bool { return drawing.Wide("", text) <= wide-6 }); i >= 0 {
		p.Text("", p.x(from)+4, y+h-3.5, texts[i])
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
	y, height := p.Height+4, 6+18*float64(max(1, len(keys)))
	stopY := p.Height + height - 2
	stops := slices.DeleteFunc(slices.Clone(p.t.stops), func(s *stop) bool { return s.lane != name || !p.overlaps(s.from, s.until) })
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
		p.bar("wait", s.from, s.until, stopY, rowHeight, "stopped for "+length(s.until-s.from), "stopped")
	}
}

// belief draws what a process believes, with a red edge where it isn't so. Of several locks it names the one.
func (p *plot) belief(b *belief, several bool, y float64) {
	holds, lock, short := "holds", "the lock", "holds"
	if several {
		lock, short = b.Key, b.Key
	}
	if b.who != b.Process {
		holds = b.who + " holds"
	}
	p.bar(p.series("b", b.Process), b.From, b.Until, y, barHeight, holds+" "+named(lock, p.t.token(b.token)), holds+" "+lock, short)
	for _, gap := range p.t.gaps(b) {
		if p.x(gap.until)-p.x(gap.from) > 3 {
			p.bar("un", gap.from, gap.until, y, 3)
		}
	}
}

// resource draws the operations at the resource.
func (p *plot) resource() {
	var captions []caption
	y := p.lane(fault.Resource, fault.Resource, 16, 10)
	for _, a := range p.t.accesses {
		if !p.shows(a.At) {
			continue
		}
		class, size := p.series("d", a.Process), writeSize
		c := caption{at: p.x(a.At), text: who(a) + " writes"}
		switch {
		case refused(a):
			class, c.class, c.text = "dok", "ok", fmt.Sprintf("%s's %s is REFUSED", who(a), a.Kind)
		case a.Kind != record.Write:
			size, c.text = readSize, ""
		case p.broke(a):
			class, c.class = "dal", "al"
		}
		p.Dot(class, c.at, y, size)
		if c.text != "" {
			captions = append(captions, c)
		}
	}
	slices.SortStableFunc(captions, func(a, b caption) int { // if there is no space for all
		order := []string{"al", "ok", ""}
		return slices.Index(order, a.class) - slices.Index(order, b.class)
	})
	p.captions(captions, 2)
}

// broke reports whether an operation was a violation.
func (p *plot) broke(a *record.Event) bool {
	return slices.ContainsFunc(p.t.violations, func(v *record.Event) bool {
		return v.At == a.At && (v.Violation.Kind == record.StaleWrite || v.Violation.Kind == record.LostUpdate)
	})
}

// servers draws whose key each server had.
func (p *plot) servers() {
	p.Height += 4
	for _, name := range p.t.Servers {
		y := p.lane(name, "server "+name, 13, 6.5) - thinHeight/2
		for _, s := range p.t.stops {
			if s.lane == name {
				p.bar("wait", s.from, s.until, y, thinHeight)
			}
		}
		for _, n := range p.t.tenures {
			if n.server == name && n.until > n.from {
				p.bar(p.series("b", n.process), n.from, n.until, y, thinHeight)
			}
		}
	}
	p.Height += 4
}
