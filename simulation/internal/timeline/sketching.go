package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/internal/wrap"
	"github.com/redquorum/redlock/simulation/record"
)

const (
	sketchLeft  = 68.0 // left of the time axis: the lanes' names
	sketchRight = SketchWidth - 8.0
	sketchText  = 12.0 // the size of its letters
	sketchRow   = 15.0 // a line of text
	// titleLetters is how many letters of a title fit into a line. boldLetter is the
	// width of bold letters compared with others: wider than in most fonts, so that
	// nothing is cut off.
	titleLetters = 44
	boldLetter   = 1.14

	// fewBeliefs: a sketch shows the whole of a run with up to so many beliefs. Of a
	// longer run it shows the time before the first violation.
	fewBeliefs = 4
)

// sketching builds a Sketch.
type sketching struct {
	t      *Timeline
	about  []string // kinds of violations to show; nil: all
	token  func(fencing.Token) string
	warp   warp
	y      float64
	shapes []Shape
	lanes  []string // the processes that are drawn
	behind []Shape  // what lies under the lanes
}

// Sketch draws the run small, below a title. With kinds of violations, it shows only those.
func (t *Timeline) Sketch(title string, kinds ...string) Sketch {
	s := &sketching{t: t, about: kinds, token: t.tokens()}
	from, until := s.window()
	s.warp = newWarp(s.moments(), from, until, sketchLeft, sketchRight-sketchLeft)
	for _, line := range wrap.Lines(title, titleLetters, "", "") {
		if line != "" {
			s.y += 17
			s.text("h", 0, s.y-3, line)
		}
	}
	s.processes()
	top := s.alarms() + 4
	s.y = top
	s.draw()
	s.axis()
	s.lines(top)
	return Sketch{
		Title: title, Desc: strings.Join(t.Summary(), " "), Height: int(math.Ceil(s.y)),
		Shapes: slices.Concat(s.behind, s.shapes),
	}
}

// violations returns the first of each kind that is shown.
func (s *sketching) violations() []Violation {
	var first []Violation
	for _, v := range s.t.Violations {
		if (len(s.about) == 0 || slices.Contains(s.about, v.Kind)) && !slices.ContainsFunc(first, func(f Violation) bool { return f.Kind == v.Kind }) {
			first = append(first, v)
		}
	}
	return first
}

// window returns the part of the run that is drawn.
func (s *sketching) window() (from, until time.Duration) {
	beliefs := s.t.Beliefs
	violated := s.violations()
	switch {
	case len(beliefs) > fewBeliefs && len(violated) > 0:
		at := violated[0].At
		var before []belief
		for _, b := range beliefs {
			if b.From <= at {
				before = append(before, b)
			}
		}
		before = before[max(0, len(before)-3):]
		from, until = at, at
		for _, b := range before {
			from, until = min(from, b.From), max(until, min(b.Until, s.t.End))
		}
		until = max(at, min(until, at+(at-from)/3))
	case len(beliefs) > fewBeliefs:
		from, until = beliefs[0].From, beliefs[0].Until
		for _, b := range beliefs[:fewBeliefs] {
			from, until = min(from, b.From), max(until, b.Until)
		}
	default:
		from, until = s.t.End, 0
		for _, at := range s.moments() {
			from, until = min(from, at), max(until, at)
		}
	}
	until = min(until, s.t.End)
	if until <= from {
		from, until = max(0, from-time.Second), from+time.Second
	}
	margin := (until - from) / 50
	return max(0, from-margin), until + margin
}

// moments returns every time that is drawn.
func (s *sketching) moments() []time.Duration {
	t := s.t
	out := t.moments()
	for _, v := range s.violations() {
		out = append(out, v.At)
	}
	for _, p := range t.Spans {
		out = append(out, p.From)
		if p.Known && p.stops() {
			out = append(out, p.Until)
		}
	}
	for _, m := range t.Events {
		if m.Kind == record.Suffered || m.Kind == record.Crashed || m.Kind == record.Asked {
			out = append(out, m.At)
		}
	}
	return slices.DeleteFunc(out, func(at time.Duration) bool { return at > t.End })
}

// processes chooses the lanes: every process that does something in the window.
func (s *sketching) processes() {
	for _, name := range s.t.Processes {
		if slices.ContainsFunc(s.t.Events, func(m laneEvent) bool {
			return m.Lane == name && m.Kind != record.Started && m.Kind != record.Ended && s.warp.shows(m.At)
		}) || slices.ContainsFunc(s.t.Beliefs, func(b belief) bool { return b.Process == name && s.warp.overlaps(b.From, b.Until) }) ||
			slices.ContainsFunc(s.t.Accesses, func(a access) bool { return a.Process == name && s.warp.shows(a.At) }) {
			s.lanes = append(s.lanes, name)
		}
	}
}

func (s *sketching) text(class string, x, y float64, text string) {
	s.shapes = append(s.shapes, Shape{Class: class, X: x, Y: y, Text: text})
}

func (s *sketching) box(class string, x, y, w, h float64) {
	s.shapes = append(s.shapes, Shape{Class: class, X: x, Y: y, W: w, H: h})
}

// caption is a text beside a moment.
type caption struct {
	class string
	at    float64
	text  string
}

// captions writes texts beside their moments, in as few rows as possible, and returns the
// number of rows. A text that fits in no row is omitted.
func (s *sketching) captions(list []caption, mostRows int) int {
	type taken struct{ from, until float64 }
	rows := make([][]taken, mostRows)
	used := 0
	for _, c := range list {
		w := wide(c.text, sketchText) + 6
		if c.class != "s" {
			w *= boldLetter
		}
		from, class := c.at+3, c.class
		if from+w > sketchRight {
			from, class = c.at-3-w, c.class+" e"
		}
		if from < sketchLeft {
			from, class = sketchLeft, c.class
		}
		if from+w > sketchRight+4 {
			continue
		}
		for i := range rows {
			if slices.ContainsFunc(rows[i], func(t taken) bool { return from < t.until && t.from < from+w }) {
				continue
			}
			rows[i] = append(rows[i], taken{from, from + w})
			used = max(used, i+1)
			x := from
			if strings.HasSuffix(class, " e") {
				x = from + w
			}
			s.text(class, x, s.y+sketchRow*float64(i+1)-3, c.text)
			break
		}
	}
	return used
}

// alarms writes the violations and the faults above the lanes, and returns where they end.
func (s *sketching) alarms() float64 {
	var list []caption
	var at time.Duration = never
	for _, v := range s.violations() {
		switch {
		case !s.warp.shows(v.At):
		case v.At == at:
			last := &list[len(list)-1]
			last.text += ", " + v.Kind
		default:
			at = v.At
			list = append(list, caption{"al", s.warp.x(v.At), "!! " + v.Kind})
		}
	}
	s.y += sketchRow * float64(s.captions(list[:min(2, len(list))], 2))
	s.y += sketchRow * float64(s.captions(s.faults(), 3))
	return s.y
}

// faultText is a fault in a sketch. Faults of one moment that differ only in the lane or in
// the other end of a link are merged.
type faultText struct {
	at    float64
	who   []string
	what  string
	links []string // the other ends
}

func (m faultText) text() string {
	text := list(m.who) + m.what
	if len(m.links) > 0 {
		text += " " + list(m.links)
	}
	return text
}

// faults returns the faults, except for stopped processes, which have bars.
func (s *sketching) faults() []caption {
	var all []faultText
	add := func(at time.Duration, who, what string, links ...string) {
		if !s.warp.shows(at) {
			return
		}
		m := faultText{at: s.warp.x(at), who: []string{who}, what: what, links: links}
		for i := range all {
			o := &all[i]
			switch {
			case math.Abs(o.at-m.at) > 4 || o.what != what:
			case slices.Equal(o.who, m.who) && len(links) > 0:
				if !slices.Contains(o.links, links[0]) {
					o.links = append(o.links, links[0])
				}
				return
			case slices.Equal(o.links, m.links):
				if !slices.Contains(o.who, who) {
					o.who = append(o.who, who)
				}
				return
			}
		}
		all = append(all, m)
	}
	for _, m := range s.t.Events {
		switch m.Kind {
		case record.Suffered:
			if text := momentary(m.Fault); text != "" {
				add(m.At, m.Lane, strings.Replace(sentence("", text), "'s clock", ": clock", 1))
			}
		case record.Crashed:
			add(m.At, m.Lane, " crashes")
		}
	}
	for _, p := range s.t.Spans {
		if k := linkKinds[p.Kind]; k.sketch != "" {
			add(p.From, anyOf(p.Lane, "clients"), " "+k.sketch, anyOf(p.Place, "servers"))
		}
		if k := spanKinds[p.Kind]; k.sketch != "" && !slices.Contains(stopped, p.Kind) {
			add(p.From, p.subject(), " "+k.sketch)
		}
	}
	slices.SortStableFunc(all, func(a, b faultText) int { return cmp.Compare(a.at, b.at) })
	captions := make([]caption, len(all))
	for i, m := range all {
		captions[i] = caption{"fa", m.at, m.text()}
	}
	return captions
}

// stopped are the kinds of spans in which a process stops.
var stopped = []string{"pause", "suspend", "reboot"}

// draw draws the lanes.
func (s *sketching) draw() {
	for _, name := range s.lanes {
		s.process(name)
	}
	if s.t.UsesResource {
		s.resource()
	}
	s.servers()
}

// name writes a lane's name, and its line.
func (s *sketching) name(text string, y float64) {
	s.text("n", 0, y+4, text)
	s.behind = append(s.behind, Shape{Class: "lane", X: sketchLeft, Y: y, W: sketchRight - sketchLeft, H: 1})
}

// bar draws a period, with the longest of the texts that fits.
func (s *sketching) bar(class string, from, until time.Duration, y, h float64, textClass string, texts ...string) {
	x1, x2 := s.warp.x(from), s.warp.x(min(until, s.warp.until))
	s.box(class, x1, y, max(1, x2-x1), h)
	for _, text := range texts {
		if boldLetter*wide(text, sketchText) <= x2-x1-6 {
			s.text(textClass, x1+4, y+h-3.5, text)
			return
		}
	}
}

func (s *sketching) color(process string) int {
	return max(0, slices.Index(s.t.Processes, process)) % 6
}

// process draws what a process believes and, below it, when it is stopped.
func (s *sketching) process(name string) {
	s.y += 4
	s.name(name, s.y+8)
	truth := s.t.Truth()
	for _, b := range s.t.Beliefs {
		if b.Process != name || !s.warp.overlaps(b.From, b.Until) {
			continue
		}
		texts := []string{"holds the lock", "holds"}
		if b.Token != 0 {
			texts = append([]string{"holds the lock, token " + s.token(b.Token), "holds, token " + s.token(b.Token)}, texts...)
		}
		s.bar(fmt.Sprintf("b%d", s.color(name)), b.From, b.Until, s.y, 16, "k", texts...)
		for _, gap := range s.t.gaps(b, truth) {
			if x1, x2 := s.warp.x(gap.from), s.warp.x(gap.until); x2-x1 > 3 {
				s.box("un", x1, s.y, x2-x1, 16)
			}
		}
	}
	s.y += 16
	height := 0.0
	for _, p := range s.t.Spans {
		if p.Lane != name || !slices.Contains(stopped, p.Kind) || !s.warp.overlaps(p.From, p.Until) {
			continue
		}
		height = 17
		word := spanKinds[p.Kind].sketch
		s.bar("z", p.From, p.Until, s.y+2, 15, "fa", word+" for "+length(p.Until-p.From), word)
	}
	s.y += height + 4
}

// resource draws the operations at the resource.
func (s *sketching) resource() {
	s.y += 2
	var list []caption
	violated := func(a access) bool {
		return slices.ContainsFunc(s.violations(), func(v Violation) bool {
			return v.At == a.At && (v.Kind == "stale write" || v.Kind == "lost update")
		})
	}
	var dots []Shape
	for _, a := range s.t.Accesses {
		if !s.warp.shows(a.At) {
			continue
		}
		dot, class, text, size := fmt.Sprintf("d%d", s.color(a.Process)), "s", a.Process+" writes", 8.0
		switch {
		case a.Refused:
			dot, class, text = "dok", "ok", fmt.Sprintf("%s's %s is REFUSED", a.Process, a.Op)
		case a.Op != "write":
			text, size = "", 5
		case violated(a):
			dot, class = "dal", "al"
		}
		x := s.warp.x(a.At)
		dots = append(dots, Shape{Class: dot, X: x - size/2, Y: -size / 2, W: size, H: size})
		if text != "" {
			list = append(list, caption{class, x, text})
		}
	}
	// If there is no space for all, refusals and violations come first.
	slices.SortStableFunc(list, func(a, b caption) int { return strings.Compare(rankOf(a.class), rankOf(b.class)) })
	s.y += sketchRow*float64(s.captions(list, 2)) + 6
	s.name("resource", s.y)
	for _, d := range dots {
		d.Y += s.y + 0.5
		s.shapes = append(s.shapes, d)
	}
	s.y += 8
}

func rankOf(class string) string { return map[string]string{"al": "0", "ok": "1"}[class] + "2" }

// servers draws whose key each server had.
func (s *sketching) servers() {
	const each, gap = 8.0, 2.0
	if len(s.t.Servers) == 0 {
		return
	}
	s.y += 4
	top := s.y
	for _, name := range s.t.Servers {
		s.behind = append(s.behind, Shape{Class: "lane", X: sketchLeft, Y: s.y + each/2, W: sketchRight - sketchLeft, H: 1})
		for _, p := range s.t.Spans {
			if p.Lane == name && p.stops() && s.warp.overlaps(p.From, p.Until) {
				s.bar("z", p.From, p.Until, s.y, each, "")
			}
		}
		for _, n := range s.t.Tenures {
			if n.Server == name && n.Until > n.From && s.warp.overlaps(n.From, n.Until) {
				s.bar(fmt.Sprintf("b%d", s.color(n.Process)), n.From, n.Until, s.y, each, "")
			}
		}
		s.y += each + gap
	}
	what, who := "servers", s.t.Servers[0]+" to "+s.t.Servers[len(s.t.Servers)-1]
	if len(s.t.Servers) == 1 {
		what, who = "server", s.t.Servers[0]
	}
	middle := (top + s.y) / 2
	if s.y-top < 30 {
		s.text("n", 0, middle+3, what+" "+strings.TrimSpace(who[:min(1, 8-len(what))]))
		s.y = max(s.y, top+14)
	} else {
		s.text("n", 0, middle-3, what)
		s.text("s", 0, middle+11, who)
	}
	s.y += 4
}

// axis writes times below the lanes.
func (s *sketching) axis() {
	s.behind = append(s.behind, Shape{Class: "axis", X: sketchLeft, Y: s.y, W: sketchRight - sketchLeft, H: 1})
	from, until := s.warp.from, s.warp.until
	step := time.Microsecond
	for n := 0; float64(until-from)/float64(step) > 6; n++ {
		step = step * []time.Duration{2, 5, 2}[n%3] / []time.Duration{1, 2, 1}[n%3]
	}
	next := sketchLeft
	for at := (from + step - 1) / step * step; at <= until; at += step {
		x, text := s.warp.x(at), length(at)
		w := wide(text, sketchText)
		if x-w/2 < next || x+w/2 > SketchWidth {
			continue
		}
		next = x + w/2 + 8
		s.box("axis", x, s.y, 1, 4)
		s.text("s m", x, s.y+17, text)
	}
	s.y += 22
}

// lines draws violations and faults as lines through the lanes.
func (s *sketching) lines(top float64) {
	bottom := s.y - 22
	for _, c := range s.faults() {
		s.behind = append(s.behind, Shape{Class: "fl", X: c.at, Y: top, W: 1, H: bottom - top})
	}
	for _, v := range s.violations() {
		if s.warp.shows(v.At) {
			s.behind = append(s.behind, Shape{Class: "vl", X: s.warp.x(v.At) - .5, Y: top, W: 1.5, H: bottom - top})
		}
	}
}
