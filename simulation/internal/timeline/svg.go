package timeline

import (
	"bytes"
	"cmp"
	_ "embed" // for the style
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
)

// SVGOptions configure SVG. The zero value is for a separate file.
type SVGOptions struct {
	// Label names the drawing for screen readers.
	Label string
	// ID is the prefix of the drawing's IDs: letters, digits and dashes. Drawings on one
	// page need different ones. Default: "t".
	ID string
	// Inline omits the style, for a page with Style.
	Inline bool
}

// Style returns the style sheet of Inline drawings and sketches, without the colours'
// variables of palette.CSS.
func Style() string { return style + sketchStyle() }

//go:embed drawing.css
var style string

// SVG draws the timeline: lanes for processes, the resource and the servers, messages as lines
// between them, what a process believes above what is true, faults and violations. It is
// light or dark as the reader's system asks. Of a very long run it draws the time around the
// first violation, and says so.
func (t *Timeline) SVG(w io.Writer, o SVGOptions) error {
	o.ID = cmp.Or(o.ID, "t")
	d := &drawing{t: t, o: o, token: t.tokens(), vains: t.vains(fewTries), lanes: map[string]*lane{}}
	d.axis = newAxis(d.moments(), t.quiet(), t.focus(), gutter)
	d.arrange()
	d.draw()
	_, err := w.Write(d.finish())
	return err
}

const (
	fewTries = 4     // longer rows of tries in vain are shortened
	gutter   = 118.0 // left of the axis: the lanes' names
	margin   = 16.0
	axisY    = 48.0
	barRow   = 22.0
	labelRow = 16.0
	// letter is the assumed largest width of a letter, relative to the font's size.
	letter = 0.56
)

// drawing builds an SVG in layers.
type drawing struct {
	t     *Timeline
	o     SVGOptions
	token func(fencing.Token) string
	axis  *axis
	vains []vain // only the first and the last try are drawn

	lanes  map[string]*lane
	order  []*lane
	bottom float64 // of the last lane
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

// arrange computes all positions. The lanes' heights depend on their labels.
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
		add(fault.Resource, ofResource)
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
	y := axisY + 12
	if len(d.alarms) > 0 { // space for the violations' names
		y += labelRow*float64(settle(d.alarms)) + 6
	}
	for _, l := range d.order {
		l.y = y
		l.line = y + 8 + labelRow*float64(l.levels) + 8
		switch l.kind {
		case ofProcess:
			l.height = l.line - y + 14 + 2*barRow*float64(len(l.rows)) + 8
		case ofResource:
			l.height = l.line - y + 16
		case ofServer:
			if l.levels > 0 {
				l.line += 8 // clear of the marks on the bars
			}
			l.height = l.line - y + 16
		}
		y += l.height
	}
	d.bottom = y
}

// keysOf lists the keys that a process had or believed to have.
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

// draw fills the layers.
func (d *drawing) draw() {
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

// draws reports whether a message is drawn.
func (d *drawing) draws(m message) bool {
	return !m.watching() && !d.hidden(m.Process, m.Sent)
}

// hidden reports whether a moment of a process is in a shortened row of tries.
func (d *drawing) hidden(process string, at time.Duration) bool {
	return slices.ContainsFunc(d.vains, func(v vain) bool { return v.hides(process, at) })
}

func (d *drawing) text(to *bytes.Buffer, x, y float64, class, text string) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(to, `<text x="%s" y="%s"%s>%s</text>`+"\n", px(x), px(y), class, escaped(text))
}

// finish joins the layers.
func (d *drawing) finish() []byte {
	height := d.bottom + d.footer()
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="rl-t" id="%s" role="img" aria-labelledby="%[1]s-title %[1]s-desc" width="%s" height="%s" viewBox="0 0 %[2]s %[3]s">`,
		safeID(d.o.ID), px(d.width), px(height))
	title := cmp.Or(d.o.Label, "Timeline of a simulated run")
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

// defs defines the hatching of pauses and of keys without a quorum.
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

// focus returns the moment that a shortened drawing shows: the first violation, or the
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

// escaped escapes a text for XML.
func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a Buffer takes everything
	return b.String()
}

// safeID replaces characters that an ID must not have.
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
