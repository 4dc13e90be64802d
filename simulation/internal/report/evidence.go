package report

import (
	"fmt"
	"strconv"
	"strings"
)

// faultView has the details of a column.
type faultView struct {
	Axis
	Anchor string
	Cells  []evidenceView
}

// evidenceView has the details of a cell.
type evidenceView struct {
	Design, Anchor, Interval string
	Cell
	Counts  []kindCount
	Picture int // of the page's data, -1 if there is none
}

type kindCount struct {
	Name  string
	Runs  int
	First string // seed, "" if it isn't known
}

// Class is the CSS class of a cell.
func (c Cell) Class() string {
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

// cells collects the details of each cell that was played, by fault.
func (p *page) cells(r runs) {
	for j, fault := range p.Matrix.Faults {
		f := faultView{Axis: fault, Anchor: "fault-" + safeID(fault.Name)}
		for i, design := range p.Matrix.Designs {
			if c := p.Matrix.At(i, j); c.Runs > 0 {
				f.Cells = append(f.Cells, evidenceView{
					Design: design.Name, Anchor: cellAnchor(design.Name, fault.Name), Interval: c.interval(),
					Cell: c, Counts: c.counts(), Picture: r.index(design.Name, fault.Name),
				})
			}
		}
		p.Faults = append(p.Faults, f)
	}
}

// interval says how often there was a violation, and how sure that is.
func (c Cell) interval() string {
	if c.Violated > 0 {
		return fmt.Sprintf("%s of %s runs: %s", grouped(int64(c.Violated)), grouped(int64(c.Runs)), c.intervalText())
	}
	_, high := c.Interval()
	return fmt.Sprintf("none of %s runs: at most %s %% is likely", grouped(int64(c.Runs)), exact(high))
}

// counts are the kinds of violations, with their first seeds.
func (c Cell) counts() (all []kindCount) {
	for _, kind := range c.kinds() {
		count := kindCount{Name: kind, Runs: c.Kinds[kind]}
		if seed, known := c.First[kind]; known {
			count.First = strconv.FormatUint(seed, 10)
		}
		all = append(all, count)
	}
	return all
}

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
