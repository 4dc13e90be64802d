package timeline

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/timeline/palette"
)

// gaveUp puts the end of waiting before what follows from it.
const gaveUp = 0

// label says what the lanes' labels are. What a bar shows is written in the bar.
func (d *drawing) label() {
	t := d.t
	for _, m := range t.Marks {
		if !d.hidden(m.Lane, m.At) {
			d.labelMark(m)
		}
	}
	for _, v := range d.vains {
		d.note(v.process, v.until, 0, fmt.Sprintf("%d times in vain", v.n-2), "s")
	}
	type sending struct {
		process, op string
		at          time.Duration
	}
	fans := map[sending][]string{}
	quits := map[sending][]string{}
	lines := map[sending]int{}
	var fanned, quitted []sending
	for _, m := range t.Messages {
		if !d.draws(m) {
			continue
		}
		if s := (sending{m.Process, m.Op, m.Sent}); m.Sent != None {
			if fans[s] == nil {
				fanned = append(fanned, s)
				lines[s] = m.Line
			}
			fans[s] = append(fans[s], m.Place)
		}
		if s := (sending{m.Process, m.Op, m.GaveUp}); m.GaveUp != None {
			if quits[s] == nil {
				quitted = append(quitted, s)
			}
			quits[s] = append(quits[s], m.Place)
		}
	}
	// "asks for k; → A B" rather than "asks for k; acquire → A B".
	said := map[sending]bool{}
	for _, m := range t.Marks {
		switch m.Kind {
		case Asked:
			said[sending{m.Lane, "acquire", m.At}] = true
		case Released:
			said[sending{m.Lane, "release", m.At}] = true
		}
	}
	for _, s := range fanned {
		text := s.op
		if places := fans[s]; places[0] != Resource {
			text += " → " + strings.Join(places, " ")
		}
		if said[s] {
			text = strings.TrimPrefix(text, s.op+" ")
		}
		d.note(s.process, s.at, lines[s], text, "s")
	}
	for _, s := range quitted {
		d.note(s.process, s.at, gaveUp, "gives up on "+strings.Join(quits[s], " "), "s")
	}
	for _, s := range t.Spans {
		d.labelSpan(s)
	}
	for _, a := range t.Accesses {
		text := fmt.Sprintf("%s's %s: version %d", a.Process, a.Op, a.Version)
		class := "s"
		if a.Refused {
			text, class = fmt.Sprintf("%s's %s: REFUSED", a.Process, a.Op), "fa"
		}
		if a.Token != 0 {
			text += ", token " + d.token(a.Token)
		}
		d.note(Resource, a.At, a.Line, text, class)
	}
	for _, v := range t.Violations {
		if !d.axis.shows(v.At) {
			continue
		}
		d.alarms = join(d.alarms, d.axis.x(v.At), part{line: v.Line, text: "!! " + strings.ToUpper(v.Kind), class: "al"})
	}
	for _, o := range t.Overlaps() {
		if !d.axis.shows(o.From) {
			continue
		}
		text := fmt.Sprintf("both believe that they hold %s, for %s", o.Key, length(o.Until-o.From))
		d.alarms = join(d.alarms, d.axis.x(o.From), part{line: math.MaxInt, text: text, class: "al"})
	}
	for _, b := range t.Beliefs {
		if b.End == "ran out" {
			d.note(b.Process, b.Until, b.Line, "validity is over", "s")
		}
	}
}

func (d *drawing) labelMark(m Mark) {
	text, class := "", "s"
	switch m.Kind {
	case Asked:
		text = "asks for " + m.Key
	case Acquired:
		text = "GETS " + m.Key
	case Refused:
		text = "refused: " + strings.TrimPrefix(reason(m.Words), "lock is ")
	case Looked:
		text = "looks: " + length(m.Validity) + " left"
	case Extended:
		text = "extended to " + length(m.Validity)
	case Released:
		text = "releases " + m.Key
	case Noted:
		text = m.Words
	case Distrusts:
		text = "distrusts " + m.Words
	case FellBack:
		text, class = "no longer waits for replicas", "fa"
	case Crashed:
		text, class = "CRASHES", "fa"
	case Back:
		text, class = "is back", "fa"
	case Gone:
		text, class = "has "+m.Key+" no more", "fa"
	case Suffered:
		text, class = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(suffering(m), m.Lane), "'s")), "fa"
	}
	d.note(m.Lane, m.At, m.Line, text, class)
}

func (d *drawing) labelSpan(s Span) {
	lasting := ""
	if s.Known && s.Until < d.t.End {
		lasting = " " + length(s.Until-s.From)
	}
	if s.Words != "" {
		lasting += " (" + s.Words + ")"
	}
	switch s.Kind {
	case "pause":
		d.note(s.Lane, s.From, s.Line, "PAUSED"+lasting, "fa")
		d.runsAgain(s)
	case "suspend":
		d.note(s.Lane, s.From, s.Line, "SUSPENDED"+lasting, "fa")
		d.runsAgain(s)
	case "restart":
		d.note(s.Lane, s.From, s.Line, "CRASHES, down"+lasting, "fa")
	case "reboot":
		d.note(s.Lane, s.From, s.Line, "CRASHES, starts anew", "fa")
	case "failover":
		d.note(s.Lane, s.From, s.Line, "FAILS OVER to a replica"+bracketed(s.Words), "fa")
	case "hang":
		d.note(s.Lane, s.From, s.Line, "HANGS"+lasting, "fa")
	default:
		words := map[string]string{"cut": "cut off from ", "lose": "loses messages with ", "delay": "slow to reach ", "reconnect": "loses its connection to "}[s.Kind]
		if words == "" {
			words = s.Kind + " "
		}
		name := s.Place
		if name == "*" || name == "" {
			name = "every server"
		}
		way := ""
		if s.Way != Neither {
			way = " (" + s.Way.plural() + ")"
		}
		for _, p := range d.t.Processes {
			if s.Lane == p || s.Lane == "*" || s.Lane == "" {
				d.note(p, s.From, s.Line, words+name+way+lasting, "fa")
			}
		}
	}
}

func bracketed(words string) string {
	if words == "" {
		return ""
	}
	return " (" + words + ")"
}

func (d *drawing) runsAgain(s Span) {
	if s.Until < d.t.End {
		d.note(s.Lane, s.Until, s.Line, "runs again", "fa")
	}
}

// draw fills the layers.
func (d *drawing) draw() {
	d.head()
	d.ground()
	for _, m := range d.t.Messages {
		if d.draws(m) {
			d.message(m)
		}
	}
	d.downtimes()
	for _, l := range d.order {
		switch l.kind {
		case ofProcess:
			d.beliefs(l)
		case ofServer:
			d.tenures(l)
		}
		d.labels(l)
	}
	for _, a := range d.t.Accesses {
		d.access(a)
	}
	d.breaks()
	d.violations()
}

func (d *drawing) head() {
	if d.o.Title != "" {
		d.text(&d.front, margin, 26, "h", d.o.Title)
	}
}

// ground is the lanes and the axis.
func (d *drawing) ground() {
	for i, l := range d.order {
		if i%2 == 0 {
			fmt.Fprintf(&d.back, `<rect class="card" y="%s" width="%s" height="%s"/>`+"\n", px(l.y), px(d.width), px(l.height))
		}
		kind := map[laneKind]string{ofProcess: "process", ofResource: "", ofServer: "instance"}[l.kind]
		if l.kind == ofProcess {
			d.series(l.name, func(line, _ string) {
				fmt.Fprintf(&d.back, `<rect x="0" y="%s" width="5" height="%s" style="fill:%s"/>`+"\n", px(l.y), px(l.height), line)
			})
		}
		d.text(&d.front, margin, l.line+5, "n", l.name)
		if kind != "" {
			d.text(&d.front, margin+wide(l.name, 14)+10, l.line+5, "s", kind)
		}
		fmt.Fprintf(&d.back, `<line class="life" x1="%s" y1="%s" x2="%s" y2="%[2]s"/>`+"\n", px(gutter-6), px(l.line), px(d.axis.width+10))
	}
	axisY := d.axisY()
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

func (d *drawing) axisY() float64 {
	if d.o.Title != "" {
		return 72
	}
	return 48
}

// momentText is a time for the axis: "1 004.758 ms", without zeros that say nothing.
func momentText(t time.Duration) string {
	s := strings.TrimRight(Clock(t), "0")
	return strings.TrimSuffix(s, ".") + " ms"
}

func (d *drawing) grid(x, top float64) {
	fmt.Fprintf(&d.back, `<line class="grid" x1="%[1]s" y1="%[2]s" x2="%[1]s" y2="%[3]s"/>`+"\n", px(x), px(top), px(d.bottom))
}

// breaks marks the stretches of the axis that are cut short.
func (d *drawing) breaks() {
	y := d.axisY()
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
		fmt.Fprintf(&d.wires, `<g><title>%s in which nothing happens</title><rect class="brk" x="%s" y="%s" width="14" height="%s"/><polyline class="zig" points="%s"/></g>`+"\n",
			escaped(text), px(mid-7), px(y+2), px(d.bottom-y-2), strings.TrimSpace(zig.String()))
	}
}

// series gives a process's colours.
func (d *drawing) series(process string, use func(line, tint string)) {
	i := slices.Index(d.t.Processes, process)
	if i < 0 {
		use(palette.Soft.Var(), palette.Faint.Var())
		return
	}
	s := palette.Series[i%len(palette.Series)]
	use(s.Line.Var(), s.Tint.Var())
}

// message draws a request and its answer.
func (d *drawing) message(m Message) {
	from, to := d.lanes[m.Process], d.lanes[m.Place]
	if from == nil || to == nil || !d.axis.shows(m.Sent) && !d.axis.shows(m.Arrived) {
		return
	}
	end := to.line
	if to.kind == ofServer {
		end -= barRow/2 - 1.5 // the upper edge of its bars, whose text is below
	}
	d.series(m.Process, func(line, _ string) {
		fmt.Fprintf(&d.wires, `<g style="stroke:%s"><title>%s</title>`, line, escaped(d.tell(m)))
		wire := func(class string, x1, y1, x2, y2 float64) {
			fmt.Fprintf(&d.wires, `<path class="msg%s" d="M%s %sL%s %s"/>`, class, px(x1), px(y1), px(x2), px(y2))
		}
		sent := d.axis.x(m.Sent)
		switch {
		case m.Arrived != None && m.Sent != None:
			x := d.axis.x(m.Arrived)
			wire("", sent, from.line, x, end)
			d.arrival(m, x, end, line)
		case m.Arrived == None && m.Heard != None && m.Sent != None:
			// A probe's arrival isn't in the trace.
			wire("", sent, from.line, (sent+d.axis.x(m.Heard))/2, end)
		case m.Arrived == None && m.Sent != None:
			// It never arrived, as far as the trace goes.
			x, y := sent+18, from.line+(end-from.line)*0.55
			wire("", sent, from.line, x, y)
			d.cross(x, y)
		}
		if m.Heard != None {
			x := (sent + d.axis.x(m.Heard)) / 2
			if m.Arrived != None {
				x = d.axis.x(m.Arrived)
			}
			wire(" rep", x, end, d.axis.x(m.Heard), from.line)
		}
		if m.Missed != None && m.Arrived != None {
			wire(" rep", d.axis.x(m.Arrived), end, d.axis.x(m.Missed), from.line)
		}
		if m.Arrived != None && m.Lost == Reply {
			x, y := d.axis.x(m.Arrived)+14, end+(from.line-end)*0.45
			wire(" rep", d.axis.x(m.Arrived), end, x, y)
			d.cross(x, y)
		}
		d.wires.WriteString("</g>\n")
	})
}

// arrival marks where a request was carried out: a full circle, or an empty one
// where it was refused.
func (d *drawing) arrival(m Message, x, y float64, line string) {
	fill := line
	if !m.ok() {
		fill = palette.Paper.Var()
	}
	fmt.Fprintf(&d.front, `<circle cx="%s" cy="%s" r="3.5" style="stroke:%s;fill:%s;stroke-width:1.5"><title>%s</title></circle>`+"\n", px(x), px(y), line, fill, escaped(d.tell(m)))
}

func (d *drawing) cross(x, y float64) {
	fmt.Fprintf(&d.wires, `<path class="msg" style="stroke-width:2" d="M%s %sl8 8m0 -8l-8 8"/>`, px(x-4), px(y-4))
}

// tell says a message in words.
func (d *drawing) tell(m Message) string {
	s := fmt.Sprintf("%s asks %s: %s", m.Process, m.Place, m.Op)
	if m.Sent != None {
		s += fmt.Sprintf(", sent %s ms", Clock(m.Sent))
	}
	switch {
	case m.Lost == Request:
		s += ", lost on the way"
	case m.Arrived != None:
		s += fmt.Sprintf(", carried out %s ms", Clock(m.Arrived))
	}
	if m.Outcome != "" {
		s += ": " + m.Outcome
	}
	if m.Heard != None {
		s += fmt.Sprintf(", heard %s ms", Clock(m.Heard))
	}
	if m.Lost == Reply {
		s += ", the answer was lost"
	}
	if m.GaveUp != None {
		s += fmt.Sprintf(", given up %s ms", Clock(m.GaveUp))
	}
	return s
}

// downtimes draws pauses, restarts and hangs on their lanes' lines.
func (d *drawing) downtimes() {
	for _, s := range d.t.Spans {
		l := d.lanes[s.Lane]
		if l == nil || !s.stops() {
			continue
		}
		if s.Until < d.axis.from() || s.From > d.axis.until() {
			continue
		}
		from, until := d.axis.x(s.From), d.axis.x(s.Until)
		fmt.Fprintf(&d.bars, `<rect x="%s" y="%s" width="%s" height="12" style="fill:url(#%s-fault);stroke:%s"><title>%s</title></rect>`+"\n",
			px(from), px(l.line-6), px(max(3, until-from)), safeID(d.o.ID), palette.Fault.Var(),
			escaped(fmt.Sprintf("%s: %s from %s to %s ms", s.Lane, s.Kind, Clock(s.From), Clock(s.Until))))
	}
}

// bar is a box from one time to another with the longest of some texts that fits.
func (d *drawing) bar(from, until time.Duration, y float64, box, tip string, texts ...string) {
	if until < d.axis.from() || from > d.axis.until() {
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

// beliefs draws, for each key of a process, what it believes above what is true.
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
			d.series(l.name, func(line, tint string) {
				d.bar(b.From, b.Until, top, fmt.Sprintf(`style="fill:%s;stroke:%s;stroke-width:1.5"`, tint, line),
					fmt.Sprintf("%s believes that it %s, %s to %s ms", l.name, name, Clock(b.From), Clock(b.Until)),
					"believes that it "+name, name, short, "holds")
			})
		}
		for _, s := range truth {
			if s.Process == l.name && s.Key == key {
				d.stretch(s, top+barRow)
			}
		}
		for _, b := range d.t.Beliefs {
			if b.Process == l.name && b.Key == key {
				d.untrue(b, truth, top+barRow)
			}
		}
	}
}

// stretch draws on which instances a process's key stands: hatched if they are
// no quorum.
func (d *drawing) stretch(s Stretch, y float64) {
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

// untrue marks where a belief has no quorum behind it.
func (d *drawing) untrue(b Belief, truth []Stretch, y float64) {
	at := b.From
	gap := func(until time.Duration) {
		if until > at && d.axis.x(until)-d.axis.x(at) > 1 {
			d.bar(at, until, y, `class="no"`, fmt.Sprintf("%s believes it, but it isn't so, %s to %s ms", b.Process, Clock(at), Clock(until)))
		}
	}
	for _, s := range truth { // in the order of time
		if s.Quorum && b.is(s) && s.Until > at && s.From < b.Until {
			gap(s.From)
			at = max(at, s.Until)
		}
	}
	gap(b.Until)
}

// tenures draws whose key an instance has.
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

func endWords(n Tenure) string {
	switch {
	case n.Open || n.End == "":
		return ""
	case n.End == "restart":
		return ", lost in the restart"
	default:
		return ", " + n.End
	}
}

func (d *drawing) access(a Access) {
	l := d.lanes[Resource]
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

// labels writes a lane's labels, each with a line down to its moment.
func (d *drawing) labels(l *lane) {
	for _, b := range l.labels {
		y := l.y + 8 + labelRow*float64(l.levels-b.level)
		fmt.Fprintf(&d.back, `<line class="lead" x1="%[1]s" y1="%[2]s" x2="%[1]s" y2="%[3]s"/>`+"\n", px(b.x), px(y-10), px(l.line))
		d.parts(b, y-1)
	}
}

// parts writes a label whose parts differ in weight.
func (d *drawing) parts(b label, y float64) {
	fmt.Fprintf(&d.front, `<text class="halo" x="%s" y="%s">`, px(b.x+3), px(y))
	for i, p := range b.parts {
		if i > 0 {
			d.front.WriteString(`<tspan class="s">; </tspan>`)
		}
		fmt.Fprintf(&d.front, `<tspan class="%s">%s</tspan>`, p.class, escaped(p.text))
	}
	d.front.WriteString("</text>\n")
}

// violations draws a line through all lanes where a check has found something, and
// below the lanes what it was.
func (d *drawing) violations() {
	for _, o := range d.t.Overlaps() {
		if o.Until < d.axis.from() || o.From > d.axis.until() {
			continue
		}
		from, until, first, second := d.axis.x(o.From), d.axis.x(o.Until), d.lanes[o.First], d.lanes[o.Second]
		if first.y > second.y {
			first, second = second, first
		}
		fmt.Fprintf(&d.back, `<rect class="both" x="%s" y="%s" width="%s" height="%s"/>`+"\n",
			px(from), px(first.y), px(max(1, until-from)), px(second.y+second.height-first.y))
	}
	levels := settle(d.alarms)
	for _, b := range d.alarms {
		y := d.axisY() + 8 + labelRow*float64(levels-b.level)
		fmt.Fprintf(&d.front, `<line class="vl" x1="%[1]s" y1="%[2]s" x2="%[1]s" y2="%[3]s"/>`+"\n", px(b.x), px(y-10), px(d.bottom))
		d.parts(b, y)
	}
}

// footer writes the sentences below the lanes, and gives how high they are.
func (d *drawing) footer() float64 {
	y := d.bottom + 22
	write := func(class, text string) {
		for _, l := range wrap(text, int((min(d.width, 1400)-2*margin)/(letter*13))) {
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
		write("fa", fmt.Sprintf("Drawn is the part of the run from %s to %s ms; it ended at %s ms.", Clock(d.axis.from()), Clock(d.axis.until()), Clock(d.t.End)))
	}
	write("s", "Lines: requests (whole) and answers (dotted); a full dot was carried out, an empty one refused, a cross never arrived. "+
		"A red dashed box: believed, but on too few instances. Hatched: stopped, or no quorum. Zigzags cut out stretches in which nothing happens; each stretch between has a scale of its own.")
	n := 0
	for _, m := range d.t.Messages {
		if m.watching() && !d.o.Watching {
			n++
		}
	}
	if n > 0 {
		write("s", fmt.Sprintf("Not drawn: %d messages that only look after the servers (probe, tick).", n))
	}
	for _, v := range d.vains {
		write("s", fmt.Sprintf("Of %d tries in a row that %s makes in vain, only the first and the last are drawn.", v.n, v.process))
	}
	return y - d.bottom
}

// draws reports whether a message is drawn.
func (d *drawing) draws(m Message) bool {
	return (d.o.Watching || !m.watching()) && !d.hidden(m.Process, m.Sent)
}

// hidden reports whether a process does at a moment what it has done before.
func (d *drawing) hidden(process string, at time.Duration) bool {
	return slices.ContainsFunc(d.vains, func(v vain) bool { return v.hides(process, at) })
}

func (d *drawing) text(to *bytes.Buffer, x, y float64, class, text string) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(to, `<text x="%s" y="%s"%s>%s</text>`+"\n", px(x), px(y), class, escaped(text))
}
