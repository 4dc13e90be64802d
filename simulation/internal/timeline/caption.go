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

// captions writes texts beside their moments, in as few rows as possible, and over a line only if
// there is no other space. A text that fits in no row is omitted. It returns the y above them.
func (p *plot) captions(list []caption, most int) float64 {
	top := p.Height
	rows := make([][]float64, most) // from, until, ...
	used := 0
	for _, c := range list {
		w := drawing.Wide(c.class, c.text) + 6
		sides := slices.DeleteFunc([]float64{c.at + 3, c.at - 3 - w}, func(x float64) bool { return x < 0 || x+w > right })
		if len(sides) == 0 && w <= right+4 {
			sides = []float64{0}
		}
		crosses := func(x float64) bool {
			return slices.ContainsFunc(p.lines, func(line float64) bool { return line > x-2 && line < x+w-4 })
		}
		i, x, ok := spot(rows, sides, w, crosses)
		if !ok {
			i, x, ok = spot(rows, sides, w, func(float64) bool { return false })
		}
		if ok {
			rows[i], used = append(rows[i], x, x+w), max(used, i+1)
			class := strings.TrimSpace(c.class + " c")
			if x < c.at && x > 0 {
				class, x = class+" e", x+w
			}
			p.Text(class, x, top+rowHeight*float64(i+1)-3, c.text)
		}
	}
	p.Height += rowHeight * float64(used)
	return top
}

// spot returns the first row and the first side with space for a text.
func spot(rows [][]float64, sides []float64, w float64, blocked func(x float64) bool) (row int, x float64, ok bool) {
	for i, row := range rows {
		for _, x := range sides {
			free := !blocked(x)
			for j := 0; j < len(row); j += 2 {
				free = free && (x >= row[j+1] || row[j] >= x+w)
			}
			if free {
				return i, x, true
			}
		}
	}
	return 0, 0, false
}

// alarms returns the violations. Those of one moment are one.
func (p *plot) alarms() (list []caption) {
	at := never
	for _, v := range p.violations() {
		switch kind := string(v.Violation.Kind); {
		case !p.shows(v.At):
		case v.At == at:
			list[len(list)-1].text += ", " + kind
		default:
			at = v.At
			list = append(list, caption{"al", p.x(v.At), "!! " + kind})
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
				add(m.At, m.lane, strings.Replace(sentence("", text), "'s clock", ": clock", 1))
			}
		case record.Crashed:
			add(m.At, m.lane, " crashes")
		}
	}
	for _, s := range p.t.Spans {
		switch t := s.Traits(); {
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
