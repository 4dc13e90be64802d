package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
)

// downtimes draws pauses, restarts and hangs on their lanes' lines.
func (d *drawing) downtimes() {
	for _, s := range d.t.Spans {
		l := d.lanes[s.Lane]
		if l == nil || !s.stops() || !d.axis.overlaps(s.From, s.Until) {
			continue
		}
		from, until := d.axis.x(s.From), d.axis.x(s.Until)
		fmt.Fprintf(&d.bars, `<rect x="%s" y="%s" width="%s" height="12" style="fill:url(#%s-fault);stroke:%s"><title>%s</title></rect>`+"\n",
			px(from), px(l.line-6), px(max(3, until-from)), safeID(d.o.ID), palette.Fault.Var(),
			escaped(fmt.Sprintf("%s: %s from %s to %s ms", s.Lane, s.Kind, Clock(s.From), Clock(s.Until))))
	}
}

// bar draws a box for a period, with the longest of the texts that fits.
func (d *drawing) bar(from, until time.Duration, y float64, box, tip string, texts ...string) {
	if !d.axis.overlaps(from, until) {
		return
	}
	x1, x2 := d.axis.x(from), d.axis.x(until)
	fmt.Fprintf(&d.bars, `<rect x="%s" y="%s" width="%s" height="%s" %s><title>%s</title></rect>`+"\n",
		px(x1), px(y), px(max(2, x2-x1)), px(barRow-3), box, escaped(tip))
	for _, text := range texts {
		if wide(text, 12)+8 <= x2-x1 {
			d.text(&d.bars, x1+5, y+14, "s", text)
			return
		}
	}
}

// beliefs draws, for each key of a process, what it believes, and below it what is true.
func (d *drawing) beliefs(l *lane) {
	truth := d.t.Truth()
	for row, key := range l.rows {
		top := l.line + 14 + 2*barRow*float64(row)
		d.text(&d.front, margin, top+14, "s", "believes")
		d.text(&d.front, margin, top+barRow+14, "s", "true on")
		for _, b := range d.t.Beliefs {
			if b.Process != l.name || b.Key != key {
				continue
			}
			name, short := "holds "+key, "holds "+key
			if b.Token != 0 {
				name += ", token " + d.token(b.Token)
				short += " " + d.token(b.Token)
			}
			full := "believes that it " + name
			tip := fmt.Sprintf("%s %s, %s to %s ms", b.who(), full, Clock(b.From), Clock(b.Until))
			if b.Goroutine > 0 {
				full, name, short = b.who()+" "+full, b.who()+" "+name, b.who()+" "+short
			}
			d.series(l.name, func(line, tint string) {
				d.bar(b.From, b.Until, top, fmt.Sprintf(`style="fill:%s;stroke:%s;stroke-width:1.5"`, tint, line),
					tip, full, name, short, "holds")
			})
		}
		for _, s := range truth {
			if s.Process == l.name && s.Key == key {
				d.stretch(s, top+barRow)
			}
		}
		for _, b := range d.t.Beliefs {
			if b.Process != l.name || b.Key != key {
				continue
			}
			for _, gap := range d.t.gaps(b, truth) {
				if d.axis.x(gap.until)-d.axis.x(gap.from) > 1 {
					tip := fmt.Sprintf("%s believes it, but it isn't so, %s to %s ms", b.Process, Clock(gap.from), Clock(gap.until))
					d.bar(gap.from, gap.until, top+barRow, `class="no"`, tip)
				}
			}
		}
	}
}

// stretch draws which servers have a process's key, hatched if they are no quorum.
func (d *drawing) stretch(s keyPeriod, y float64) {
	names, count := strings.Join(s.Servers, " "), fmt.Sprintf("%d/%d", len(s.Servers), len(d.t.Servers))
	d.series(s.Process, func(line, tint string) {
		box, texts := fmt.Sprintf(`style="fill:%s;stroke:%s"`, tint, line), []string{names + " (" + count + ")", names, count}
		if !s.Quorum {
			i := slices.Index(d.t.Processes, s.Process) % len(palette.Series)
			box = fmt.Sprintf(`style="fill:url(#%s-p%d);stroke:%s;stroke-dasharray:2 2"`, safeID(d.o.ID), max(0, i), line)
			texts = []string{"only " + names + " (" + count + ": no quorum)", "only " + names + " (" + count + ")", "only " + names, count}
		}
		d.bar(s.From, s.Until, y, box, fmt.Sprintf("%s's key stands on %s, %s to %s ms", s.Process, names, Clock(s.From), Clock(s.Until)), texts...)
	})
}

// tenures draws whose key a server has.
func (d *drawing) tenures(l *lane) {
	for _, n := range d.t.Tenures {
		if n.Server != l.name {
			continue
		}
		end := n.End
		if n.Open {
			end = "still there at the end"
		}
		d.series(n.Process, func(line, tint string) {
			d.bar(n.From, n.Until, l.line-barRow/2+1.5, fmt.Sprintf(`style="fill:%s;stroke:%s"`, tint, line),
				fmt.Sprintf("%s has %s's %s, %s to %s ms: %s", l.name, n.Process, n.Key, Clock(n.From), Clock(n.Until), end),
				n.Process+" has "+n.Key+endWords(n), n.Process+" has "+n.Key, n.Process)
		})
	}
}

func endWords(n tenure) string {
	switch {
	case n.Open || n.End == "":
		return ""
	case n.Taker != "":
		return ", deleted by " + n.Taker
	case n.End == "restart":
		return ", lost in the restart"
	default:
		return ", " + n.End
	}
}

func (d *drawing) access(a access) {
	l := d.lanes[fault.Resource]
	if !d.axis.shows(a.At) {
		return
	}
	x := d.axis.x(a.At)
	d.series(a.Process, func(line, tint string) {
		shape := fmt.Sprintf(`<rect x="%s" y="%s" width="11" height="11"`, px(x-5.5), px(l.line-5.5))
		if a.Op == "read" {
			shape = fmt.Sprintf(`<circle cx="%s" cy="%s" r="5"`, px(x), px(l.line))
		}
		if a.Refused {
			tint = palette.Paper.Var()
		} else if a.Op != "read" {
			tint = line
		}
		fmt.Fprintf(&d.front, `%s style="fill:%s;stroke:%s;stroke-width:2"/>`+"\n", shape, tint, line)
		if a.Refused {
			fmt.Fprintf(&d.front, `<path d="M%s %sl12 12m0 -12l-12 12" style="stroke:%s;stroke-width:2;fill:none"/>`+"\n", px(x-6), px(l.line-6), palette.Fault.Var())
		}
	})
}
