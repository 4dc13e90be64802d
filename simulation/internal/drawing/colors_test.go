package drawing

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// themes are the colours by name, as each theme has them.
func themes(t *testing.T) map[string]map[string]string {
	light, dark, ok := strings.Cut(colors, "@media")
	require.True(t, ok)
	all := map[string]map[string]string{"light": {}, "dark": {}}
	for name, css := range map[string]string{"light": light, "dark": dark} {
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+):(#[0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
			all[name][m[1]] = m[2]
		}
		assert.Len(t, all[name], strings.Count(css, "--"), "each colour once")
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(all["light"])), slices.Collect(maps.Keys(all["dark"])))
	return all
}

// Text, and the lines and borders that have a meaning, can be seen on what they are drawn on.
func TestContrast(t *testing.T) {
	grounds := []string{"paper", "card", "alarm-tint", "fault-tint", "good-tint"}
	for theme, c := range themes(t) {
		check := func(least float64, on []string, names ...string) {
			for _, ground := range on {
				for _, name := range names {
					assert.GreaterOrEqual(t, contrast(t, c[name], c[ground]), least, "%s: %s on %s", theme, name, ground)
				}
			}
		}
		check(4.5, grounds, "ink", "soft")
		check(4.5, grounds[:2], "link", "alarm", "fault", "good")
		for _, name := range []string{"alarm", "fault", "good"} {
			check(4.5, []string{name + "-tint"}, name)
		}
		for i := range Series {
			line := fmt.Sprintf("s%d", i+1)
			check(4.5, []string{line + "-tint"}, "ink", "soft")
			check(3, []string{"paper", "card", line + "-tint"}, line)
		}
	}
}

// Every class has colours that exist.
func TestStyleUsesColors(t *testing.T) {
	known := themes(t)["light"]
	for _, m := range regexp.MustCompile(`var\(--([a-z0-9-]+)\)`).FindAllStringSubmatch(Page(), -1) {
		assert.Contains(t, known, m[1])
	}
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
