package drawing

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
				assert.GreaterOrEqual(t, contrast(t, pick(text), pick(ground)), 4.5, "%s: %s on %s", theme, text.Name, ground.Name)
			}
		}
		for _, ground := range []Color{Paper, card} {
			for _, text := range []Color{link, Alarm, Fault, Good} {
				assert.GreaterOrEqual(t, contrast(t, pick(text), pick(ground)), 4.5, "%s: %s on %s", theme, text.Name, ground.Name)
			}
		}
		for text, ground := range map[Color]Color{
			Alarm: alarmTint, Fault: FaultTint, Good: goodTint,
		} {
			assert.GreaterOrEqual(t, contrast(t, pick(text), pick(ground)), 4.5, "%s: %s on %s", theme, text.Name, ground.Name)
		}
	}
}

func TestLinesCanBeSeen(t *testing.T) {
	for theme, pick := range themes {
		for _, s := range Series {
			for _, ground := range []Color{Paper, card, s.Tint} {
				assert.GreaterOrEqual(t, contrast(t, pick(s.Line), pick(ground)), 3.0, "%s: %s on %s", theme, s.Line.Name, ground.Name)
			}
		}
	}
}

func TestCSSDeclaresEveryColorTwice(t *testing.T) {
	css := CSS(":root")
	for _, c := range colors() {
		assert.Equal(t, 2, strings.Count(css, "--"+c.Name+":"), c.Name)
	}
	assert.Equal(t, "var(--ink)", Ink.Var())
}

// contrast is the contrast ratio of two colours by WCAG 2.2, 1 to 21. Text needs 4.5, lines 3.
// Source: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
func contrast(t *testing.T, a, b string) float64 {
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(t *testing.T, color string) float64 {
	var rgb [3]uint8
	_, err := fmt.Sscanf(color, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2])
	require.NoError(t, err, color)
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb[i]) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
