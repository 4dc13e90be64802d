package timeline_test

import (
	"cmp"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

// pictures are a small and a wide picture of a run.
func pictures(tl *timeline.Timeline) (small, wide *drawing.Canvas) {
	small, wide = &drawing.Canvas{}, &drawing.Canvas{}
	tl.Small(small, "a <b> & c")
	tl.Wide(wide, nil)
	return small, wide
}

// whole checks a picture: it is well-formed, everything is on it, no text is cut off, and its
// classes have a style.
func whole(t *testing.T, name string, c *drawing.Canvas) string {
	t.Helper()
	svg := c.Inline()
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); err != nil {
			require.ErrorIs(t, err, io.EOF, name)
			break
		}
	}
	assert.Empty(t, c.Outside(), name)
	for _, wrong := range []string{"NaN", "Inf", "%!"} {
		assert.NotContains(t, svg, wrong, name)
	}
	width := cmp.Or(c.Width, drawing.Width)
	for _, s := range c.Shapes {
		assert.True(t, s.X >= 0 && s.X+s.W <= width && s.Y >= 0 && s.Y+s.H <= c.Height, "%s: %+v", name, s)
		for _, class := range strings.Fields(s.Class) {
			assert.Contains(t, drawing.Style(), ".rl ."+class, name)
		}
	}
	return svg
}

// Runs in which little happens have pictures, too.
func TestPicturesOfLittle(t *testing.T) {
	for _, log := range []record.Log{nil, {{{Kind: record.Started, Process: "c1"}}}, {{
		{At: ms, Kind: record.Asked, Process: "c1", Key: key},
		{At: 2 * ms, Kind: record.Refused, Process: "c1", Key: key, Words: "quorum: lock is taken"},
	}}} {
		small, wide := pictures(timeline.Of(log))
		whole(t, "little", small)
		whole(t, "little", wide)
	}
}
