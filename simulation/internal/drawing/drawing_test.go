package drawing

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCanvas(t *testing.T) {
	c := Canvas{Title: "a <b>", Desc: "& c", Height: 40}
	c.Text("n", 0, 12, "above")
	c.Text("", 0, 12, "")
	c.Box("yes", 1, 2, 0, 4.25)
	c.Dot("d0", 10, 10, 8)
	c.Under(func() { c.Box("axis", 1, 2, 3, 4) })
	svg := c.Inline()
	for _, want := range []string{`aria-label="a &lt;b&gt;. &amp; c"`, `viewBox="0 0 400 40"`, `<rect class="yes" x="1" y="2" width="1" height="4.2"/>`, `rx="4"`} {
		assert.Contains(t, svg, want)
	}
	assert.Less(t, strings.Index(svg, `class="axis"`), strings.Index(svg, "above"), "it is below")
	assert.Equal(t, 1, strings.Count(svg, "<text"))
	assert.NotContains(t, svg, "<style>")
	var file strings.Builder
	require.NoError(t, c.SVG(&file))
	assert.Contains(t, file.String(), "prefers-color-scheme:dark")
	_, closed := io.Pipe()
	require.NoError(t, closed.Close())
	require.ErrorIs(t, c.SVG(closed), io.ErrClosedPipe)
	assert.Greater(t, Wide("al", "wide"), Wide("", "wide"))
	assert.Greater(t, Wide("h", "wide"), Wide("al", "wide"))
}

// Text, and the lines and borders that have a meaning, can be seen on what they are drawn on: the contrast ratio
// of WCAG 2.2 is 4.5 for text and 3 for lines, of 1 to 21.
// Source: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
func TestContrast(t *testing.T) {
	light, dark, ok := strings.Cut(colors, "@media")
	require.True(t, ok)
	pairs := "ink soft/paper card alarm-tint fault-tint good-tint; link alarm fault good/paper card; alarm/alarm-tint; fault/fault-tint; good/good-tint"
	lines := ""
	for i := range Series {
		pairs += fmt.Sprintf("; ink soft/s%d-tint", i+1)
		lines += fmt.Sprintf("; s%[1]d/paper card s%[1]d-tint", i+1)
	}
	for theme, css := range map[string]string{"light": light, "dark": dark} {
		luminance := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+):#(..)(..)(..);`).FindAllStringSubmatch(css, -1) {
			for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
				var c uint8
				_, err := fmt.Sscanf(m[2+i], "%x", &c)
				require.NoError(t, err, m[0])
				linear := float64(c) / 255 / 12.92
				if linear > 0.04045/12.92 {
					linear = math.Pow((float64(c)/255+0.055)/1.055, 2.4)
				}
				luminance[m[1]] += weight * linear
			}
		}
		for _, m := range regexp.MustCompile(`var\(--([a-z0-9-]+)\)`).FindAllStringSubmatch(Page(), -1) {
			assert.Contains(t, luminance, m[1], "%s: a class has a colour that doesn't exist", theme)
		}
		for list, least := range map[string]float64{pairs: 4.5, lines[2:]: 3} {
			for _, pair := range strings.Split(list, "; ") {
				above, below, _ := strings.Cut(pair, "/")
				for _, a := range strings.Fields(above) {
					for _, b := range strings.Fields(below) {
						la, lb := luminance[a], luminance[b]
						assert.GreaterOrEqual(t, (max(la, lb)+0.05)/(min(la, lb)+0.05), least, "%s: %s on %s", theme, a, b)
					}
				}
			}
		}
	}
}
