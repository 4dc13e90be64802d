package timeline

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redlock/simulation/timeline/palette"
)

// SVGOptions is how a Timeline is drawn. The zero value is a file of its own.
type SVGOptions struct {
	// Title stands above the drawing.
	Title string
	// Label names the drawing for who doesn't see it. Default Title.
	Label string
	// ID begins the names of the drawing's parts. Drawings on one page need
	// different ones; of letters, digits and dashes. Default "t".
	ID string
	// Inline leaves out the style, for a page that has Style once.
	Inline bool
	// Watching draws the messages that only look after the servers, too.
	Watching bool
}

// Style is the style sheet that Inline drawings need. The colours' variables, of
// palette.CSS, are not in it.
func Style() string { return style }

const style = `.rl-t text{font:13px/1.2 system-ui,-apple-system,"Segoe UI","Noto Sans",Arial,sans-serif;fill:var(--ink)}
.rl-t .h{font-size:17px;font-weight:600}
.rl-t .n{font-size:14px;font-weight:600}
.rl-t .s{font-size:12px;fill:var(--soft)}
.rl-t .al{fill:var(--alarm);font-weight:600}
.rl-t .fa{fill:var(--fault);font-weight:600}
.rl-t .halo{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round;stroke-opacity:.85}
.rl-t .both{fill:var(--alarm-tint);fill-opacity:.7}
.rl-t .paper{fill:var(--paper)}
.rl-t .card{fill:var(--card)}
.rl-t .grid{stroke:var(--faint);stroke-width:1}
.rl-t .life{stroke:var(--soft);stroke-width:1.5}
.rl-t .lead{stroke:var(--soft);stroke-width:.75}
.rl-t .brk{fill:var(--paper);fill-opacity:.55}
.rl-t .zig{fill:none;stroke:var(--soft);stroke-width:1}
.rl-t .fs{fill:var(--fault-tint);stroke:var(--fault);stroke-width:1}
.rl-t .vl{stroke:var(--alarm);stroke-width:1.5;stroke-dasharray:5 3}
.rl-t .vb{fill:var(--alarm-tint);stroke:var(--alarm);stroke-width:1}
.rl-t .no{fill:none;stroke:var(--alarm);stroke-width:2.5;stroke-dasharray:6 3}
.rl-t .rep{stroke-dasharray:1.5 3}
.rl-t .msg{fill:none;stroke-width:1.1}
`

// SVG draws the timeline: lanes for processes, the resource and the instances,
// messages as lines between them, what a process believes above what is true, and
// what went wrong. It is light or dark as the reader's system asks. Of a run that
// would be too wide to look at it draws what is around the first violation, and
// says so.
func (t *Timeline) SVG(w io.Writer, o SVGOptions) error {
	if o.ID == "" {
		o.ID = "t"
	}
	d := &drawing{t: t, o: o, token: t.tokens(), vains: t.vains(fewTries), lanes: map[string]*lane{}}
	d.axis = newAxis(d.moments(), t.quiet(), t.focus(), gutter)
	d.arrange()
	d.draw()
	_, err := w.Write(d.finish())
	return err
}

const (
	fewTries = 4     // in vain and in a row: all of them are drawn up to here
	gutter   = 118.0 // left of the axis: the lanes' names
	margin   = 16.0
	barRow   = 22.0
	labelRow = 16.0
	// letter is how wide a letter is taken to be, at most, of its font's size.
	letter = 0.56
)

// drawing is an SVG in the making. Shapes go to layers, which are put one above
// the other.
type drawing struct {
	t     *Timeline
	o     SVGOptions
	token func(uint64) string
	axis  *axis
	vains []vain // of which only the first and the last are drawn

	lanes  map[string]*lane
	order  []*lane
	top    float64 // of the first lane
	bottom float64 // of the last
	alarms []label // above the lanes
	width  float64

	back, bars, wires, front bytes.Buffer
}

// lane is one horizontal strip.
type lane struct {
	name   string
	kind   laneKind
	labels []label
	y      float64 // its top
	line   float64 // its line, from which messages go
	rows   []string
	height float64
	levels int
}

type laneKind int

const (
	ofProcess laneKind = iota
	ofResource
	ofServer
)

// label is a text that points at a moment of a lane.
type label struct {
	x     float64
	parts []part
	level int
}

// part is what one line of the trace adds to a label.
type part struct {
	line  int // of the trace: their order
	text  string
	class string
}

// wide is how wide a label is taken to be.
func (l label) wide() float64 {
	w := 0.0
	for _, p := range l.parts {
		w += wide(p.text, 12) + 8
		if p.class != "s" {
			w += wide(p.text, 1.6) // bold, and in capitals
		}
	}
	return w
}

// wide is how wide a text is taken to be.
func wide(text string, size float64) float64 {
	return letter * size * float64(utf8.RuneCountInString(text))
}

// arrange says where everything goes: first what has labels, then how high the
// lanes get.
func (d *drawing) arrange() {
	add := func(name string, kind laneKind) {
		l := &lane{name: name, kind: kind}
		d.lanes[name] = l
		d.order = append(d.order, l)
	}
	for _, name := range d.t.Processes {
		add(name, ofProcess)
		d.lanes[name].rows = d.keysOf(name)
	}
	if d.t.UsesResource {
		add(Resource, ofResource)
	}
	for _, name := range d.t.Servers {
		add(name, ofServer)
	}
	d.label()
	d.width = max(d.axis.width+margin+40, 760)
	for _, l := range append(slices.Clone(d.order), &lane{labels: d.alarms}) {
		l.levels = settle(l.labels)
		for _, b := range l.labels {
			d.width = max(d.width, b.x+b.wide()+margin)
		}
	}
	d.alarmsAbove()
	y := d.top
	for _, l := range d.order {
		l.y = y
		l.line = y + 8 + labelRow*float64(l.levels) + 8
		switch l.kind {
		case ofProcess:
			l.height = l.line - y + 14 + 2*barRow*float64(len(l.rows)) + 8
		case ofResource:
			l.height = l.line - y + 16
		case ofServer:
			l.height = l.line - y + 16
		}
		y += l.height
	}
	d.bottom = y
}

// alarmsAbove leaves room above the lanes for the violations' names.
func (d *drawing) alarmsAbove() {
	head := 16.0
	if d.o.Title != "" {
		head += 24
	}
	d.top = head + 44 + labelRow*float64(settle(d.alarms)) + 6
	if len(d.alarms) == 0 {
		d.top = head + 44
	}
}

// keysOf lists the keys that a process has a belief in, or a key for.
func (d *drawing) keysOf(process string) []string {
	var keys []string
	add := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, b := range d.t.Beliefs {
		if b.Process == process {
			add(b.Key)
		}
	}
	for _, n := range d.t.Tenures {
		if n.Process == process {
			add(n.Key)
		}
	}
	return keys
}

// settle gives each label a level, 0 the lowest, so that none covers another, nor
// the line that leads from another down to its moment. It gives the number of
// levels.
func settle(labels []label) int {
	slices.SortStableFunc(labels, func(a, b label) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	levels := 0
	for i := len(labels) - 1; i >= 0; i-- {
		a := &labels[i]
		a.level = 0
		for _, b := range labels[i+1:] {
			if b.x < a.x+a.wide()+4 {
				a.level = max(a.level, b.level+1)
			}
		}
		levels = max(levels, a.level+1)
	}
	return levels
}

// note adds a label to a lane; those of one moment become one.
func (d *drawing) note(name string, at time.Duration, line int, text, class string) {
	if l := d.lanes[name]; l != nil && text != "" && d.axis.shows(at) {
		l.labels = join(l.labels, d.axis.x(at), part{line: line, text: text, class: class})
	}
}

func join(labels []label, x float64, one part) []label {
	for i := range labels {
		b := &labels[i]
		if b.x-x >= 1.5 || x-b.x >= 1.5 {
			continue
		}
		if !slices.ContainsFunc(b.parts, func(p part) bool { return p.text == one.text }) {
			b.parts = append(b.parts, one)
			slices.SortStableFunc(b.parts, func(p, q part) int { return p.line - q.line })
		}
		return labels
	}
	return append(labels, label{x: x, parts: []part{one}})
}

// finish puts the layers together.
func (d *drawing) finish() []byte {
	height := d.bottom + d.footer()
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="rl-t" id="%s" role="img" aria-labelledby="%[1]s-title %[1]s-desc" width="%s" height="%s" viewBox="0 0 %[2]s %[3]s">`,
		safeID(d.o.ID), px(d.width), px(height))
	title := cmp.Or(d.o.Label, d.o.Title, "Timeline of a simulated run")
	fmt.Fprintf(&out, "\n<title id=\"%[1]s-title\">%[2]s</title>\n<desc id=\"%[1]s-desc\">%[3]s</desc>\n",
		safeID(d.o.ID), escaped(title), escaped(strings.Join(d.t.Summary(), " ")))
	if !d.o.Inline {
		fmt.Fprintf(&out, "<style>%s%s</style>\n", palette.CSS("svg"), style)
	}
	d.defs(&out)
	fmt.Fprintf(&out, `<rect class="paper" width="%s" height="%s"/>`+"\n", px(d.width), px(height))
	for _, layer := range []*bytes.Buffer{&d.back, &d.wires, &d.bars, &d.front} {
		_, _ = layer.WriteTo(&out)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// defs is the hatching of what isn't whole: pauses, and keys without a quorum.
func (d *drawing) defs(out *bytes.Buffer) {
	id := safeID(d.o.ID)
	hatch := func(name, ground, line string) {
		fmt.Fprintf(out, `<pattern id="%s-%s" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="7" height="7" style="fill:%s"/><line y2="7" style="stroke:%s;stroke-width:2.5"/></pattern>`+"\n",
			id, name, ground, line)
	}
	out.WriteString("<defs>\n")
	hatch("fault", palette.FaultTint.Var(), palette.Fault.Var())
	for i, s := range palette.Series {
		hatch("p"+strconv.Itoa(i), palette.Paper.Var(), s.Tint.Var())
	}
	out.WriteString("</defs>\n")
}

// focus is what a drawing that can't show all shows: the first violation, or the
// beginning.
func (t *Timeline) focus() time.Duration {
	if len(t.Violations) > 0 {
		return t.Violations[0].At
	}
	return 0
}

// px writes a coordinate with one decimal.
func px(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// escaped is text within XML.
func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a Buffer takes everything
	return b.String()
}

// safeID leaves of a name what an ID may hold.
func safeID(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, s)
	if clean == "" || clean[0] >= '0' && clean[0] <= '9' || clean[0] == '-' {
		return "t" + clean
	}
	return clean
}
