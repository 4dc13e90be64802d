package drawing

import (
	"errors"
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
	require.ErrorIs(t, c.SVG(full{}), errors.ErrUnsupported)
}

// Bold and large letters are wider.
func TestWide(t *testing.T) {
	assert.Greater(t, Wide("al", "wide"), Wide("", "wide"))
	assert.Greater(t, Wide("h", "wide"), Wide("al", "wide"))
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }
