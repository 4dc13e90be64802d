package report

import (
	"fmt"
	"strconv"
	"strings"
)

// cellView is a cell in a table: a word, a colour, and a link to its evidence.
type cellView struct{ Class, Head, Link string }

// faultView has the details of a column.
type faultView struct {
	Axis
	Anchor string
	Cells  []evidenceView
}

// evidenceView has the details of a cell.
type evidenceView struct {
	Anchor, Design, Class, Head, Interval, Expected, Command string
	Kinds                                                    []kindCount
	Unreached                                                []string
	Run                                                      int // of the page's data, -1 if there is none
}

type kindCount struct {
	Name  string
	Runs  int
	First string // seed, "" if it isn't known
}

// class is the CSS class of a cell.
func (c Cell) class() string {
	class := ""
	switch {
	case c.Runs == 0:
		class = "quiet"
	case c.Violated > 0:
		class = "bad"
	case c.proves():
		class = "none"
	default:
		class = "unproved"
	}
	if c.Unexpected {
		class += " unexpected"
	}
	return class
}

// cells collects the details of each cell, by fault.
func (p *page) cells() {
	m := p.Matrix
	for j, fault := range m.Faults {
		f := faultView{Axis: fault, Anchor: faultAnchor(fault.Name)}
		p.anchors[f.Anchor] = true
		for i, design := range m.Designs {
			c := m.At(i, j)
			if c.Runs == 0 {
				continue
			}
			e := evidenceView{
				Anchor: cellAnchor(design.Name, fault.Name), Design: design.Name, Class: c.class(), Head: c.Word(),
				Expected: c.Expected, Command: c.Command, Run: p.runs.index(c.Timeline), Unreached: c.Unreached,
			}
			_, high := c.Interval()
			if c.Violated > 0 {
				e.Interval = fmt.Sprintf("%s of %s runs: %s", grouped(int64(c.Violated)), grouped(int64(c.Runs)), c.intervalText())
			} else {
				e.Interval = fmt.Sprintf("none of %s runs: at most %s %% is likely", grouped(int64(c.Runs)), exact(high))
			}
			for _, kind := range c.kinds() {
				count := kindCount{Name: kind, Runs: c.Kinds[kind]}
				if seed, known := c.First[kind]; known {
					count.First = strconv.FormatUint(seed, 10)
				}
				e.Kinds = append(e.Kinds, count)
			}
			p.anchors[e.Anchor] = true
			f.Cells = append(f.Cells, e)
		}
		p.Faults = append(p.Faults, f)
	}
}

func (p *page) cell(c Cell, design, fault string) cellView {
	return cellView{Class: c.class(), Head: c.Word(), Link: p.link(cellAnchor(design, fault))}
}

// The anchors of a page's parts.

func faultAnchor(name string) string         { return "fault-" + safeID(name) }
func cellAnchor(design, fault string) string { return "cell-" + safeID(design) + "-" + safeID(fault) }

// safeID replaces characters that an ID must not have.
func safeID(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, s)
}
