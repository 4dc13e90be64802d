package report

import (
	"fmt"
	"image"
	imagecolor "image/color"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

const (
	// previewWidth and previewHeight are the size that link previews have.
	previewWidth  = 1200
	previewHeight = 630
	previewMargin = 40.0
)

// Preview writes an image of the report for link previews, a PNG of 1200 by 630 pixels: the
// title, the opening's runs, and the description. It cannot be part of the page, because
// services load it from an address.
func (r Report) Preview(w io.Writer) error {
	sketches := r.previewed()
	c := newCanvas(previewWidth, previewHeight)
	const width = previewWidth - 2*previewMargin
	y := previewMargin
	for _, line := range clipped(wrap.Lines(r.Title, letters(width, 46), "", ""), 2) {
		y += 46
		c.text(line, previewMargin, y, 46, palette.Ink)
	}
	y += 34
	if n := float64(len(sketches)); n > 0 {
		scale := (width - 40*(n-1)) / n / timeline.SketchWidth
		tallest := 0
		for _, s := range sketches {
			tallest = max(tallest, s.Height)
		}
		scale = min(scale, 340/float64(tallest))
		for i, s := range sketches {
			c.sketch(s, previewMargin+float64(i)*(timeline.SketchWidth*scale+40), y, scale)
		}
		y += float64(tallest)*scale + 26
	}
	const size = 22
	lines := int((previewHeight - 10 - y) / (size + 8))
	for _, line := range clipped(wrap.Lines(r.Description, letters(width, size), "", ""), lines) {
		y += size
		c.text(line, previewMargin, y, size, palette.Ink)
		y += 8
	}
	if err := png.Encode(w, c.img); err != nil {
		return fmt.Errorf("report: writing the preview: %w", err)
	}
	return nil
}

// previewed are the drawings of the preview: the opening, or else the report's only run.
func (r Report) previewed() []timeline.Sketch {
	if r.Opening != nil {
		return r.Opening.sketches()
	}
	for _, run := range r.Timelines {
		if !run.Full {
			continue
		}
		return []timeline.Sketch{timeline.Of(run.Log).Sketch("", run.Kinds...)}
	}
	return nil
}

// clipped is at most n lines. If lines are missing, the last one ends with "…".
func clipped(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	if n <= 0 {
		return nil
	}
	lines = append([]string{}, lines[:n]...)
	lines[n-1] += " …"
	return lines
}

// perLetter is a letter's width as a share of its size.
const perLetter = 0.56

// letters is how many letters of a size fit into a width, with room for "…".
func letters(width, size float64) int { return int(width/(perLetter*size)) - 2 }

// canvas is an image.
type canvas struct{ img *image.RGBA }

func newCanvas(width, height int) canvas {
	c := canvas{image.NewRGBA(image.Rect(0, 0, width, height))}
	c.fill(0, 0, float64(width), float64(height), palette.Paper)
	return c
}

// fill fills a box. It mixes the colours of pixels at its edges.
func (c canvas) fill(x1, y1, x2, y2 float64, with palette.Color) {
	rgb, err := strconv.ParseUint(strings.TrimPrefix(with.Light, "#"), 16, 32)
	if err != nil {
		return // the palette's tests check them
	}
	bounds := c.img.Bounds()
	for y := max(0, int(y1)); y < min(bounds.Max.Y, int(math.Ceil(y2))); y++ {
		high := min(y2, float64(y+1)) - max(y1, float64(y))
		for x := max(0, int(x1)); x < min(bounds.Max.X, int(math.Ceil(x2))); x++ {
			share := high * (min(x2, float64(x+1)) - max(x1, float64(x)))
			old := c.img.RGBAAt(x, y)
			mix := func(from uint8, shift uint) uint8 {
				return uint8(math.Round(float64(from) + share*(float64(rgb>>shift&0xff)-float64(from))))
			}
			c.img.SetRGBA(x, y, imagecolor.RGBA{R: mix(old.R, 16), G: mix(old.G, 8), B: mix(old.B, 0), A: 255})
		}
	}
}

// text writes a text on a baseline.
func (c canvas) text(text string, x, baseline, size float64, with palette.Color) {
	dot := perLetter * size / (glyphColumns + 1)
	high := 1.15 * dot
	for _, r := range text {
		for i, column := range glyph(r) {
			for row := range glyphRows {
				if column>>row&1 == 1 {
					// Whole pixels leave no gaps between dots.
					left, right := math.Round(x+float64(i)*dot), math.Round(x+float64(i+1)*dot)
					top, bottom := math.Round(baseline+float64(row-7)*high), math.Round(baseline+float64(row-6)*high)
					c.fill(left, top, max(right, left+1), max(bottom, top+1), with)
				}
			}
		}
		x += perLetter * size
	}
}

// frame draws a box with a line around it.
func (c canvas) frame(x, y, w, h, line float64, inside, around palette.Color) {
	c.fill(x, y, x+w, y+h, around)
	c.fill(x+line, y+line, x+w-line, y+h-line, inside)
}

// sketch draws a small drawing of a run.
func (c canvas) sketch(s timeline.Sketch, left, top, scale float64) {
	for _, shape := range s.Shapes {
		x, y, w, h := left+shape.X*scale, top+shape.Y*scale, shape.W*scale, shape.H*scale
		if shape.Text == "" {
			c.shape(shape.Class, x, y, w, h, scale)
			continue
		}
		size := 12 * scale
		with := palette.Ink
		for _, class := range strings.Fields(shape.Class) {
			wide := perLetter * size * float64(len([]rune(shape.Text)))
			switch class {
			case "h":
				size = 14 * scale
			case "s":
				with = palette.Soft
			case "al":
				with = palette.Alarm
			case "fa":
				with = palette.Fault
			case "ok":
				with = palette.Good
			case "e":
				x -= wide
			case "m":
				x -= wide / 2
			}
		}
		c.text(shape.Text, x, y, size, with)
	}
}

// shape draws a box like the style sheet of sketches.
func (c canvas) shape(class string, x, y, w, h, scale float64) {
	switch class {
	case "lane":
		c.fill(x, y, x+w, y+h, palette.Faint)
	case "axis":
		c.fill(x, y, x+w, y+h, palette.Soft)
	case "vl", "dal":
		c.fill(x, y, x+w, y+h, palette.Alarm)
	case "fl":
		c.fill(x, y, x+w, y+h, palette.Fault)
	case "z":
		c.frame(x, y, w, h, scale, palette.FaultTint, palette.Fault)
	case "dok":
		c.frame(x, y, w, h, 2*scale, palette.Paper, palette.Good)
	case "un":
		for _, edge := range [][4]float64{{x, y, x + w, y + 2}, {x, y + h - 2, x + w, y + h}, {x, y, x + 2, y + h}, {x + w - 2, y, x + w, y + h}} {
			c.fill(edge[0], edge[1], edge[2], edge[3], palette.Alarm)
		}
	default:
		if i, err := strconv.Atoi(class[1:]); err == nil {
			series := palette.Series[i%len(palette.Series)]
			if class[0] == 'd' {
				c.fill(x, y, x+w, y+h, series.Line)
				return
			}
			c.frame(x, y, w, h, scale, series.Tint, series.Line)
		}
	}
}
