package picture

import (
	"fmt"
	"math"
)

// Row is a row of a Heat: a fault, with a share from 0 to 1 for each column; below zero
// where it wasn't played.
type Row struct {
	Name   string
	Shares []float64
}

// Group is some rows under a heading.
type Group struct {
	Title string
	Rows  []Row
}

// Heat draws shares as a table of boxes: the darker, the more runs were violated. Each has
// its number, for readers who don't see colours.
func Heat(title, desc string, columns []string, groups []Group) *Picture {
	p := &Picture{Title: title, Desc: desc}
	const names = 104.0
	wide := (Width - names) / float64(len(columns))
	p.text("h", 0, 14, title)
	y := 30.0
	for i, c := range columns {
		// Two rows of headings, by turns: they are wider than their columns.
		class, x := "n m", names+wide*(float64(i)+0.5)
		if i == len(columns)-1 {
			class, x = "n e", Width
		}
		p.text(class, x, y+15*float64(i%2), c)
	}
	y += 22
	for _, g := range groups {
		p.text("s", 0, y+15, g.Title)
		y += 22
		for _, row := range g.Rows {
			p.text("", 0, y+14, row.Name)
			for i, share := range row.Shares {
				x := names + wide*float64(i)
				switch {
				case share < 0:
					p.text("s m", x+wide/2, y+14, "-")
				case share == 0:
					p.box("yes", x+1, y, wide-2, 18)
					p.text("ok m", x+wide/2, y+13.5, "0")
				default:
					p.heat(x+1, y, wide-2, 18, share)
					p.text("n m", x+wide/2, y+13.5, fmt.Sprintf("%.0f %%", math.Max(1, 100*share)))
				}
			}
			y += 20
		}
		y += 4
	}
	p.Height = y + 2
	return p
}

// heat is a box whose fill says how much: from pale to as strong as letters on it allow.
func (p *Picture) heat(x, y, w, h, share float64) {
	p.box("pale", x, y, w, h)
	fmt.Fprintf(&p.shapes, "<rect class=\"hot\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"3\" fill-opacity=\"%.2f\"/>\n", px(x), px(y), px(w), px(h), 0.12+0.38*share)
}
