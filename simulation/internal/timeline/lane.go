package timeline

import (
	"fmt"
	"slices"
	"strings"
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
	if !p.overlaps(from, until) {
		return
	}
	x1, x2 := p.x(from), p.x(until)
	p.Box(class, x1, y, x2-x1, h)
	for _, text := range texts {
		if drawing.Wide("n", text) <= x2-x1-6 {
			p.Text(textClass, x1+4, y+h-3.5, text)
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
	stops := slices.DeleteFunc(slices.Clone(p.t.stops), func(s *stop) bool { return s.lane != name || !p.overlaps(s.from, s.until) })
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

// belief draws what a process believes, and a dashed box around what isn't so. Of several locks it
// names the one.
func (p *plot) belief(b *belief, several bool, y float64) {
	who, lock, name := "", " the lock", ""
	if b.who != b.Process {
		who = b.who + " "
	}
	if several {
		lock, name = " "+b.Key, " "+b.Key
	}
	texts := []string{who + "holds" + lock, "holds" + name, strings.TrimSpace(name)}
	if b.token != 0 {
		token := ", token " + p.t.token(b.token)
		texts = append([]string{texts[0] + token, who + "holds" + name + token}, texts...)
	}
	p.bar(p.series("b", b.Process), b.From, b.Until, y, barHeight, "", texts...)
	for _, gap := range p.t.gaps(b) {
		if p.x(gap.until)-p.x(gap.from) > 3 {
			p.bar("un", gap.from, gap.until, y, barHeight, "")
		}
	}
}

// resource draws the operations at the resource.
func (p *plot) resource() {
	var list []caption
	for _, a := range p.t.accesses {
		class, text := "", who(a)+" writes"
		switch {
		case !p.shows(a.At):
			continue
		case refused(a):
			class, text = "ok", fmt.Sprintf("%s's %s is REFUSED", who(a), a.Kind)
		case a.Kind != record.Write:
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
	y := p.lane(fault.Resource, fault.Resource, 16, 8)
	for _, a := range p.t.accesses {
		if !p.shows(a.At) {
			continue
		}
		class, size := p.series("d", a.Process), writeSize
		switch {
		case refused(a):
			class = "dok"
		case a.Kind != record.Write:
			size = readSize
		case p.broke(a):
			class = "dal"
		}
		p.Dot(class, p.x(a.At), y, size)
	}
}

// broke reports whether an operation was a violation.
func (p *plot) broke(a *record.Event) bool {
	return slices.ContainsFunc(p.violations, func(v *record.Event) bool {
		return v.At == a.At && (v.Violation.Kind == record.StaleWrite || v.Violation.Kind == record.LostUpdate)
	})
}

func rankOf(class string) string { return map[string]string{"al": "0", "ok": "1"}[class] + "2" }

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
