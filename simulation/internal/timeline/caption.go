package timeline

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/record"
)

// caption is a text beside a moment.
type caption struct {
	class string
	at    float64
	text  string
}

// captions writes texts beside their moments, in as few rows as possible: on a wide picture always
// in all, so that a change moves no lane. A text that fits in no row is omitted. It returns the y
// above them.
func (p *plot) captions(list []caption, most int) float64 {
	top := p.Height
	rows := make([][]float64, most) // from, until, ...
	used := 0
	if p.wide {
		used = most
	}
	for _, c := range list {
		w := drawing.Wide(c.class, c.text) + 6
		from, class := c.at+3, c.class
		if from+w > p.right {
			from, class = c.at-3-w, c.class+" e"
		}
		if from < p.left() {
			from, class = p.left(), c.class
		}
		if from+w > p.right+4 {
			continue
		}
		for i, row := range rows {
			free := true
			for j := 0; j < len(row); j += 2 {
				free = free && (from >= row[j+1] || row[j] >= from+w)
			}
			if !free {
				continue
			}
			rows[i], used = append(row, from, from+w), max(used, i+1)
			x := from
			if class != c.class {
				x += w
			}
			p.Text(strings.TrimSpace(class), x, top+rowHeight*float64(i+1)-3, c.text)
			break
		}
	}
	p.Height += rowHeight * float64(used)
	return top
}

// alarms returns the violations. Those of one moment are one.
func (p *plot) alarms() (list []caption) {
	var at time.Duration = never
	for _, v := range p.violations() {
		switch {
		case !p.shows(v.At):
		case v.At == at:
			list[len(list)-1].text += ", " + v.Kind
		default:
			at = v.At
			list = append(list, caption{"al", p.x(v.At), "!! " + v.Kind})
		}
	}
	return list
}

// faultText is a fault. Faults of one moment that differ only in the lane or in the other end of a
// link are merged.
type faultText struct {
	at    float64
	who   []string
	what  string
	links []string // the other ends
}

// faults returns the faults, except for stopped processes, which have bars.
func (p *plot) faults() []caption {
	var all []faultText
	add := func(at time.Duration, who, what string, links ...string) {
		if !p.shows(at) {
			return
		}
		f := faultText{at: p.x(at), who: []string{who}, what: what, links: links}
		for i := range all {
			o := &all[i]
			switch {
			case math.Abs(o.at-f.at) > 4 || o.what != what:
			case slices.Equal(o.who, f.who) && len(links) > 0:
				if !slices.Contains(o.links, links[0]) {
					o.links = append(o.links, links[0])
				}
				return
			case slices.Equal(o.links, f.links):
				if !slices.Contains(o.who, who) {
					o.who = append(o.who, who)
				}
				return
			}
		}
		all = append(all, f)
	}
	for _, m := range p.t.Events {
		switch m.Kind {
		case record.Suffered:
			if text := momentary(m.Fault); text != "" {
				add(m.At, m.Lane, strings.Replace(sentence("", text), "'s clock", ": clock", 1))
			}
		case record.Crashed:
			add(m.At, m.Lane, " crashes")
		}
	}
	for _, s := range p.t.Spans {
		switch t := s.traits(); {
		case t.Short == "" || t.Stops && t.Where == fault.OnProcess: // its lane shows it
		case t.OnMessages:
			add(s.From, anyOf(s.Lane, "clients"), " "+t.Short, anyOf(s.Place, "servers"))
		default:
			add(s.From, s.subject(), " "+t.Short)
		}
	}
	slices.SortStableFunc(all, func(a, b faultText) int { return cmp.Compare(a.at, b.at) })
	captions := make([]caption, len(all))
	for i, f := range all {
		captions[i] = caption{"fa", f.at, strings.TrimSpace(list(f.who) + f.what + " " + list(f.links))}
	}
	return captions
}
