package timeline_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

// pictures are a small and a wide picture of a run.
func pictures(tl *timeline.Timeline, title string, kinds ...string) (small, wide *drawing.Canvas) {
	small, wide = &drawing.Canvas{Title: title}, &drawing.Canvas{Title: title}
	tl.Small(small, title, kinds...)
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
	width := c.Width
	if width == 0 {
		width = drawing.Width
	}
	for _, s := range c.Shapes {
		assert.True(t, s.X >= 0 && s.X+s.W <= width && s.Y >= 0 && s.Y+s.H <= c.Height, "%s: %+v", name, s)
		for _, class := range strings.Fields(s.Class) {
			assert.Contains(t, drawing.Style(), ".rl ."+class, name)
		}
	}
	return svg
}

func TestPicturesAreWhole(t *testing.T) {
	for name := range runs {
		tl := timeline.Of(result(t, name).Log)
		small, wide := pictures(tl, "a <b> & c")
		for _, c := range []*drawing.Canvas{small, wide} {
			svg := whole(t, name, c)
			assert.Contains(t, svg, "a &lt;b&gt; &amp; c")
			assert.Equal(t, len(tl.Violations) > 0, strings.Contains(svg, ">!! "), name)
		}
	}
	for _, log := range []record.Log{nil, {{{Kind: record.Started, Process: "c1"}}}, {{
		{At: ms, Kind: record.Asked, Process: "c1", Key: key},
		{At: 2 * ms, Kind: record.Refused, Process: "c1", Key: key, Words: "quorum: lock is taken"},
	}}} {
		small, wide := pictures(timeline.Of(log), "little")
		whole(t, "little", small)
		whole(t, "little", wide)
	}
}

// Every scenario fits, and its picture stays small: a report carries hundreds of them, compressed.
// Ten clients that try and try again take the most.
func TestEveryScenarioIsDrawn(t *testing.T) {
	for _, s := range some(scenarios.All()) {
		for i, d := range s.Designs() {
			if i%5 != 0 {
				continue
			}
			r, err := s.Play(1, d)
			require.NoError(t, err, s.ID)
			small, wide := pictures(timeline.Of(r.Log), s.Title)
			assert.Less(t, len(whole(t, s.ID+" "+d.Name, small)), 45_000)
			whole(t, s.ID+" "+d.Name, wide)
		}
	}
}

// The requested violations are shown, and no others.
func TestPicturesShowWhatHappened(t *testing.T) {
	tl := timeline.Of(result(t, "pause").Log)
	small, wide := pictures(tl, "")
	for _, c := range []*drawing.Canvas{small, wide} {
		for _, want := range []string{"paused for 12 s", "!! two holders, stale write, lost update", "c1 writes", "believed that it held"} {
			assert.Contains(t, c.Inline(), want)
		}
	}
	assert.Contains(t, wide.Inline(), "c2 asks A: acquire, sent ")
	small, _ = pictures(tl, "", "lost update")
	assert.Contains(t, small.Inline(), "!! lost update")
	assert.NotContains(t, small.Inline(), "!! two holders")
	small, wide = pictures(timeline.Of(result(t, "pause-fenced").Log), "")
	assert.Contains(t, small.Inline(), "c1&#39;s write is REFUSED")
	assert.Contains(t, wide.Inline(), "c1&#39;s write is REFUSED")
	_, wide = pictures(timeline.Of(result(t, "jump").Log), "")
	for _, want := range []string{`class="un"`, `class="both"`, "C: clock JUMPS by +15 s", "only A B: no quorum", "the request was lost"} {
		assert.Contains(t, wide.Inline(), want)
	}
}

// On another run's axis every moment is where it was there.
func TestPictureOnAnotherAxis(t *testing.T) {
	var c drawing.Canvas
	axis, lanes := timeline.Of(result(t, "pause").Log).Wide(&c, nil)
	require.Len(t, lanes, 8)
	same, _ := timeline.Of(result(t, "pause-fenced").Log).Wide(&drawing.Canvas{}, axis)
	assert.Equal(t, axis, same)
}

// full fails to write.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }
