package timeline_test

import (
	"cmp"
	"encoding/xml"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

// drawn is the drawing of a run.
func drawn(tl *timeline.Timeline, kinds ...string) *drawing.Canvas {
	var c drawing.Canvas
	tl.Draw(&c, "a <b> & c", kinds...)
	return &c
}

// whole checks a picture: it is well-formed, everything is on it, no text is cut off or on another
// one, and its classes have a style.
func whole(t *testing.T, name string, c *drawing.Canvas) string {
	t.Helper()
	svg := c.Inline()
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); err != nil {
			require.ErrorIs(t, err, io.EOF, name)
			break
		}
	}
	for i, a := range c.Shapes {
		for _, b := range c.Shapes[i+1:] {
			if a.Text != "" && b.Text != "" && math.Abs(a.Y-b.Y) < 9 {
				assert.True(t, until(a) <= until(b)-drawing.Wide(b.Class, b.Text) || until(b) <= until(a)-drawing.Wide(a.Class, a.Text), "%s: %q is on %q", name, a.Text, b.Text)
			}
		}
	}
	for _, wrong := range []string{"NaN", "Inf", "%!"} {
		assert.NotContains(t, svg, wrong, name)
	}
	for _, s := range c.Shapes {
		if s.Text != "" {
			from, wide := until(s)-drawing.Wide(s.Class, s.Text), cmp.Or(c.Width, drawing.Width)
			assert.True(t, from >= -1 && until(s) <= wide+1 && s.Y < c.Height, "%s: %q is cut off", name, s.Text)
		}
		assert.True(t, s.X >= 0 && s.X+s.W <= drawing.Width && s.Y >= 0 && s.Y+s.H <= c.Height, "%s: %+v", name, s)
		for _, class := range strings.Fields(s.Class) {
			assert.Contains(t, drawing.Page(), ".rl ."+class, name)
		}
	}
	return svg
}

// until is where a text ends.
func until(s drawing.Shape) float64 {
	classes, wide := strings.Fields(s.Class), drawing.Wide(s.Class, s.Text)
	switch {
	case slices.Contains(classes, "e"):
		return s.X
	case slices.Contains(classes, "m"):
		return s.X + wide/2
	}
	return s.X + wide
}

// Runs in which little happens have pictures, too.
func TestPicturesOfLittle(t *testing.T) {
	for _, log := range []record.Log{nil, {{{Kind: record.Started, Process: "c1"}}}, {{
		{At: ms, Kind: record.Asked, Process: "c1", Key: key},
		{At: 2 * ms, Kind: record.Refused, Process: "c1", Key: key, Words: "quorum: lock is taken"},
	}}} {
		whole(t, "little", drawn(timeline.Of(log)))
	}
}
