package book_test

import (
	"bytes"
	_ "embed" // for the style
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
)

// pictureWidth is the width of every picture: on a phone its pixels are about as large as the
// screen's, so letters of 12 pixels can be read.
const pictureWidth = 400

//go:embed picture.css
var pictureStyle string

// picture is a picture of the documentation, drawn from a run, from arithmetic, or from words
// alone. All are SVG, light or dark as the reader's system asks, and small enough for a phone.
// Height is set when it is known.
type picture struct {
	Title  string
	Desc   string // in words, for readers who can't see it
	Height float64
	texts  []label
	shapes bytes.Buffer
}

// label is a text on a picture, kept so that tests can check its position.
type label struct {
	class string
	x, y  float64
	text  string
}

// text writes a line. The class may have e (x is its end) or m (x is its middle).
func (p *picture) text(class string, x, y float64, text string) {
	p.texts = append(p.texts, label{class, x, y, text})
}

// lines writes several lines, one below the other, and returns the y below them.
func (p *picture) lines(class string, x, y float64, lines ...string) float64 {
	for _, line := range lines {
		p.text(class, x, y, line)
		y += 15
	}
	return y
}

func (p *picture) box(class string, x, y, w, h float64) {
	fmt.Fprintf(&p.shapes, "<rect class=%q x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"3\"/>\n", class, px(x), px(y), px(max(w, 1)), px(h))
}

// titled is a box with lines in its middle.
func (p *picture) titled(class string, x, y, w, h float64, lines ...string) {
	p.box(class, x, y, w, h)
	p.lines("m", x+w/2, y+h/2-float64(len(lines)-1)*7.5+4, lines...)
}

func (p *picture) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&p.shapes, "<path class=%q d=\"M%s %sL%s %s\"/>\n", class, px(x1), px(y1), px(x2), px(y2))
}

// arrow goes along points, two numbers each.
func (p *picture) arrow(class string, points ...float64) {
	var d strings.Builder
	for i := 0; i+1 < len(points); i += 2 {
		d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + px(points[i]) + " " + px(points[i+1]))
	}
	fmt.Fprintf(&p.shapes, "<path class=%q d=%q marker-end=\"url(#to)\"/>\n", class, d.String())
}

// SVG is the whole file.
func (p *picture) SVG() []byte {
	var out bytes.Buffer
	// Its natural size is a quarter larger than the view box: as large as a page's text on a wide
	// screen. A narrow screen shrinks it.
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="rl-p" role="img" aria-labelledby="t d" width="%d" height="%s" viewBox="0 0 %d %s">`+"\n",
		pictureWidth*5/4, px(p.Height*5/4), pictureWidth, px(p.Height))
	fmt.Fprintf(&out, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n", escaped(p.Title), escaped(p.Desc))
	fmt.Fprintf(&out, "<style>%s%s</style>\n", palette.CSS("svg"), pictureStyle)
	out.WriteString(`<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	fmt.Fprintf(&out, "<rect class=\"paper\" width=\"%d\" height=\"%s\"/>\n", pictureWidth, px(p.Height))
	out.Write(p.shapes.Bytes())
	for _, l := range p.texts {
		fmt.Fprintf(&out, "<text class=%q x=\"%s\" y=\"%s\">%s</text>\n", l.class, px(l.x), px(l.y), escaped(l.text))
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
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
