package timeline

import (
	"fmt"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
)

// message draws a request and its reply.
func (d *drawing) message(m message) {
	from, to := d.lanes[m.Process], d.lanes[m.Place]
	if from == nil || to == nil || !d.axis.shows(m.Sent) && !d.axis.shows(m.Arrived) {
		return
	}
	end := to.line
	if to.kind == ofServer {
		end -= barRow/2 - 1.5 // the upper edge of its bars, whose text is below
	}
	d.series(m.Process, func(line, _ string) {
		fmt.Fprintf(&d.wires, `<g style="stroke:%s"><title>%s</title>`, line, escaped(d.tooltip(m)))
		wire := func(class string, x1, y1, x2, y2 float64) {
			fmt.Fprintf(&d.wires, `<path class="msg%s" d="M%s %sL%s %s"/>`, class, px(x1), px(y1), px(x2), px(y2))
		}
		sent := d.axis.x(m.Sent)
		switch {
		case m.Arrived != never && m.Sent != never:
			x := d.axis.x(m.Arrived)
			wire("", sent, from.line, x, end)
			d.arrival(m, x, end, line)
		case m.Arrived == never && m.Received != never && m.Sent != never:
			// The log omits the arrival of a probe.
			wire("", sent, from.line, (sent+d.axis.x(m.Received))/2, end)
		case m.Arrived == never && m.Sent != never:
			// It did not arrive before the end of the log.
			x, y := sent+18, from.line+(end-from.line)*0.55
			wire("", sent, from.line, x, y)
			d.cross(x, y)
		}
		if m.Received != never {
			x := (sent + d.axis.x(m.Received)) / 2
			if m.Arrived != never {
				x = d.axis.x(m.Arrived)
			}
			wire(" rep", x, end, d.axis.x(m.Received), from.line)
		}
		if m.Missed != never && m.Arrived != never {
			wire(" rep", d.axis.x(m.Arrived), end, d.axis.x(m.Missed), from.line)
		}
		if m.Arrived != never && m.Lost == fault.Replies {
			x, y := d.axis.x(m.Arrived)+14, end+(from.line-end)*0.45
			wire(" rep", d.axis.x(m.Arrived), end, x, y)
			d.cross(x, y)
		}
		d.wires.WriteString("</g>\n")
	})
}

// arrival marks the execution of a request: a full circle, or an empty one if it was refused.
func (d *drawing) arrival(m message, x, y float64, line string) {
	fill := line
	if !m.ok() {
		fill = palette.Paper.Var()
	}
	fmt.Fprintf(&d.front, `<circle cx="%s" cy="%s" r="3.5" style="stroke:%s;fill:%s;stroke-width:1.5"><title>%s</title></circle>`+"\n", px(x), px(y), line, fill, escaped(d.tooltip(m)))
}

func (d *drawing) cross(x, y float64) {
	fmt.Fprintf(&d.wires, `<path class="msg" style="stroke-width:2" d="M%s %sl8 8m0 -8l-8 8"/>`, px(x-4), px(y-4))
}

// tooltip describes a message.
func (d *drawing) tooltip(m message) string {
	s := fmt.Sprintf("%s asks %s: %s", m.Process, m.Place, m.Op)
	if m.Sent != never {
		s += fmt.Sprintf(", sent %s ms", Clock(m.Sent))
	}
	switch {
	case m.Lost == fault.Requests:
		s += ", lost on the way"
	case m.Arrived != never:
		s += fmt.Sprintf(", executed %s ms", Clock(m.Arrived))
	}
	if m.Outcome != "" {
		s += ": " + m.Outcome
	}
	if m.Received != never {
		s += fmt.Sprintf(", reply received %s ms", Clock(m.Received))
	}
	if m.Lost == fault.Replies {
		s += ", the reply was lost"
	}
	if m.GaveUp != never {
		s += fmt.Sprintf(", given up %s ms", Clock(m.GaveUp))
	}
	return s
}
