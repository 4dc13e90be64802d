package drawing

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// themes picks a colour as each theme has it.
var themes = map[string]func(Color) string{
	"light": func(c Color) string { return c.Light },
	"dark":  func(c Color) string { return c.Dark },
}

func TestTextCanBeRead(t *testing.T) {
	grounds := []Color{Paper, card, alarmTint, FaultTint, goodTint}
	for _, s := range Series {
		grounds = append(grounds, s.Tint)
	}
	for theme, pick := range themes {
		for _, ground := range grounds {
			for _, text := range []Color{Ink, Soft} {
				assert.GreaterOrEqual(t, contrast(pick(text), pick(ground)), 4.5, "%s: %s on %s", theme, text.Name, ground.Name)
			}
		}
		for _, ground := range []Color{Paper, card} {
			for _, text := range []Color{link, Alarm, Fault, Good} {
				assert.GreaterOrEqual(t, contrast(pick(text), pick(ground)), 4.5, "%s: %s on %s", theme, text.Name, ground.Name)
			}
		}
		for text, ground := range map[Color]Color{
			Alarm: alarmTint, Fault: FaultTint, Good: goodTint,
		} {
			assert.GreaterOrEqual(t, contrast(pick(text), pick(ground)), 4.5, "%s: %s on %s", theme, text.Name, ground.Name)
		}
	}
}

func TestLinesCanBeSeen(t *testing.T) {
	for theme, pick := range themes {
		for _, s := range Series {
			for _, ground := range []Color{Paper, card, s.Tint} {
				assert.GreaterOrEqual(t, contrast(pick(s.Line), pick(ground)), 3.0, "%s: %s on %s", theme, s.Line.Name, ground.Name)
			}
		}
	}
}

func TestContrast(t *testing.T) {
	assert.InDelta(t, 21, contrast("#000000", "#ffffff"), 0.001)
	assert.InDelta(t, 1, contrast("#123456", "#123456"), 0.001)
	assert.InDelta(t, 4.54, contrast("#767676", "#ffffff"), 0.01, "the grey that is just dark enough")
	assert.Zero(t, contrast("red", "#ffffff"))
	assert.Zero(t, contrast("#fff", "#ffffff"))
}

func TestCSSDeclaresEveryColorTwice(t *testing.T) {
	css := CSS(":root")
	for _, c := range colors() {
		assert.Equal(t, 2, strings.Count(css, "--"+c.Name+":"), c.Name)
	}
	assert.Equal(t, "var(--ink)", Ink.Var())
}

// contrast is the contrast ratio of two colours by WCAG 2.2, 1 to 21; 0 if one isn't of the form
// "#rrggbb". Text needs 4.5, lines 3.
// Source: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
func contrast(a, b string) float64 {
	la, ok := luminance(a)
	lb, ok2 := luminance(b)
	if !ok || !ok2 {
		return 0
	}
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(color string) (float64, bool) {
	digits, ok := strings.CutPrefix(color, "#")
	n, err := strconv.ParseUint(digits, 16, 32)
	if !ok || len(digits) != 6 || err != nil {
		return 0, false
	}
	channel := func(shift uint) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0), true
}
