package timeline_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/timeline"
)

func text(t *testing.T, tl *timeline.Timeline, o timeline.TextOptions) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, tl.Text(&b, o))
	return b.String()
}

func TestTextFitsTheTerminal(t *testing.T) {
	for name := range runs {
		tl := timeline.Of(result(t, name).Log)
		for line := range strings.Lines(text(t, tl, timeline.TextOptions{})) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100, "%s: %s", name, line)
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

func TestErrorsOfTheWriter(t *testing.T) {
	tl := timeline.Of(result(t, "jump").Log)
	require.ErrorIs(t, tl.Text(full{}, timeline.TextOptions{}), errors.ErrUnsupported)
}
