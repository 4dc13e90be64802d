package timeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

const (
	smallLeft = 68.0 // left of the axis: the lanes' names
	wideLeft  = 92.0
	rowHeight = 15.0 // of a line of text
	barHeight = 16.0
	// titleLetters is how many letters of a title fit into a line.
	titleLetters = 44

	// fewBeliefs: a small picture shows the whole of a run with up to so many beliefs. Of a longer
	// run it shows the time before the first violation.
	fewBeliefs = 4
)

// plot draws a run: which processes believed that they held the lock or were stopped, whose key
// the servers had, what reached the resource, the faults and the violations. A wide one also has
// the messages, where a process's key really was, and a text on everything under the pointer.
type plot struct {
	*drawing.Canvas // its Height is where the next thing is drawn
	Axis
	t     *Timeline
	wide  bool
	about []string // kinds of violations to show; nil: all
	token func(fencing.Token) string
	truth []keyPeriod
	right float64
	lanes []Lane
}

// Lane is a process, the resource or a server on a wide picture.
type Lane struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "process", "resource" or "server"
	// Y and Height are its strip, and Line is where its messages begin and end.
	Y      float64 `json:"y"`
	Height float64 `json:"height"`
	Line   float64 `json:"line"`

	rows map[string]float64 // the y of what a process believes, by key
}

// Small draws the run on a picture of the usual width, below what it has and below a title. With
// kinds of violations, it shows only those.
func (t *Timeline) Small(c *drawing.Canvas, title string, kinds ...string) {
	p := &plot{Canvas: c, t: t, about: kinds, token: t.tokens(), truth: t.Truth(), right: drawing.Width - 8}
	moments := t.moments(false)
	from, until := p.window(moments)
	width := p.right - smallLeft
	p.Axis = newAxis(moments, from, until, smallLeft, width, min(3, width/4/float64(len(moments)+1)))
	for _, line := range wrap.Lines(title, titleLetters, "", "") {
		if line != "" {
			c.Height += 17
			c.Text("h", 0, c.Height-3, line)
		}
	}
	c.Desc = strings.TrimSpace(c.Desc + " " + title + " " + strings.Join(t.Summary(), " "))
	p.draw()
}

// Wide draws all of the run on an empty picture. Without an axis it makes one.
func (t *Timeline) Wide(c *drawing.Canvas, axis Axis) (Axis, []Lane) {
	p := &plot{Canvas: c, t: t, wide: true, token: t.tokens(), truth: t.Truth(), Axis: axis}
	if len(axis) == 0 {
		moments := t.moments(true)
		each := min(13, 5000/float64(len(moments)+1))
		p.Axis = newAxis(moments, 0, t.End, wideLeft, 700+each*float64(len(slices.Compact(slices.Sorted(slices.Values(moments))))), each)
	}
	p.right = p.Axis[len(p.Axis)-1].X
	c.Width, c.Desc = p.right+30, strings.Join(t.Summary(), " ")
	p.draw()
	return p.Axis, p.lanes
}

func (p *plot) draw() {
	top := p.captions(p.alarms(), 2)
	p.captions(p.faults(), 3)
	p.Height += 4
	for _, name := range p.t.Processes {
		if p.wide || p.active(name) {
			p.process(name)
		}
	}
	if p.t.UsesResource {
		p.resource()
	}
	p.servers()
	if p.wide {
		p.messages()
		p.marks()
	}
	bottom := p.Height
	p.ticks()
	p.Under(func() { p.across(top, bottom) })
}

// violations returns the first of each kind that is shown.
func (p *plot) violations() []Violation {
	var first []Violation
	for _, v := range p.t.Violations {
		if (len(p.about) == 0 || slices.Contains(p.about, v.Kind)) && !slices.ContainsFunc(first, func(f Violation) bool { return f.Kind == v.Kind }) {
			first = append(first, v)
		}
	}
	return first
}

// window returns the part of the run that a small picture shows.
func (p *plot) window(moments []time.Duration) (from, until time.Duration) {
	beliefs, violated := p.t.Beliefs, p.violations()
	switch {
	case len(beliefs) > fewBeliefs && len(violated) > 0:
		at := violated[0].At
		before := slices.DeleteFunc(slices.Clone(beliefs), func(b belief) bool { return b.From > at })
		from, until = at, at
		for _, b := range before[max(0, len(before)-3):] {
			from, until = min(from, b.From), max(until, b.Until)
		}
		until = max(at, min(until, at+(at-from)/3))
	case len(beliefs) > fewBeliefs:
		from, until = beliefs[0].From, beliefs[0].Until
		for _, b := range beliefs[:fewBeliefs] {
			from, until = min(from, b.From), max(until, b.Until)
		}
	case len(moments) > 0:
		from, until = slices.Min(moments), slices.Max(moments)
	}
	until = min(until, p.t.End)
	if until <= from {
		from, until = max(0, from-time.Second), from+time.Second
	}
	margin := (until - from) / 50
	return max(0, from-margin), until + margin
}

// active reports whether a process does something in the window.
func (p *plot) active(name string) bool {
	return slices.ContainsFunc(p.t.Events, func(m laneEvent) bool {
		return m.Lane == name && m.Kind != simulation.Started && m.Kind != simulation.Ended && p.shows(m.At)
	}) || slices.ContainsFunc(p.t.Beliefs, func(b belief) bool { return b.Process == name && p.overlaps(b.From, b.Until) }) ||
		slices.ContainsFunc(p.t.Accesses, func(a access) bool { return a.Process == name && p.shows(a.At) })
}

// lane begins a lane, with its name and its line.
func (p *plot) lane(name, kind string, height, line float64) *Lane {
	p.lanes = append(p.lanes, Lane{Name: name, Kind: kind, Y: p.Height, Height: height, Line: p.Height + line, rows: map[string]float64{}})
	l := &p.lanes[len(p.lanes)-1]
	p.Under(func() {
		if p.wide && len(p.lanes)%2 == 1 {
			p.Box("strip", 0, l.Y, p.Width, height)
		}
		p.Box("lane", p.left(), l.Line-0.5, p.right-p.left(), 1)
	})
	if p.wide || kind != "server" {
		p.Text("n", 0, l.Line+4, name)
	}
	p.Height += height
	return l
}

func (p *plot) left() float64 { return p.Axis[0].X }

// bar draws a period, with the longest of the texts that fits.
func (p *plot) bar(class string, from, until time.Duration, y, h float64, tip, textClass string, texts ...string) {
	if !p.overlaps(from, until) {
		return
	}
	x1, x2 := p.x(from), p.x(until)
	p.tip(p.Box(class, x1, y, x2-x1, h), "%s, %s to %s ms", tip, Clock(from), Clock(until))
	for _, text := range texts {
		if drawing.Wide("n", text) <= x2-x1-6 {
			p.Text(textClass, x1+4, y+h-3.5, text)
			return
		}
	}
}

// tip is the text under the pointer, on a wide picture.
func (p *plot) tip(s *drawing.Shape, format string, args ...any) {
	if p.wide {
		s.Tip = fmt.Sprintf(format, args...)
	}
}

// series is a process's class: with letter b for bars, d for dots, l for lines, o for open dots.
func (p *plot) series(letter, process string) string {
	return fmt.Sprintf("%s%d", letter, max(0, slices.Index(p.t.Processes, process))%len(drawing.Series))
}

// process draws what a process believes, when it is stopped and, on a wide picture, on which
// servers its keys are.
func (p *plot) process(name string) {
	stops := slices.DeleteFunc(slices.Clone(p.t.Spans), func(s Span) bool {
		return s.Lane != name || !slices.Contains(stopped, s.Kind) || !p.overlaps(s.From, s.Until)
	})
	keys := p.t.keysOf(name)
	stopY, height := p.Height+4, 30+36*float64(max(1, len(keys)))
	if !p.wide {
		stopY, height = p.Height+22, 24
		if len(stops) > 0 {
			height += 17
		}
	}
	l := p.lane(name, "process", height, 12)
	for i, key := range keys {
		if l.rows[key] = l.Y + 4; p.wide {
			l.rows[key] = l.Y + 24 + 36*float64(i)
			p.Text("s", 0, l.rows[key]+12, "believes")
			p.Text("s", 0, l.rows[key]+30, "true on")
		}
	}
	p.beliefs(l)
	for _, s := range stops {
		word := spanKinds[s.Kind].word
		p.bar("wait", s.From, s.Until, stopY, rowHeight, name+" is "+word, "fa", word+" for "+length(s.Until-s.From), word)
	}
}

// keysOf lists the keys that a process had or believed to have.
func (t *Timeline) keysOf(process string) (keys []string) {
	for _, b := range t.Beliefs {
		if b.Process == process && !slices.Contains(keys, b.Key) {
			keys = append(keys, b.Key)
		}
	}
	for _, n := range t.Tenures {
		if n.Process == process && !slices.Contains(keys, n.Key) {
			keys = append(keys, n.Key)
		}
	}
	return keys
}

// beliefs draws what a process believes, and a dashed box around what isn't so.
func (p *plot) beliefs(l *Lane) {
	for _, s := range p.truth {
		if p.wide && s.Process == l.Name {
			p.held(s, l.rows[s.Key]+18)
		}
	}
	for _, b := range p.t.Beliefs {
		if b.Process != l.Name || !p.overlaps(b.From, b.Until) {
			continue
		}
		what, who := "the lock", ""
		if p.wide {
			what = b.Key
		}
		if b.Goroutine > 0 {
			who = b.who() + " "
		}
		texts := []string{who + "holds " + what, "holds"}
		if b.Token != 0 {
			token := ", token " + p.token(b.Token)
			texts = []string{who + "holds " + what + token, who + "holds" + token, texts[0], texts[1]}
		}
		y := l.rows[b.Key]
		p.bar(p.series("b", l.Name), b.From, b.Until, y, barHeight, b.who()+" believes that it "+strings.TrimPrefix(texts[0], who), "", texts...)
		if p.wide {
			y += 18 // the box is around what is true
		}
		for _, gap := range p.t.gaps(b, p.truth) {
			if p.x(gap.until)-p.x(gap.from) > 3 {
				p.bar("un", gap.from, gap.until, y, barHeight, b.who()+" believes it, but its key isn't on a quorum", "")
			}
		}
	}
}

// held draws which servers have a process's key.
func (p *plot) held(s keyPeriod, y float64) {
	class, names := p.series("b", s.Process), strings.Join(s.Servers, " ")
	texts := []string{fmt.Sprintf("%s (%d of %d)", names, len(s.Servers), len(p.t.Servers)), names}
	if !s.Quorum {
		class = p.series("o", s.Process) + " x2"
		texts = []string{"only " + names + ": no quorum", "only " + names, names}
	}
	p.bar(class, s.From, s.Until, y, barHeight, s.Process+"'s "+s.Key+" is on "+names, "", texts...)
}

// resource draws the operations at the resource.
func (p *plot) resource() {
	var list []caption
	for _, a := range p.t.Accesses {
		class, text := "", a.who()+" writes"
		switch {
		case !p.shows(a.At):
			continue
		case a.Refused:
			class, text = "ok", fmt.Sprintf("%s's %s is REFUSED", a.who(), a.Op)
		case a.Op != "write":
			continue
		case p.broke(a):
			class = "al"
		}
		list = append(list, caption{class, p.x(a.At), text})
	}
	// If there is no space for all, refusals and violations come first.
	slices.SortStableFunc(list, func(a, b caption) int { return strings.Compare(rankOf(a.class), rankOf(b.class)) })
	p.Height += 2
	p.captions(list, 2)
	l := p.lane(simulation.Resource, "resource", 16, 8)
	for _, a := range p.t.Accesses {
		if !p.shows(a.At) {
			continue
		}
		class, size := p.series("d", a.Process), 8.0
		switch {
		case a.Refused:
			class = "dok"
		case a.Op != "write":
			size = 5
		case p.broke(a):
			class = "dal"
		}
		text := a.who() + "'s " + a.Op
		if a.Refused {
			text += " is refused"
		}
		p.tip(p.Dot(class, p.x(a.At), l.Line, size), "%s ms: %s, version %d", Clock(a.At), text, a.Version)
	}
}

// broke reports whether an operation was a violation.
func (p *plot) broke(a access) bool {
	return slices.ContainsFunc(p.violations(), func(v Violation) bool {
		return v.At == a.At && (v.Kind == "stale write" || v.Kind == "lost update")
	})
}

func rankOf(class string) string { return map[string]string{"al": "0", "ok": "1"}[class] + "2" }

// servers draws whose key each server had.
func (p *plot) servers() {
	each, high := 10.0, 8.0
	if p.wide {
		each, high = 26, barHeight
	}
	p.Height += 4
	top := p.Height
	for _, name := range p.t.Servers {
		l := p.lane(name, "server", each, each/2)
		y := l.Line - high/2
		for _, s := range p.t.Spans {
			if s.Lane == name && s.stops() {
				p.bar("wait", s.From, s.Until, y, high, name+": "+s.Kind, "")
			}
		}
		for _, n := range p.t.Tenures {
			if n.Server != name || n.Until <= n.From {
				continue
			}
			var texts []string
			if p.wide {
				texts = []string{n.Process + " has " + n.Key, n.Process}
			}
			p.bar(p.series("b", n.Process), n.From, n.Until, y, high, fmt.Sprintf("%s has %s's %s%s", name, n.Process, n.Key, n.endWords()), "", texts...)
		}
	}
	if !p.wide && len(p.t.Servers) > 0 {
		p.nameServers(top)
	}
}

// endWords says how a tenure ends.
func (n Tenure) endWords() string {
	switch {
	case n.Open || n.End == "":
		return " until the end"
	case n.Taker != "":
		return ", deleted by " + n.Taker
	}
	return ", " + n.End
}

// nameServers names all servers, whose lanes are too small for names.
func (p *plot) nameServers(top float64) {
	what, who := "servers", p.t.Servers[0]+" to "+p.t.Servers[len(p.t.Servers)-1]
	if len(p.t.Servers) == 1 {
		what, who = "server", p.t.Servers[0]
	}
	middle := (top + p.Height) / 2
	if p.Height-top < 30 {
		p.Text("n", 0, middle+3, what+" "+strings.TrimSpace(who[:min(1, 8-len(what))]))
		p.Height = max(p.Height, top+14)
	} else {
		p.Text("n", 0, middle-3, what)
		p.Text("s", 0, middle+11, who)
	}
	p.Height += 4
}

// ticks writes times below the lanes: round ones, and on a wide picture others where there is space.
func (p *plot) ticks() {
	y := p.Height
	p.Under(func() { p.Box("axis", p.left(), y, p.right-p.left(), 1) })
	step, most := time.Microsecond, p.right/drawing.Width*6
	for n := 0; share(p.until()-p.from(), step) > most; n++ {
		step = step * []time.Duration{2, 5, 2}[n%3] / []time.Duration{1, 2, 1}[n%3]
	}
	var taken []float64
	tick := func(at time.Duration, text string) {
		x, half := p.x(at), drawing.Wide("", text)/2
		for i := 0; i < len(taken); i += 2 {
			if x-half < taken[i+1]+8 && x+half > taken[i]-8 {
				return
			}
		}
		if x-half < p.left()-20 || x+half > p.right+16 {
			return
		}
		taken = append(taken, x-half, x+half)
		p.Box("axis", x, y, 1, 4)
		p.Text("s m", x, y+17, text)
	}
	for at := (p.from() + step - 1) / step * step; at <= p.until(); at += step {
		tick(at, length(at))
	}
	for i, k := range p.Axis {
		if at := k.At.Truncate(time.Millisecond); p.wide && i > 0 && at > p.Axis[i-1].At {
			tick(at, grouped(at.Milliseconds())+" ms")
		}
	}
	p.Height += 22
}

// across draws what concerns several lanes.
func (p *plot) across(top, bottom float64) {
	for _, o := range p.t.Overlaps() {
		if first, second := p.laneOf(processOf(o.First)), p.laneOf(processOf(o.Second)); first != nil && second != nil && p.overlaps(o.From, o.Until) {
			y := min(first.Y, second.Y)
			p.tip(p.Box("both", p.x(o.From), y, p.x(o.Until)-p.x(o.From), max(first.Y+first.Height, second.Y+second.Height)-y),
				"%s and %s both believe that they hold %s, for %s", o.First, o.Second, o.Key, length(o.Until-o.From))
		}
	}
	for _, c := range p.faults() {
		p.Box("fl", c.at, top, 1, bottom-top)
	}
	for _, v := range p.violations() {
		if p.shows(v.At) {
			p.tip(p.Box("vl", p.x(v.At)-.5, top, 1.5, bottom-top), "%s ms: %s", Clock(v.At), v.Kind)
		}
	}
}

func (p *plot) laneOf(name string) *Lane {
	i := slices.IndexFunc(p.lanes, func(l Lane) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &p.lanes[i]
}

// messages draws the requests and the replies, below the bars, and a dot where one was executed.
func (p *plot) messages() {
	for _, m := range p.t.Messages {
		from, to := p.laneOf(m.Process), p.laneOf(m.Place)
		if from == nil || to == nil || m.watching() || m.Sent == never || !p.shows(m.Sent) {
			continue
		}
		end := to.Line
		if to.Kind == "server" {
			end -= barHeight / 2 // the upper edge of its bars
		}
		p.Under(func() { p.wires(m, from.Line, end) })
		if m.Arrived != never && to.Kind == "server" {
			class := "o"
			if m.ok() {
				class = "d"
			}
			p.tip(p.Dot(p.series(class, m.Process), p.x(m.Arrived), end, 6), "%s", m.words())
		}
	}
}

// wires draws a request's way from one y to another, and its reply's.
func (p *plot) wires(m message, from, to float64) {
	line, sent := p.series("l", m.Process), p.x(m.Sent)
	lost := func(class string, x1, y1, x, y float64) {
		p.tip(p.Line(class, x1, y1, x, y), "%s", m.words())
		p.Path("lost", "M", x-4, y-4, "l8 8m0 -8l-8 8")
	}
	if m.Arrived == never && m.Received == never {
		lost(line, sent, from, sent+18, from+(to-from)*0.55)
		return
	}
	arrived := p.x(m.Arrived)
	if m.Arrived == never { // the log omits the arrival of some requests
		arrived = (sent + p.x(m.Received)) / 2
	}
	p.Line(line, sent, from, arrived, to)
	if back := max(m.Received, m.Missed); back != never {
		p.Line(line+" x2", arrived, to, p.x(back), from)
	} else if m.Lost == simulation.Replies {
		lost(line+" x2", arrived, to, arrived+14, to+(from-to)*0.45)
	}
}

// words describes a message.
func (m message) words() string {
	s := fmt.Sprintf("%s asks %s: %s, sent %s ms", m.Process, m.Place, m.Op, Clock(m.Sent))
	for _, part := range []struct {
		at   time.Duration
		what string
	}{{m.Arrived, "executed"}, {m.Received, "reply received"}, {m.GaveUp, "given up"}} {
		if part.at != never {
			s += fmt.Sprintf(", %s %s ms", part.what, Clock(part.at))
		}
	}
	if m.Lost != "" {
		s += ", the " + string(m.Lost) + " was lost"
	}
	if m.Outcome != "" {
		s += ": " + m.Outcome
	}
	return s
}

// marks draws the events of the lanes.
func (p *plot) marks() {
	for _, m := range p.t.Events {
		l, words := p.laneOf(m.Lane), describe(m, p.token).label
		if l == nil || words == "" || !p.shows(m.At) {
			continue
		}
		p.tip(p.Path("ink", "M", p.x(m.At), l.Line-6, "v12"), "%s ms: %s %s", Clock(m.At), m.who(), words)
	}
	for _, s := range p.t.Spans {
		if l := p.laneOf(s.Lane); l != nil && s.Place != "" && p.overlaps(s.From, s.Until) {
			p.tip(p.Box("fl", p.x(s.From), l.Line-11, p.x(s.Until)-p.x(s.From), 3), "%s and %s: %s %s", s.Lane, s.Place, s.Kind, s.Words)
		}
	}
}

// mentioned reports whether a picture shows when the event was.
func (m laneEvent) mentioned(wide bool) bool {
	switch m.Kind {
	case simulation.Suffered, simulation.Crashed, simulation.Asked:
		return true
	case simulation.Started, simulation.Ended:
		return false
	}
	return wide
}

// caption is a text beside a moment.
type caption struct {
	class string
	at    float64
	text  string
}

// captions writes texts beside their moments, in as few rows as possible: on a wide picture always
// in all, so that a change moves no lane. A text that fits in no row is omitted. It returns the y
// above them.
func (p *plot) captions(list []caption, most int) float64 {
	top := p.Height
	rows := make([][]float64, most) // from, until, ...
	used := 0
	if p.wide {
		used = most
	}
	for _, c := range list {
		w := drawing.Wide(c.class, c.text) + 6
		from, class := c.at+3, c.class
		if from+w > p.right {
			from, class = c.at-3-w, c.class+" e"
		}
		if from < p.left() {
			from, class = p.left(), c.class
		}
		if from+w > p.right+4 {
			continue
		}
		for i, row := range rows {
			free := true
			for j := 0; j < len(row); j += 2 {
				free = free && (from >= row[j+1] || row[j] >= from+w)
			}
			if !free {
				continue
			}
			rows[i], used = append(row, from, from+w), max(used, i+1)
			x := from
			if class != c.class {
				x += w
			}
			p.Text(strings.TrimSpace(class), x, top+rowHeight*float64(i+1)-3, c.text)
			break
		}
	}
	p.Height += rowHeight * float64(used)
	return top
}

// alarms returns the violations. Those of one moment are one.
func (p *plot) alarms() (list []caption) {
	var at time.Duration = never
	for _, v := range p.violations() {
		switch {
		case !p.shows(v.At):
		case v.At == at:
			list[len(list)-1].text += ", " + v.Kind
		default:
			at = v.At
			list = append(list, caption{"al", p.x(v.At), "!! " + v.Kind})
		}
	}
	return list
}

// faultText is a fault. Faults of one moment that differ only in the lane or in the other end of a
// link are merged.
type faultText struct {
	at    float64
	who   []string
	what  string
	links []string // the other ends
}

// faults returns the faults, except for stopped processes, which have bars.
func (p *plot) faults() []caption {
	var all []faultText
	add := func(at time.Duration, who, what string, links ...string) {
		if !p.shows(at) {
			return
		}
		f := faultText{at: p.x(at), who: []string{who}, what: what, links: links}
		for i := range all {
			o := &all[i]
			switch {
			case math.Abs(o.at-f.at) > 4 || o.what != what:
			case slices.Equal(o.who, f.who) && len(links) > 0:
				if !slices.Contains(o.links, links[0]) {
					o.links = append(o.links, links[0])
				}
				return
			case slices.Equal(o.links, f.links):
				if !slices.Contains(o.who, who) {
					o.who = append(o.who, who)
				}
				return
			}
		}
		all = append(all, f)
	}
	for _, m := range p.t.Events {
		switch m.Kind {
		case simulation.Suffered:
			if text := momentary(m.Fault); text != "" {
				add(m.At, m.Lane, strings.Replace(sentence("", text), "'s clock", ": clock", 1))
			}
		case simulation.Crashed:
			add(m.At, m.Lane, " crashes")
		}
	}
	for _, s := range p.t.Spans {
		if k := linkKinds[s.Kind]; k.word != "" {
			add(s.From, anyOf(s.Lane, "clients"), " "+k.word, anyOf(s.Place, "servers"))
		}
		if k := spanKinds[s.Kind]; k.word != "" && !slices.Contains(stopped, s.Kind) {
			add(s.From, s.subject(), " "+k.word)
		}
	}
	slices.SortStableFunc(all, func(a, b faultText) int { return int(a.at - b.at) })
	captions := make([]caption, len(all))
	for i, f := range all {
		captions[i] = caption{"fa", f.at, strings.TrimSpace(list(f.who) + f.what + " " + list(f.links))}
	}
	return captions
}

// stopped are the kinds of spans in which a process stops.
var stopped = []string{"pause", "suspend", "reboot"}
