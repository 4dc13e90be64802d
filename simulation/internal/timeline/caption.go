package timeline

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/internal/drawing"
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
	at := time.Duration(-1)
	for _, v := range p.violations {
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

// faultCaptions returns the faults, except for stopped processes, which have bars. Faults of one moment that
// differ only in the lane or in the other end of a link are merged.
func (p *plot) faultCaptions() (captions []caption) {
	var all []faultText
	for _, f := range p.t.faults {
		if f.what == "" || !p.shows(f.at) {
			continue
		}
		i := slices.IndexFunc(all, func(o faultText) bool {
			return math.Abs(p.x(o.at)-p.x(f.at)) <= 4 && o.what == f.what && (slices.Equal(o.who, f.who) && len(f.links) > 0 || slices.Equal(o.links, f.links))
		})
		switch {
		case i < 0:
			all = append(all, f)
		case slices.Equal(all[i].who, f.who) && len(f.links) > 0:
			all[i].links = union(all[i].links, f.links)
		default:
			all[i].who = union(all[i].who, f.who)
		}
	}
	slices.SortStableFunc(all, func(a, b faultText) int { return cmp.Compare(a.at, b.at) })
	for _, f := range all {
		captions = append(captions, caption{"fa", p.x(f.at), strings.TrimSpace(list(f.who) + f.what + " " + list(f.links))})
	}
	return captions
}
