package timeline_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

var update = flag.Bool("update", false, "rewrite the golden texts and drawings; look at them before you commit")

// drawn are the runs with golden texts and drawings.
var drawn = map[string]run{
	"pause":      pauseAfterTheCheck(simulation.Unguarded),
	"jump":       clockJumps(),
	"extensions": extensions(),
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if string(want) != got {
		at := 0
		for at < min(len(want), len(got)) && want[at] == got[at] {
			at++
		}
		t.Errorf("%s is drawn differently from byte %d on: %q, not %q. If that is what you want, run the test with -update and look at the file.",
			path, at, excerpt(got, at), excerpt(string(want), at))
	}
}

func excerpt(s string, at int) string { return s[max(0, at-40):min(len(s), at+80)] }

func TestGolden(t *testing.T) {
	for name := range drawn {
		tl := timeline.Of(drawn[name].play(t).Log)
		var text, svg strings.Builder
		require.NoError(t, tl.Text(&text, timeline.TextOptions{Title: name}))
		golden(t, name+".txt", text.String())
		require.NoError(t, tl.SVG(&svg, timeline.SVGOptions{Label: name}))
		golden(t, name+".svg", svg.String())
	}
}

func text(t *testing.T, tl *timeline.Timeline, o timeline.TextOptions) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, tl.Text(&b, o))
	return b.String()
}

func TestTextFitsTheTerminal(t *testing.T) {
	for name := range runs {
		tl := timeline.Of(result(t, name).Log)
		for _, width := range []int{60, 80, 100, 140} {
			for line := range strings.Lines(text(t, tl, timeline.TextOptions{Width: width})) {
				assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, "%s in %d columns: %s", name, width, line)
			}
		}
	}
}

// No information is in colours alone.
func TestColorsAreOnlyColors(t *testing.T) {
	tl := timeline.Of(result(t, "jump").Log)
	plain, colored := text(t, tl, timeline.TextOptions{}), text(t, tl, timeline.TextOptions{Color: true})
	assert.NotContains(t, plain, "\x1b")
	assert.Contains(t, colored, "\x1b[1;31m")
	assert.Equal(t, plain, regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored, ""))
	assert.Contains(t, plain, "!! TWO HOLDERS")
	assert.Contains(t, plain, "C's clock JUMPS by +15 s")
}

func TestColorTerminal(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer file.Close()
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	assert.False(t, timeline.ColorTerminal(file), "a file is no terminal")
	device, err := os.Open("/dev/null") // a character device, as terminals are
	require.NoError(t, err)
	defer device.Close()
	assert.True(t, timeline.ColorTerminal(device))
	t.Setenv("NO_COLOR", "1")
	assert.False(t, timeline.ColorTerminal(device))
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	assert.False(t, timeline.ColorTerminal(device))
}

// These words must be in the text.
func TestTextShowsWhatHappened(t *testing.T) {
	out := text(t, timeline.Of(result(t, "pause-fenced").Log), timeline.TextOptions{})
	for _, words := range []string{"c1 is PAUSED for 12 s", "c1's validity of k", "has expired on A B C D E", "c1 runs again", "REFUSED by the guard", "Nothing was violated."} {
		assert.Contains(t, out, words)
	}
	assert.Regexp(t, `(?m)^ +⋮ +9\.89 s pass$`, out, "quiet stretches are folded")
	out = text(t, timeline.Of(result(t, "extensions").Log), timeline.TextOptions{})
	assert.Regexp(t, `c2 asks \d+ times and is refused`, out)
	assert.Contains(t, out, "SUSPENDED for 15 s")
}

func wellFormed(t testing.TB, svg string) (ids []string, texts int) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	d.Strict = true
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return ids, texts
		}
		require.NoError(t, err)
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local == "text" {
			texts++
		}
		for _, a := range start.Attr {
			if a.Name.Local == "id" {
				ids = append(ids, a.Value)
			}
			assert.NotContains(t, a.Name.Local, "href")
		}
	}
}

func TestSVG(t *testing.T) {
	for name := range runs {
		t.Run(name, func(t *testing.T) {
			tl := timeline.Of(result(t, name).Log)
			var svg, again bytes.Buffer
			require.NoError(t, tl.SVG(&svg, timeline.SVGOptions{Label: "a <b> & \"c\"", ID: "x1"}))
			require.NoError(t, tl.SVG(&again, timeline.SVGOptions{Label: "a <b> & \"c\"", ID: "x1"}))
			assert.Equal(t, svg.String(), again.String(), "same log, same bytes")
			ids, texts := wellFormed(t, svg.String())
			slices.Sort(ids)
			assert.Equal(t, len(ids), len(slices.Compact(slices.Clone(ids))), "no ID twice: %v", ids)
			for _, id := range ids {
				assert.True(t, strings.HasPrefix(id, "x1"), "%s could clash with another drawing's", id)
			}
			assert.Greater(t, texts, 20)
			out := svg.String()
			for _, want := range []string{"<title id=", "<desc id=", `role="img"`, "prefers-color-scheme:dark", "a &lt;b&gt; &amp;"} {
				assert.Contains(t, out, want)
			}
			for _, v := range tl.Violations {
				assert.Contains(t, out, strings.ToUpper(v.Kind))
			}
			assert.NotContains(t, out, "NaN")
			assert.NotContains(t, out, "Inf")
			assert.NotContains(t, out, "%!")
		})
	}
}

func TestInlineSVGBringsNoStyle(t *testing.T) {
	tl := timeline.Of(result(t, "jump").Log)
	var svg strings.Builder
	require.NoError(t, tl.SVG(&svg, timeline.SVGOptions{Inline: true}))
	assert.NotContains(t, svg.String(), "<style>")
	for _, class := range regexp.MustCompile(`class="([a-z -]+)"`).FindAllStringSubmatch(svg.String(), -1) {
		for _, name := range strings.Fields(class[1]) {
			if name != "rl-t" {
				assert.Contains(t, timeline.Style(), ".rl-t ."+name+"{")
			}
		}
	}
}

// full fails to write.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestErrorsOfTheWriter(t *testing.T) {
	tl := timeline.Of(result(t, "jump").Log)
	require.ErrorIs(t, tl.Text(full{}, timeline.TextOptions{}), os.ErrClosed)
	require.ErrorIs(t, tl.SVG(full{}, timeline.SVGOptions{}), os.ErrClosed)
}
