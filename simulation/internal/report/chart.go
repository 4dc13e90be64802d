package report

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// chartStyle is the style sheet of charts, beside the palette's variables.
const chartStyle = `.rl-c text{font:13px/1.2 system-ui,-apple-system,"Segoe UI","Noto Sans",Arial,sans-serif;fill:var(--ink)}
.rl-c .h{font-size:16px;font-weight:600}
.rl-c .s{font-size:12px;fill:var(--soft)}
.rl-c .paper{fill:var(--paper)}
.rl-c .grid{stroke:var(--faint);stroke-width:1}
.rl-c .axis{stroke:var(--soft);stroke-width:1.5}
`

// SVG draws the curve as a file, light or dark like the reader's system.
func (c Curve) SVG(w io.Writer) error { return c.draw(w, false) }

func (c Curve) draw(w io.Writer, inline bool) error {
	ch := newChart(c)
	ch.measure()
	_, err := w.Write(ch.render(inline))
	return err
}

const (
	// chartWidth is a little more than a phone's, so that text is readable there. A wide
	// screen shows three charts side by side.
	chartWidth = 440.0
	plotLeft   = 74.0
	plotRight  = chartWidth - 20
	plotHeight = 240.0
	// titleLetters is the number of letters of a title in a line.
	titleLetters = 44
)

// chart draws a Curve.
type chart struct {
	c    Curve
	x, y span
	top  float64 // of the plot
	out  bytes.Buffer
}

func newChart(c Curve) *chart { return &chart{c: c, x: span{scale: c.X}, y: span{scale: c.Y}} }

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
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range s {
		if i > 0 && s[i-1] != '-' && (len(s)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return b.String()
}

func (ch *chart) px(x, y float64) (float64, float64) {
	return plotLeft + ch.x.at(x)*(plotRight-plotLeft), ch.top + plotHeight - ch.y.at(y)*plotHeight
}

// render draws everything.
func (ch *chart) render(inline bool) []byte {
	id := "c-" + safeID(ch.c.ID)
	legend := ch.legend()
	title := wrap.Lines(ch.c.Title, titleLetters, "", "")
	head := 24 + 20*float64(len(title))
	ch.top = head + 20*float64(len(legend)) + 10
	height := ch.top + plotHeight + 58
	fmt.Fprintf(&ch.out, `<svg xmlns="http://www.w3.org/2000/svg" class="rl-c" id="%s" role="img" aria-labelledby="%[1]s-title %[1]s-desc" width="%s" height="%s" viewBox="0 0 %[2]s %[3]s">`+"\n",
		id, f(chartWidth), f(height))
	fmt.Fprintf(&ch.out, "<title id=\"%[1]s-title\">%[2]s</title>\n<desc id=\"%[1]s-desc\">%[3]s</desc>\n", id, escaped(ch.c.Title), escaped(ch.describe()))
	if !inline {
		fmt.Fprintf(&ch.out, "<style>%s%s</style>\n", palette.CSS("svg"), chartStyle)
	}
	fmt.Fprintf(&ch.out, `<rect class="paper" width="%s" height="%s"/>`+"\n", f(chartWidth), f(height))
	for i, line := range title {
		ch.text(12, 26+20*float64(i), "h", "start", line)
	}
	ch.axes()
	ch.series()
	for row, entries := range legend {
		x := plotLeft
		for _, i := range entries {
			y := head + 4 + 20*float64(row)
			ch.sample(i, x, y)
			ch.text(x+38, y+4, "", "start", ch.c.Series[i].Name)
			x += ch.entryWidth(i)
		}
	}
	ch.out.WriteString("</svg>\n")
	return ch.out.Bytes()
}

func (ch *chart) entryWidth(i int) float64 {
	return 38 + 7.4*float64(utf8.RuneCountInString(ch.c.Series[i].Name)) + 22
}

// legend divides the series' names into rows.
func (ch *chart) legend() [][]int {
	var rows [][]int
	left := 0.0
	for i := range ch.c.Series {
		w := ch.entryWidth(i)
		if len(rows) == 0 || w > left {
			rows, left = append(rows, nil), plotRight-plotLeft
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], i)
		left -= w
	}
	return rows
}

func (ch *chart) axes() {
	bottom := ch.top + plotHeight
	for _, v := range ch.y.ticks {
		_, y := ch.px(ch.x.low, v)
		fmt.Fprintf(&ch.out, `<line class="grid" x1="%s" y1="%s" x2="%s" y2="%[2]s"/>`+"\n", f(plotLeft), f(y), f(plotRight))
		ch.text(plotLeft-8, y+4, "s", "end", ch.y.text(v))
	}
	for _, v := range ch.x.ticks {
		x, _ := ch.px(v, ch.y.low)
		fmt.Fprintf(&ch.out, `<line class="grid" x1="%[1]s" y1="%[2]s" x2="%[1]s" y2="%[3]s"/>`+"\n", f(x), f(ch.top), f(bottom))
		ch.text(x, bottom+18, "s", "middle", ch.x.text(v))
	}
	fmt.Fprintf(&ch.out, `<path class="axis" fill="none" d="M%s %sV%sH%s"/>`+"\n", f(plotLeft), f(ch.top), f(bottom), f(plotRight))
	ch.text((plotLeft+plotRight)/2, bottom+42, "", "middle", ch.c.X.label())
	y := ch.top + plotHeight/2
	fmt.Fprintf(&ch.out, `<text x="18" y="%s" text-anchor="middle" transform="rotate(-90 18 %[1]s)">%s</text>`+"\n", f(y), escaped(ch.c.Y.label()))
}

func color(i int) string { return palette.Series[i%len(palette.Series)].Line.Var() }

// dashes tell lines apart without colours.
var dashes = []string{"", "8 4", "2 3", "10 3 2 3"}

func (ch *chart) series() {
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
}

// points are the visible points of a series, from left to right.
func (ch *chart) points(s Series) []Point {
	points := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return !ch.shown(p) })
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	return points
}

func (ch *chart) line(i int, points []Point) {
	var path strings.Builder
	for n, p := range points {
		x, y := ch.px(p.X, p.Y)
		fmt.Fprintf(&path, "%c%s %s", "ML"[min(n, 1)], f(x), f(y))
	}
	if path.Len() > 0 {
		ch.stroke(i, path.String())
	}
}

func (ch *chart) stroke(i int, path string) {
	fmt.Fprintf(&ch.out, `<path fill="none" style="stroke:%s;stroke-width:2" stroke-dasharray="%s" d="%s"/>`+"\n", color(i), dashes[i%len(dashes)], path)
}

func (ch *chart) point(i int, p Point) {
	x, y := ch.px(p.X, p.Y)
	fmt.Fprintf(&ch.out, "<g><title>%s</title>", escaped(ch.tell(p)))
	if p.bounded() {
		low := p.Low
		if !usable(ch.c.Y, low) {
			low = ch.y.low
		}
		_, y1 := ch.px(p.X, low)
		if _, y2 := ch.px(p.X, p.High); usable(ch.c.Y, p.High) {
			fmt.Fprintf(&ch.out, `<path fill="none" style="stroke:%s;stroke-width:1.5" d="M%[2]s %[3]sV%[4]sM%[5]s %[3]sH%[6]sM%[5]s %[4]sH%[6]s"/>`,
				color(i), f(x), f(y1), f(y2), f(x-4), f(x+4))
		}
	}
	ch.marker(i, x, y)
	ch.out.WriteString("</g>\n")
}

// marker tells series apart by shape.
func (ch *chart) marker(i int, x, y float64) {
	style := fmt.Sprintf(`style="fill:%s;stroke:%s;stroke-width:1.5"`, palette.Paper.Var(), color(i))
	switch i % 4 {
	case 0:
		fmt.Fprintf(&ch.out, `<circle cx="%s" cy="%s" r="4" %s/>`, f(x), f(y), style)
	case 1:
		fmt.Fprintf(&ch.out, `<rect x="%s" y="%s" width="8" height="8" %s/>`, f(x-4), f(y-4), style)
	case 2:
		fmt.Fprintf(&ch.out, `<path d="M%s %sl5 9h-10z" %s/>`, f(x), f(y-6), style)
	default:
		fmt.Fprintf(&ch.out, `<path d="M%s %sl5 5l-5 5l-5 -5z" %s/>`, f(x), f(y-5), style)
	}
}

// sample is a series in the legend.
func (ch *chart) sample(i int, x, y float64) {
	if ch.c.Series[i].Line {
		ch.stroke(i, fmt.Sprintf("M%s %sh30", f(x), f(y)))
		return
	}
	ch.marker(i, x+15, y)
	ch.out.WriteString("\n")
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
		first, last := points[0], points[len(points)-1]
		parts = append(parts, fmt.Sprintf("%s: from %s at %s to %s at %s.", s.Name, ch.y.text(first.Y), ch.x.text(first.X), ch.y.text(last.Y), ch.x.text(last.X)))
	}
	return strings.Join(parts, " ")
}

func (ch *chart) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(&ch.out, `<text x="%s" y="%s" class="%s" text-anchor="%s">%s</text>`+"\n", f(x), f(y), class, anchor, escaped(text))
}

// f writes a coordinate with one decimal.
func f(v float64) string { return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") }

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a Buffer takes everything
	return b.String()
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
