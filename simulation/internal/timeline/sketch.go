package timeline

import (
	"bytes"
	_ "embed" // for the style
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
)

// SketchWidth is the width of every Sketch. On a phone a pixel of it is about a
// pixel of the screen, so that its 12-pixel letters can be read.
const SketchWidth = 400

// Sketch is a small drawing of a run: who believed that it held the lock, who was
// stopped, whose key the servers had, what reached the resource, and where it broke.
// It leaves out the messages, which SVG draws. It is a list of shapes, so that a page
// can carry many of them as data and draw one when it is asked for.
type Sketch struct {
	Title  string  `json:"-"`
	Desc   string  `json:"-"` // in words, for readers who don't see it
	Height int     `json:"h"`
	Shapes []Shape `json:"s"`
}

// Shape is a box, or a text if Text isn't empty. X and Y are a box's upper left
// corner and a text's baseline.
type Shape struct {
	// Class is classes of SketchStyle, separated by blanks.
	Class      string
	X, Y, W, H float64
	Text       string
}

// MarshalJSON writes a shape in few bytes: [class,x,y,w,h] or [class,x,y,text].
func (s Shape) MarshalJSON() ([]byte, error) {
	n := func(v float64) int { return int(math.Round(v)) }
	if s.Text != "" {
		return json.Marshal([]any{s.Class, n(s.X), n(s.Y), s.Text})
	}
	return json.Marshal([]any{s.Class, n(s.X), n(s.Y), n(s.W), n(s.H)})
}

//go:embed sketch.css
var sketchCSS string

// SketchStyle is the style sheet of sketches. The colours' variables, of
// palette.CSS, are not in it.
func SketchStyle() string {
	var b strings.Builder
	b.WriteString(sketchCSS)
	for i, s := range palette.Series {
		fmt.Fprintf(&b, ".rl-k .b%d{fill:%s;stroke:%s}\n.rl-k .d%[1]d{fill:%[3]s}\n", i, s.Tint.Var(), s.Line.Var())
	}
	return b.String()
}

// SketchOptions is how sketches become an SVG.
type SketchOptions struct {
	// ID begins the names of the drawing's parts: see SVGOptions.
	ID string
	// Label names the drawing. Default: the first sketch's title.
	Label string
	// Inline leaves out the style, for a page that has SketchStyle once.
	Inline bool
}

// sketchGap is between sketches that are drawn one below the other.
const sketchGap = 18

// WriteSketches draws sketches one below the other.
func WriteSketches(w io.Writer, o SketchOptions, sketches ...Sketch) error {
	if o.ID == "" {
		o.ID = "k"
	}
	id := safeID(o.ID)
	height := 0
	var descs []string
	for i, s := range sketches {
		if i == 0 && o.Label == "" {
			o.Label = s.Title
		}
		if i > 0 {
			height += sketchGap
		}
		height += s.Height
		descs = append(descs, strings.TrimSpace(s.Title+" "+s.Desc))
	}
	var out bytes.Buffer
	// The natural size is a quarter larger than the view box: as large as a page's
	// text on a wide screen. A narrow one shrinks it.
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="rl-k" id="%s" role="img" aria-labelledby="%[1]s-title %[1]s-desc" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n",
		id, SketchWidth*5/4, height*5/4, SketchWidth, height)
	fmt.Fprintf(&out, "<title id=\"%[1]s-title\">%[2]s</title>\n<desc id=\"%[1]s-desc\">%[3]s</desc>\n", id, escaped(o.Label), escaped(strings.Join(descs, " ")))
	if !o.Inline {
		fmt.Fprintf(&out, "<style>%s%s</style>\n", palette.CSS("svg"), SketchStyle())
	}
	fmt.Fprintf(&out, `<rect class="paper" width="%d" height="%d"/>`+"\n", SketchWidth, height)
	top := 0
	for _, s := range sketches {
		fmt.Fprintf(&out, `<g transform="translate(0 %d)">`+"\n", top)
		for _, shape := range s.Shapes {
			shape.write(&out)
		}
		out.WriteString("</g>\n")
		top += s.Height + sketchGap
	}
	out.WriteString("</svg>\n")
	_, err := w.Write(out.Bytes())
	return err
}

func (s Shape) write(out *bytes.Buffer) {
	if s.Text != "" {
		fmt.Fprintf(out, `<text class="%s" x="%s" y="%s">%s</text>`+"\n", s.Class, px(s.X), px(s.Y), escaped(s.Text))
		return
	}
	fmt.Fprintf(out, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"%s/>`+"\n", s.Class, px(s.X), px(s.Y), px(s.W), px(s.H), s.round())
}

// round is the corners of a box that is a dot.
func (s Shape) round() string {
	if !strings.HasPrefix(s.Class, "d") {
		return ""
	}
	return fmt.Sprintf(` rx="%s"`, px(s.W/2))
}
