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

// around is the space around a text.
const around = 6

// rows are the text's lines: several if it is wider than the space on both sides of its moment.
func (c caption) rows() (rows []string) {
	space := max(c.at, drawing.Width-c.at) - around
	for i, word := range strings.Fields(c.text) {
		if last := len(rows) - 1; i > 0 && drawing.Wide(c.class, rows[last]+" "+word) <= space {
			rows[last] += " " + word
		} else {
			rows = append(rows, word)
		}
	}
	return rows
}

// wide is the width of a text with space around it.
func (c caption) wide() (wide float64) {
	for _, row := range c.rows() {
		wide = max(wide, drawing.Wide(c.class, row)+around)
	}
	return wide
}

// onLeft reports whether there is no space for the text on the right of its moment.
func (c caption) onLeft() bool { return c.at+c.wide() > drawing.Width }

// captions writes texts, in the order of the list: each beside its moment, in the row below all texts that it would
// touch. A text for which there are too few rows is omitted.
func (p *plot) captions(list []caption, most int) {
	type spot struct {
		caption
		rows        []string
		left        bool // of its moment
		from, until float64
		row         int
	}
	var placed []spot
	rows := 0
	for _, c := range list {
		s, wide := spot{caption: c, rows: c.rows(), left: c.onLeft(), from: c.at}, c.wide()
		if s.left {
			s.from = max(0, c.at-wide)
		}
		s.until = s.from + wide
		for _, o := range placed {
			if s.from < o.until && o.from < s.until {
				s.row = max(s.row, o.row+len(o.rows))
			}
		}
		if end := s.row + len(s.rows); end <= most {
			placed, rows = append(placed, s), max(rows, end)
		}
	}
	for _, s := range placed {
		y := p.Height + rowHeight*float64(s.row)
		p.Box("paper", s.from+1, y, s.until-s.from-2, rowHeight*float64(len(s.rows))) // a line of a caption above it goes on below
		for i, text := range s.rows {
			below := y + rowHeight*float64(i+1) - around/2
			if s.left {
				p.Text(strings.TrimSpace(s.class+" e"), s.until-around/2, below, text)
			} else {
				p.Text(s.class, s.from+around/2, below, text)
			}
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
