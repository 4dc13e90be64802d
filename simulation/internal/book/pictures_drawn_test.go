package book_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
)

func allPictures(t *testing.T) []*picture {
	t.Helper()
	round, err := drawRound()
	require.NoError(t, err)
	quarantine, err := drawQuarantine()
	require.NoError(t, err)
	return []*picture{round, quarantine, drawLease(), drawDomains(), drawDecision()}
}

// The assumed maximum width of letters, relative to their size.
const letter, boldLetter = 0.56, 0.62

// No letter is cut off, whatever the reader's font, and no text is below the picture.
func TestTextsAreInside(t *testing.T) {
	for _, p := range allPictures(t) {
		for _, l := range p.texts {
			size, each := 12.0, letter
			classes := strings.Fields(l.class)
			for _, class := range classes {
				switch class {
				case "h":
					size, each = 14, boldLetter
				case "n", "al", "ok", "fa":
					each = boldLetter
				}
			}
			wide := float64(utf8.RuneCountInString(l.text)) * each * size
			from := l.x
			for _, class := range classes {
				switch class {
				case "e":
					from -= wide
				case "m":
					from -= wide / 2
				}
			}
			assert.GreaterOrEqual(t, from, -1.0, "%s: %q begins outside", p.Title, l.text)
			assert.LessOrEqual(t, from+wide, pictureWidth+1.0, "%s: %q ends outside", p.Title, l.text)
			assert.LessOrEqual(t, l.y, p.Height-1, "%s: %q is below the picture", p.Title, l.text)
		}
	}
}

// A picture is well-formed, has a description for readers who can't see it, follows the reader's
// system, and has no letters below 12 pixels.
func TestSVG(t *testing.T) {
	for _, p := range allPictures(t) {
		svg := string(p.SVG())
		for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, p.Title)
		}
		assert.NotEmpty(t, p.Title)
		assert.NotEmpty(t, p.Desc)
		assert.Contains(t, svg, "prefers-color-scheme:dark")
		for _, size := range regexp.MustCompile(`(\d+)px`).FindAllStringSubmatch(pictureStyle, -1) {
			assert.Contains(t, []string{"12", "14", "4"}, size[1], "4 is a stroke")
		}
		for _, used := range regexp.MustCompile(`class="([^"]+)"`).FindAllStringSubmatch(svg, -1) {
			for _, class := range strings.Fields(used[1]) {
				if class != "rl-p" {
					assert.Contains(t, pictureStyle, ".rl-p ."+class+"{", "%s: nothing says how %s looks", p.Title, class)
				}
			}
		}
	}
	for _, c := range []palette.Color{palette.Good, palette.Fault, palette.Alarm, palette.Ink, palette.Soft} {
		light, dark := c.Contrast(palette.Paper)
		assert.Greater(t, light, 4.5, c.Name)
		assert.Greater(t, dark, 4.5, c.Name)
	}
}

// The run for a picture shows what the picture says.
func TestRuns(t *testing.T) {
	round, err := drawRound()
	require.NoError(t, err)
	assert.Contains(t, round.Desc, "5 servers are asked at once. 3 said yes within")
	quarantine, err := drawQuarantine()
	require.NoError(t, err)
	assert.Contains(t, quarantine.Desc, "first lock at 30.3 s")
	assert.Equal(t, 4, strings.Count(string(quarantine.SVG()), ">quarantine<"), "three at the start, and one after the restart")
}

// Every error that a picture names is one of package quorum.
func TestErrorsExist(t *testing.T) {
	known := map[string]bool{}
	files, err := filepath.Glob("../quorum/*.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`(?m)^\s*(?:var )?(Err[A-Z]\w+)\s+= `).FindAllSubmatch(text, -1) {
			known[string(found[1])] = true
		}
	}
	named := 0
	for _, p := range allPictures(t) {
		for _, name := range regexp.MustCompile(`\bErr[A-Z]\w+`).FindAllString(string(p.SVG()), -1) {
			named++
			assert.True(t, known[name], "%s: quorum has no %s", p.Title, name)
		}
	}
	assert.Greater(t, named, 10)
}
