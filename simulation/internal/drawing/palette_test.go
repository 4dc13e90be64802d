package drawing

import (
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
