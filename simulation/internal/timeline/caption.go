package timeline

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/internal/drawing"
)

// caption is a text beside a moment. line is the class of the line below it, "" for none.
type caption struct {
	class, line string
	at          float64
	text        string
}

// spot is where a caption is: from x, in a row that counts from the lowest.
type spot struct {
	caption
	x   float64
	row int
}

// order is an order in which captions are placed. A line goes on below its text, and may go behind another text there.
// No order prevents that in all drawings.
type order func(a, b caption) int

func byMoment(a, b caption) int { return cmp.Compare(a.at, b.at) }

// leftFirst has the texts that have space on the left of their lines alone, and then the others from the right.
func leftFirst(a, b caption) int {
	switch {
	case a.onLeft() && b.onLeft():
		return byMoment(a, b)
	case a.onLeft():
		return -1
	case b.onLeft():
		return 1
	}
	return byMoment(b, a)
}

// wide is the width of a text with space around it.
func (c caption) wide() float64 { return drawing.Wide(c.class, c.text) + 6 }

func (c caption) onLeft() bool { return c.at+c.wide() > drawing.Width && c.at >= c.wide() }

// captions writes texts beside their moments, in the order in which the fewest lines go behind a text. A text that
// fits in none of the rows is omitted. With as many rows as texts, none is.
func (p *plot) captions(list []caption, most int, orders ...order) {
	var placed []spot
	least := math.MaxInt
	for _, o := range orders {
		slices.SortStableFunc(list, o)
		if spots, crossings := p.layout(list, most); crossings < least {
			placed, least = spots, crossings
		}
	}
	rows := 0
	for _, s := range placed {
		rows = max(rows, s.row+1)
	}
	for _, s := range placed {
		y, class, x := p.Height+rowHeight*float64(rows-1-s.row), s.class, s.x+3
		if s.x+s.wide() <= s.at {
			class, x = strings.TrimSpace(class+" e"), s.x+s.wide()-3
		}
		p.Box("paper", s.x+1, y, s.wide()-2, rowHeight) // a line of a caption above it ends here and goes on below
		p.Text(class, x, y+rowHeight-3, s.text)
		switch {
		case s.line == "":
		case s.spans(s.at):
			p.lines = append(p.lines, line{s.line, s.at, y + rowHeight})
		default:
			p.lines = append(p.lines, line{s.line, s.at, y})
		}
	}
	p.Height += rowHeight * float64(rows)
}

// layout places captions one after the other, each on the right of its moment, or else on the left or across it, in the
// lowest row in which there is space and no line and text cross. It returns for how many there is no such row.
func (p *plot) layout(list []caption, most int) (placed []spot, crossings int) {
	for _, c := range list {
		var best *spot
		crossed := true
		for _, x := range []float64{c.at, c.at - c.wide(), max(0, right-c.wide())} {
			for row := 0; row < most && crossed; row++ {
				s := spot{c, x, row}
				if x < 0 || x > c.at || x+c.wide() > drawing.Width || slices.ContainsFunc(placed, s.covers) {
					continue
				}
				if crossed = p.crossed(s, placed); best == nil || !crossed {
					best = &s
				}
			}
		}
		if best != nil {
			placed = append(placed, *best)
			if crossed {
				crossings++
			}
		}
	}
	return placed, crossings
}

// covers reports whether two texts would be on each other.
func (s spot) covers(o spot) bool { return s.row == o.row && s.x < o.x+o.wide() && o.x < s.x+s.wide() }

// crossed reports whether a line goes through the text, or the text's own line through a text below it.
func (p *plot) crossed(s spot, placed []spot) bool {
	return slices.ContainsFunc(p.lines, func(l line) bool { return s.spans(l.x) }) || slices.ContainsFunc(placed, func(o spot) bool {
		return o.line != "" && o.row > s.row && s.spans(o.at) || s.line != "" && s.row > o.row && o.spans(s.at)
	})
}

// spans reports whether a text is on both sides of a place.
func (s spot) spans(x float64) bool { return s.x < x && x < s.x+s.wide() }

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
			list = append(list, caption{"al", "vl", p.x(v.At), "!! " + kind})
		}
	}
	return list
}

// faultCaptions returns the faults, except for stopped processes, which have bars. Faults of one moment that
// differ only in the lane or in the other end of a link are merged.
func (p *plot) faultCaptions() (captions []caption) {
	var all []*faultText
	for _, f := range p.t.faults {
		if f.what == "" || !p.shows(f.at) {
			continue
		}
		merged := slices.ContainsFunc(all, func(o *faultText) bool {
			near := math.Abs(p.x(o.at)-p.x(f.at)) <= 4 && o.what == f.what
			switch {
			case near && slices.Equal(o.links, f.links):
				o.who = union(o.who, f.who...)
			case near && slices.Equal(o.who, f.who):
				o.links = union(o.links, f.links...)
			default:
				return false
			}
			return true
		})
		if !merged {
			all = append(all, &f)
		}
	}
	for _, f := range all {
		who := list(f.who)
		if len(f.who) > 2 && slices.Equal(slices.Sorted(slices.Values(f.who)), p.t.Servers) {
			who = "every server"
		}
		captions = append(captions, caption{"fa", "fl", p.x(f.at), strings.TrimSpace(who + f.what + " " + list(f.links))})
	}
	return captions
}
