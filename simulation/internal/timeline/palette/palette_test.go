package palette_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
)

// themes picks a colour as each theme has it.
var themes = map[string]func(palette.Color) string{
	"light": func(c palette.Color) string { return c.Light },
	"dark":  func(c palette.Color) string { return c.Dark },
}

func TestTextCanBeRead(t *testing.T) {
	grounds := []palette.Color{palette.Paper, palette.Card, palette.AlarmTint, palette.FaultTint, palette.GoodTint}
	for _, s := range palette.Series {
		grounds = append(grounds, s.Tint)
	}
	for theme, pick := range themes {
		for _, ground := range grounds {
			for _, text := range []palette.Color{palette.Ink, palette.Soft} {
				assert.GreaterOrEqual(t, palette.Contrast(pick(text), pick(ground)), 4.5, "%s: %s on %s", theme, text.Name, ground.Name)
			}
		}
		for _, ground := range []palette.Color{palette.Paper, palette.Card} {
			for _, text := range []palette.Color{palette.Link, palette.Alarm, palette.Fault, palette.Good} {
				assert.GreaterOrEqual(t, palette.Contrast(pick(text), pick(ground)), 4.5, "%s: %s on %s", theme, text.Name, ground.Name)
			}
		}
		for text, ground := range map[palette.Color]palette.Color{
			palette.Alarm: palette.AlarmTint, palette.Fault: palette.FaultTint, palette.Good: palette.GoodTint,
		} {
			assert.GreaterOrEqual(t, palette.Contrast(pick(text), pick(ground)), 4.5, "%s: %s on %s", theme, text.Name, ground.Name)
		}
	}
}

func TestLinesCanBeSeen(t *testing.T) {
	for theme, pick := range themes {
		for _, s := range palette.Series {
			for _, ground := range []palette.Color{palette.Paper, palette.Card, s.Tint} {
				assert.GreaterOrEqual(t, palette.Contrast(pick(s.Line), pick(ground)), 3.0, "%s: %s on %s", theme, s.Line.Name, ground.Name)
			}
		}
	}
}

func TestContrast(t *testing.T) {
	assert.InDelta(t, 21, palette.Contrast("#000000", "#ffffff"), 0.001)
	assert.InDelta(t, 1, palette.Contrast("#123456", "#123456"), 0.001)
	assert.InDelta(t, 4.54, palette.Contrast("#767676", "#ffffff"), 0.01, "the grey that is just dark enough")
	assert.Zero(t, palette.Contrast("red", "#ffffff"))
	assert.Zero(t, palette.Contrast("#fff", "#ffffff"))
}

func TestCSSDeclaresEveryColorTwice(t *testing.T) {
	css := palette.CSS(":root")
	for _, c := range palette.All() {
		assert.Equal(t, 2, strings.Count(css, "--"+c.Name+":"), c.Name)
	}
	assert.Equal(t, "var(--ink)", palette.Ink.Var())
}
