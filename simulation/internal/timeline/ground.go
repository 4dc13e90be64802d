package timeline

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// ground draws the lanes and the axis.
func (d *drawing) ground() {
	for i, l := range d.order {
		if i%2 == 0 {
			fmt.Fprintf(&d.back, `<rect class="card" y="%s" width="%s" height="%s"/>`+"\n", px(l.y), px(d.width), px(l.height))
		}
		kind := map[laneKind]string{ofProcess: "process", ofResource: "", ofServer: "server"}[l.kind]
		if l.kind == ofProcess {
			d.series(l.name, func(line, _ string) {
				fmt.Fprintf(&d.back, `<rect x="0" y="%s" width="5" height="%s" style="fill:%s"/>`+"\n", px(l.y), px(l.height), line)
			})
		}
		d.text(&d.front, margin, l.line+5, "n", l.name)
		if kind != "" {
			d.text(&d.front, margin+wide(l.name, 14)+10, l.line+5, "s", kind)
		}
		fmt.Fprintf(&d.back, `<line class="lane" x1="%s" y1="%s" x2="%s" y2="%[2]s"/>`+"\n", px(gutter-6), px(l.line), px(d.axis.width+10))
	}
	for _, b := range d.axis.busy {
		d.text(&d.front, b.x, axisY-18, "s", momentText(b.from))
		step := b.step(46)
		if step == 0 {
			d.grid(b.x, axisY)
			continue
		}
		for at := b.from; at <= b.until; at += step {
			x := d.axis.x(at)
			d.grid(x, axisY)
			text := "+" + length(at-b.from)
			if at > b.from && x+wide(text, 12) < b.x+b.width+8 {
				d.text(&d.front, x-6, axisY-3, "s", text)
			}
		}
	}
}

// momentText writes a time for the axis, without trailing zeros: "1 004.758 ms".
func momentText(t time.Duration) string {
	s := strings.TrimRight(Clock(t), "0")
	return strings.TrimSuffix(s, ".") + " ms"
}

func (d *drawing) grid(x, top float64) {
	fmt.Fprintf(&d.back, `<line class="grid" x1="%[1]s" y1="%[2]s" x2="%[1]s" y2="%[3]s"/>`+"\n", px(x), px(top), px(d.bottom))
}

// breaks marks the quiet periods.
func (d *drawing) breaks() {
	const y = axisY
	for i := 1; i < len(d.axis.busy); i++ {
		left, right := d.axis.busy[i-1], d.axis.busy[i]
		from, until := left.x+left.width, right.x
		mid := (from + until) / 2
		text := length(right.from - left.until)
		d.text(&d.front, mid-wide(text, 12)/2, y-3, "s", text)
		var zig bytes.Buffer
		for j, at := 0, y+2; at < d.bottom; j, at = j+1, at+8 {
			fmt.Fprintf(&zig, "%s,%s ", px(mid-3+6*float64(j%2)), px(at))
		}
		fmt.Fprintf(&d.wires, `<g><title>%s quiet</title><rect class="brk" x="%s" y="%s" width="14" height="%s"/><polyline class="zig" points="%s"/></g>`+"\n",
			escaped(text), px(mid-7), px(y+2), px(d.bottom-y-2), strings.TrimSpace(zig.String()))
	}
}

// series calls use with a process's colours.
func (d *drawing) series(process string, use func(line, tint string)) {
	i := slices.Index(d.t.Processes, process)
	if i < 0 {
		use(palette.Soft.Var(), palette.Faint.Var())
		return
	}
	s := palette.Series[i%len(palette.Series)]
	use(s.Line.Var(), s.Tint.Var())
}

// violations draws a line through all lanes for each violation, and its name above them.
func (d *drawing) violations() {
	for _, o := range d.t.Overlaps() {
		if !d.axis.overlaps(o.From, o.Until) {
			continue
		}
		from, until, first, second := d.axis.x(o.From), d.axis.x(o.Until), d.lanes[processOf(o.First)], d.lanes[processOf(o.Second)]
		if first.y > second.y {
			first, second = second, first
		}
		fmt.Fprintf(&d.back, `<rect class="both" x="%s" y="%s" width="%s" height="%s"/>`+"\n",
			px(from), px(first.y), px(max(1, until-from)), px(second.y+second.height-first.y))
	}
	levels := settle(d.alarms)
	for _, b := range d.alarms {
		y := axisY + 8 + labelRow*float64(levels-b.level)
		fmt.Fprintf(&d.front, `<line class="vl" x1="%[1]s" y1="%[2]s" x2="%[1]s" y2="%[3]s"/>`+"\n", px(b.x), px(y-10), px(d.bottom))
		d.segments(b, y)
	}
}

// footer writes the sentences below the lanes and returns their height.
func (d *drawing) footer() float64 {
	y := d.bottom + 22
	write := func(class, text string) {
		for _, l := range wrap.Lines(text, int((min(d.width, 1400)-2*margin)/(letter*13)), "", "") {
			d.text(&d.front, margin, y, class, l)
			y += 18
		}
	}
	story := story{t: d.t, token: d.token}
	for _, v := range d.t.Violations {
		write("al", fmt.Sprintf("!! %s ms: %s: %s", Clock(v.At), v.Kind, story.short(v.Text)))
	}
	for _, s := range d.t.Summary() {
		class := ""
		if strings.HasPrefix(s, "!! ") {
			class = "al"
		}
		write(class, s)
	}
	y += 4
	if d.axis.cropped {
		write("fa", fmt.Sprintf("The drawing shows the part of the run from %s to %s ms; it ended at %s ms.", Clock(d.axis.from), Clock(d.axis.until), Clock(d.t.End)))
	}
	write("s", "Lines: requests (solid) and replies (dotted); a full dot was executed, an empty one refused, a cross never arrived. "+
		"A red dashed box: believed, but on too few servers. Hatched: stopped, or no quorum. Zigzags replace quiet periods; each period between them has a scale of its own.")
	n := 0
	for _, m := range d.t.Messages {
		if m.watching() {
			n++
		}
	}
	if n > 0 {
		write("s", fmt.Sprintf("Not drawn: %d messages that only monitor the servers (probe, tick).", n))
	}
	for _, v := range d.vains {
		write("s", fmt.Sprintf("Of %d tries in a row of %s that fail, only the first and the last are drawn.", v.n, v.process))
	}
	return y - d.bottom
}
