package timeline

import (
	"bytes"
	"cmp"
	_ "embed" // for the style
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
)

// SketchWidth is the width of every Sketch: about that of a phone's screen, so that its
// 12-pixel letters are legible there.
const SketchWidth = 400

// Sketch is a small drawing of a run: which processes believed that they held the lock or
// were stopped, whose key the servers had, what reached the resource, and the violations. It
// has no messages; SVG draws them. It is a list of shapes, so that a page can have many of
// them as data.
type Sketch struct {
	Title  string  `json:"-"`
	Desc   string  `json:"-"` // in words, for screen readers
	Height int     `json:"h"`
	Shapes []Shape `json:"s"`
}

// Shape is a box, or a text if Text isn't empty. X and Y are a box's upper left
// corner and a text's baseline.
type Shape struct {
	// Class has classes of the style sheet, separated by spaces.
	Class      string
	X, Y, W, H float64
	Text       string
}

// MarshalJSON writes a shape compactly: [class,x,y,w,h] or [class,x,y,text].
func (s Shape) MarshalJSON() ([]byte, error) {
	n := func(v float64) int { return int(math.Round(v)) }
	if s.Text != "" {
		return json.Marshal([]any{s.Class, n(s.X), n(s.Y), s.Text})
	}
	return json.Marshal([]any{s.Class, n(s.X), n(s.Y), n(s.W), n(s.H)})
}

//go:embed sketch.css
var sketchCSS string

// sketchStyle returns the style sheet of sketches, without the colours' variables.
func sketchStyle() string {
	var b strings.Builder
	b.WriteString(sketchCSS)
	for i, s := range palette.Series {
		fmt.Fprintf(&b, ".rl-k .b%d{fill:%s;stroke:%s}\n.rl-k .d%[1]d{fill:%[3]s}\n", i, s.Tint.Var(), s.Line.Var())
	}
	return b.String()
}

// SketchOptions configure WriteSketches.
type SketchOptions struct {
	// ID is the prefix of the drawing's IDs, see SVGOptions.
	ID string
	// Label names the drawing. Default: the first sketch's title.
	Label string
	// Inline omits the style, for a page with Style.
	Inline bool
}

// sketchGap is the distance between sketches.
const sketchGap = 18

// WriteSketches draws sketches one below the other.
func WriteSketches(w io.Writer, o SketchOptions, sketches ...Sketch) error {
	o.ID = cmp.Or(o.ID, "k")
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
	// The natural size is a quarter larger than the view box, to match a page's text on a
	// wide screen.
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="rl-k" id="%s" role="img" aria-labelledby="%[1]s-title %[1]s-desc" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n",
		id, SketchWidth*5/4, height*5/4, SketchWidth, height)
	fmt.Fprintf(&out, "<title id=\"%[1]s-title\">%[2]s</title>\n<desc id=\"%[1]s-desc\">%[3]s</desc>\n", id, escaped(o.Label), escaped(strings.Join(descs, " ")))
	if !o.Inline {
		fmt.Fprintf(&out, "<style>%s%s</style>\n", palette.CSS("svg"), sketchStyle())
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

// round returns the corner radius of a box that is a dot.
func (s Shape) round() string {
	if !strings.HasPrefix(s.Class, "d") {
		return ""
	}
	return fmt.Sprintf(` rx="%s"`, px(s.W/2))
}
