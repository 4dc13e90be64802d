package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// SVG draws the curve as a file, light or dark like the reader's system.
func (c Curve) SVG(w io.Writer) error { return newChart(c).draw().SVG(w) }

const (
	plotLeft   = 62.0
	plotRight  = drawing.Width - 22.0
	plotHeight = 220.0
	// titleLetters is the number of letters of a title in a line.
	titleLetters = 44
)

// chart draws a Curve.
type chart struct {
	drawing.Canvas
	c    Curve
	x, y span
	top  float64 // of the plot
}

func newChart(c Curve) *chart {
	return &chart{c: c, x: span{scale: c.X}, y: span{scale: c.Y}}
}

// span is the range of an axis, with its ticks.
type span struct {
	scale     Scale
	low, high float64
	ticks     []float64
}

func usable(s Scale, v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!s.Log || v > 0)
}

// measure finds the ranges.
func (ch *chart) measure() {
	for _, s := range ch.c.Series {
		for _, p := range s.Points {
			if !ch.shown(p) {
				continue
			}
			ch.x.take(p.X)
			ch.y.take(p.Y)
			if p.bounded() {
				ch.y.take(p.Low)
				ch.y.take(p.High)
			}
		}
	}
	if !ch.c.Y.Log {
		ch.y.take(0)
		if ch.c.Y.Percent {
			ch.y.take(1)
		}
	}
	ch.x.settle()
	ch.y.settle()
}

func (ch *chart) shown(p Point) bool { return usable(ch.c.X, p.X) && usable(ch.c.Y, p.Y) }

func (p Point) bounded() bool { return p.Low != 0 || p.High != 0 }

func (s *span) take(v float64) {
	switch {
	case !usable(s.scale, v):
	case s.ticks == nil: // the first
		s.low, s.high, s.ticks = v, v, []float64{}
	default:
		s.low, s.high = min(s.low, v), max(s.high, v)
	}
}

// settle rounds the range to ticks that a person would choose.
func (s *span) settle() {
	if s.ticks == nil {
		s.low, s.high = 0, 1
		if s.scale.Log {
			s.low = 0.1
		}
	}
	s.ticks = nil
	if s.scale.Log {
		from, to := math.Floor(math.Log10(s.low)), math.Ceil(math.Log10(s.high))
		if from == to {
			to++
		}
		every := math.Ceil((to - from) / 8)
		for e := from; e <= to; e += every {
			s.ticks = append(s.ticks, math.Pow(10, e))
		}
		s.low, s.high = math.Pow(10, from), math.Pow(10, to)
		return
	}
	if s.low == s.high {
		s.high = s.low + max(1, math.Abs(s.low))
	}
	step := nice((s.high - s.low) / 5)
	from, to := math.Floor(s.low/step+1e-9), math.Ceil(s.high/step-1e-9)
	for i := from; i <= to && len(s.ticks) < 50; i++ {
		s.ticks = append(s.ticks, i*step)
	}
	s.low, s.high = from*step, to*step
}

// nice rounds up to 1, 2, 5, 10, ...
func nice(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 5} {
		if n*unit >= v*(1-1e-9) {
			return n * unit
		}
	}
	return 10 * unit
}

// at is the position of a value in the range, 0 to 1.
func (s span) at(v float64) float64 {
	if s.scale.Log {
		return (math.Log10(v) - math.Log10(s.low)) / (math.Log10(s.high) - math.Log10(s.low))
	}
	return (v - s.low) / (s.high - s.low)
}

func (s span) text(v float64) string {
	if s.scale.Log && s.low > 0 && s.high/s.low >= 1e4 && slices.Contains(s.ticks, v) {
		return "10" + raised(int(math.Round(math.Log10(v))))
	}
	if s.scale.Percent {
		return number(100*v) + " %"
	}
	return number(v)
}

// number writes a value with four digits, and large ones with gaps.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	if a := math.Abs(v); a >= 1e7 || a < 1e-4 {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
		n, _ := strconv.Atoi(exponent)
		if m, err := strconv.ParseFloat(mantissa, 64); err == nil {
			mantissa = strconv.FormatFloat(m, 'g', 3, 64) + " · 10"
		}
		if mantissa == "1 · 10" {
			mantissa = "10"
		}
		return mantissa + raised(n)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64); err == nil && math.Abs(v) < 1e4 {
		s = strconv.FormatFloat(r, 'f', -1, 64)
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil && (n >= 1000 || n <= -1000) {
		return grouped(n)
	}
	if fraction != "" {
		return whole + "." + fraction
	}
	return whole
}

func raised(n int) string {
	return strings.Map(func(r rune) rune {
		if r == '-' {
			return '⁻'
		}
		return []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[r-'0']
	}, strconv.Itoa(n))
}

// grouped writes a number with narrow gaps between groups of three digits.
func grouped(n int64) string { return strings.ReplaceAll(timeline.Grouped(n), " ", "\u202f") }

// at is where a point is drawn.
func (ch *chart) at(x, y float64) (float64, float64) {
	return plotLeft + ch.x.at(x)*(plotRight-plotLeft), ch.top + plotHeight - ch.y.at(y)*plotHeight
}

func (ch *chart) draw() *drawing.Canvas {
	ch.measure()
	ch.Title, ch.Desc = ch.c.Title, ch.describe()
	y := ch.Lines("h", 0, 16, wrap.Lines(ch.c.Title, titleLetters, "", "")...) + 4
	y = ch.legend(y)
	ch.Text("", 0, y+6, ch.c.Y.label())
	ch.top = y + 20
	ch.axes()
	for i, s := range ch.c.Series {
		points := ch.points(s)
		if s.Line {
			ch.line(i, points)
			continue
		}
		for _, p := range points {
			ch.point(i, p)
		}
	}
	ch.Height = ch.top + plotHeight + 48
	return &ch.Canvas
}

// legend names the series, in as few rows as possible, and returns the y below them.
func (ch *chart) legend(y float64) float64 {
	x := 0.0
	for i, s := range ch.c.Series {
		w := 34 + drawing.Wide("", s.Name) + 14
		if x > 0 && x+w > plotRight {
			x, y = 0, y+18
		}
		if s.Line {
			ch.Line(lineClass(i), x, y, x+28, y)
		} else {
			ch.marker(i, x+14, y)
		}
		ch.Text("", x+34, y+4, s.Name)
		x += w
	}
	return y + 20
}

func (ch *chart) axes() {
	bottom := ch.top + plotHeight
	for _, v := range ch.y.ticks {
		_, y := ch.at(ch.x.low, v)
		ch.Line("grid", plotLeft, y, plotRight, y)
		ch.Text("s e", plotLeft-6, y+4, ch.y.text(v))
	}
	for _, v := range ch.x.ticks {
		x, _ := ch.at(v, ch.y.low)
		ch.Line("grid", x, ch.top, x, bottom)
		ch.Text("s m", x, bottom+16, ch.x.text(v))
	}
	ch.Path("", "M", plotLeft, ch.top, "V", bottom, "H", plotRight)
	ch.Text("m", (plotLeft+plotRight)/2, bottom+38, ch.c.X.label())
}

// lineClass tells lines apart by colours and by dashes.
func lineClass(i int) string {
	return fmt.Sprintf("l%d x%d", i%len(drawing.Series), i%4)
}

// points are the visible points of a series, from left to right.
func (ch *chart) points(s Series) []Point {
	points := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return !ch.shown(p) })
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	return points
}

func (ch *chart) line(i int, points []Point) {
	var steps []any
	for n, p := range points {
		x, y := ch.at(p.X, p.Y)
		steps = append(steps, "ML"[min(n, 1):][:1], x, y)
	}
	if len(steps) > 0 {
		ch.Path(lineClass(i), steps...)
	}
}

func (ch *chart) point(i int, p Point) {
	x, y := ch.at(p.X, p.Y)
	if p.bounded() && usable(ch.c.Y, p.High) {
		low := p.Low
		if !usable(ch.c.Y, low) {
			low = ch.y.low
		}
		_, y1 := ch.at(p.X, low)
		_, y2 := ch.at(p.X, p.High)
		ch.Path(fmt.Sprintf("l%d", i%len(drawing.Series)), "M", x, y1, "V", y2, "M", x-4, y1, "H", x+4, "M", x-4, y2, "H", x+4)
	}
	ch.marker(i, x, y).Tip = ch.tell(p)
}

// marker tells series apart by shape.
func (ch *chart) marker(i int, x, y float64) *drawing.Shape {
	class := fmt.Sprintf("o%d", i%len(drawing.Series))
	switch i % 4 {
	case 0:
		return ch.Dot(class, x, y, 8)
	case 1:
		return ch.Box(class, x-4, y-4, 8, 8)
	case 2:
		return ch.Path(class, "M", x, y-6, "l5 9h-10z")
	default:
		return ch.Path(class, "M", x, y-5, "l5 5l-5 5l-5 -5z")
	}
}

func (ch *chart) tell(p Point) string {
	s := fmt.Sprintf("%s: %s", ch.x.text(p.X), ch.y.text(p.Y))
	if p.bounded() {
		s += fmt.Sprintf(" (%s to %s)", ch.y.text(p.Low), ch.y.text(p.High))
	}
	if p.Runs > 0 {
		s += fmt.Sprintf(", %d runs", p.Runs)
	}
	return s
}

// describe describes the chart for readers who cannot see it.
func (ch *chart) describe() string {
	parts := []string{fmt.Sprintf("%s against %s.", ch.c.Y.label(), ch.c.X.label())}
	if ch.c.Words != "" {
		parts = append(parts, ch.c.Words)
	}
	for _, s := range ch.c.Series {
		points := ch.points(s)
		if len(points) == 0 {
			continue
		}
		if !s.Line {
			var all []string
			for _, p := range points {
				all = append(all, ch.tell(p))
			}
			parts = append(parts, s.Name+": "+strings.Join(all, "; ")+".")
			continue
		}
		first, last := points[0], points[len(points)-1]
		parts = append(parts, fmt.Sprintf("%s: from %s at %s to %s at %s.", s.Name, ch.y.text(first.Y), ch.x.text(first.X), ch.y.text(last.Y), ch.x.text(last.X)))
	}
	return strings.Join(parts, " ")
}

// safeID replaces characters that an ID must not have.
func safeID(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, s)
}
