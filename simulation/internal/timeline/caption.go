package timeline

import (
	"cmp"
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

// wide is the width of a text with space around it.
func (c caption) wide() float64 { return drawing.Wide(c.class, c.text) + 6 }

// onLeft reports whether there is no space for the text on the right of its moment.
func (c caption) onLeft() bool { return c.at+c.wide() > drawing.Width }

// captions writes texts, in the order of the list: each beside its moment, in the row below all texts that it would
// touch. A text for which there are too few rows is omitted.
func (p *plot) captions(list []caption, most int) {
	type spot struct {
		caption
		from, until float64
		row         int
	}
	var placed []spot
	rows := 0
	for _, c := range list {
		s := spot{caption: c, from: c.at}
		if c.onLeft() {
			s.from = max(0, c.at-c.wide())
		}
		s.until = s.from + c.wide()
		for _, o := range placed {
			if s.from < o.until && o.from < s.until {
				s.row = max(s.row, o.row+1)
			}
		}
		if s.row < most {
			placed, rows = append(placed, s), max(rows, s.row+1)
		}
	}
	for _, s := range placed {
		y := p.Height + rowHeight*float64(s.row)
		p.Box("paper", s.from+1, y, s.until-s.from-2, rowHeight) // a line of a caption above it goes on below
		if s.onLeft() {
			p.Text(strings.TrimSpace(s.class+" e"), s.until-3, y+rowHeight-3, s.text)
		} else {
			p.Text(s.class, s.from+3, y+rowHeight-3, s.text)
		}
		if s.from < s.at && s.at < s.until {
			y += rowHeight
		}
		if s.line != "" {
			p.lines = append(p.lines, line{s.line, s.at, y})
		}
	}
	p.Height += rowHeight * float64(rows)
}

// causes returns the faults and the violations. Violations of one moment are one. Stopped processes have bars
// instead. The texts on the left of their moments are in the order from the right, and the others in that from the
// left, so that each line goes on beside the texts below it.
func (p *plot) causes() (list []caption) {
	at := time.Duration(-1)
	var alarms []caption
	for _, v := range p.t.violations {
		switch kind := string(v.Violation.Kind); {
		case !p.shows(v.At):
		case v.At == at:
			alarms[len(alarms)-1].text += ", " + kind
		default:
			at = v.At
			alarms = append(alarms, caption{"al", "vl", p.x(v.At), "!! " + kind})
		}
	}
	for _, s := range p.t.Steps {
		if s.brief != "" && p.shows(s.At) {
			list = append(list, caption{"fa", "fl", p.x(s.At), s.brief})
		}
	}
	list = append(list, alarms...)
	slices.SortStableFunc(list, func(a, b caption) int {
		switch {
		case a.onLeft() && b.onLeft():
			return cmp.Compare(b.at, a.at)
		case a.onLeft():
			return -1
		case b.onLeft():
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	return list
}
