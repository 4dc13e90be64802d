// Package drawing draws pictures of boxes, lines and texts as SVG, in colours for light and dark
// themes. No information is in colour alone.
package drawing

import (
	"bytes"
	"cmp"
	_ "embed" // for the style
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Width is the width of most pictures: about that of a phone's screen, so that letters of 12
// pixels are legible there.
const Width = 400

// Canvas is a picture. The zero Canvas has the usual Width.
type Canvas struct {
	Title string
	Desc  string // in words, for readers who can't see it
	Width float64
	// Height grows with what is drawn, or is set.
	Height float64
	Shapes []Shape // from the lowest up
}

// Shape is a box or a text. The classes are those of drawing.css.
type Shape struct {
	Class string
	X, Y  float64 // a box's upper left corner, or the beginning of a text's baseline
	W, H  float64 // of a box
	R     float64 // the radius of a box's corners
	Text  string
}

// Box adds a box. It is at least a pixel wide.
func (c *Canvas) Box(class string, x, y, w, h float64) {
	c.Shapes = append(c.Shapes, Shape{Class: class, X: x, Y: y, W: max(1, w), H: h})
}

// Dot adds a circle around a point.
func (c *Canvas) Dot(class string, x, y, size float64) {
	c.Shapes = append(c.Shapes, Shape{Class: class, X: x - size/2, Y: y - size/2, W: size, H: size, R: size / 2})
}

// Text adds a line of text. Its class may have e, so that it ends at x, or m for the middle.
func (c *Canvas) Text(class string, x, y float64, text string) {
	if text != "" {
		c.Shapes = append(c.Shapes, Shape{Class: class, X: x, Y: y, Text: text})
	}
}

// Under draws below everything that has been drawn.
func (c *Canvas) Under(draw func()) {
	above := c.Shapes
	c.Shapes = nil
	draw()
	c.Shapes = append(c.Shapes, above...)
}

// Series is the number of classes that distinguish processes: b0, b1, ... for bars, and d0, d1, ... for dots.
const Series = 6

var (
	//go:embed colors.css
	colors string
	//go:embed drawing.css
	style string
	//go:embed page.css
	page string
)

// Page is the style sheet of a page with pictures, before its own rules. Colours are light or dark as the
// reader's system asks, and light on paper.
func Page() string { return colors + page + style }

// SVG writes the picture as a file, light or dark as the reader's system asks.
func (c *Canvas) SVG(w io.Writer) error {
	return c.write(w, "<style>"+strings.NewReplacer("\n", "", ":root", "svg").Replace(colors+style)+"</style>\n")
}

// Inline is the picture for a page that has the style sheet Page.
func (c *Canvas) Inline() string {
	var b strings.Builder
	_ = c.write(&b, "") // a Builder takes everything
	return b.String()
}

func (c *Canvas) write(w io.Writer, style string) error {
	width, height := cmp.Or(c.Width, Width), math.Ceil(c.Height)
	natural := 1.0
	if style != "" {
		natural = 1.25 // as large as a page's text on a wide screen; a narrow one shrinks it
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="rl" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`+"\n%s",
		escaped(strings.TrimPrefix(strings.TrimSpace(c.Title+". "+c.Desc), ". ")), px(natural*width), px(natural*height), px(width), px(height), style)
	fmt.Fprintf(&out, `<rect class="paper" width="%s" height="%s"/>`+"\n", px(width), px(height))
	for _, s := range c.Shapes {
		s.write(&out)
	}
	out.WriteString("</svg>\n")
	_, err := w.Write(out.Bytes())
	return err
}

func (s Shape) write(out *bytes.Buffer) {
	at := fmt.Sprintf(` x="%s" y="%s"`, px(s.X), px(s.Y))
	if s.Class != "" {
		at = fmt.Sprintf(` class="%s"`, s.Class) + at
	}
	if s.Text != "" {
		fmt.Fprintf(out, "<text%s>%s</text>\n", at, escaped(s.Text))
		return
	}
	at += fmt.Sprintf(` width="%s" height="%s"`, px(s.W), px(s.H))
	if s.R > 0 {
		at += fmt.Sprintf(` rx="%s"`, px(s.R))
	}
	fmt.Fprintf(out, "<rect%s/>\n", at)
}

// Wide estimates the width of a text of a class: at most as wide as in any usual font.
func Wide(class, text string) float64 {
	size, letter := 12.0, 0.56
	for _, c := range strings.Fields(class) {
		switch c {
		case "h":
			size, letter = 14, 0.62
		case "n", "al", "fa", "ok":
			letter = 0.62
		}
	}
	wide := float64(utf8.RuneCountInString(text))
	for _, r := range text {
		if unicode.IsUpper(r) {
			wide += 0.25
		}
	}
	return size * letter * wide
}

// px writes a coordinate with one decimal.
func px(v float64) string { return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") }

// escaped escapes a text for XML.
func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a Buffer takes everything
	return b.String()
}
