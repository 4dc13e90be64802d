package timeline_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

func sketchSVG(t *testing.T, sketches ...timeline.Sketch) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, timeline.WriteSketches(&b, timeline.SketchOptions{}, sketches...))
	return b.String()
}

func TestSketchGolden(t *testing.T) {
	for name := range drawn {
		golden(t, name+".sketch.svg", sketchSVG(t, timeline.Of(drawn[name].play(t).Log).Sketch(name)))
	}
}

// A sketch of any scenario is complete: every shape is within it, no text is cut off, and it
// stays small.
func TestEveryScenarioCanBeSketched(t *testing.T) {
	most := 0
	for _, s := range some(scenarios.All()) {
		for i, d := range s.Designs() {
			if i%5 != 0 {
				continue
			}
			name := s.ID + " " + d.Name
			r, err := s.Play(1, d)
			require.NoError(t, err, name)
			sketch := timeline.Of(r.Log).Sketch(s.Title)
			require.Positive(t, sketch.Height, name)
			for _, shape := range sketch.Shapes {
				w := shape.W
				if shape.Text != "" {
					w = 0.56 * 12 * float64(utf8.RuneCountInString(shape.Text))
				}
				from := shape.X
				switch classes := strings.Fields(shape.Class); classes[len(classes)-1] {
				case "e":
					from -= w
				case "m":
					from -= w / 2
				}
				assert.GreaterOrEqual(t, from, 0.0, "%s: %+v", name, shape)
				assert.LessOrEqual(t, from+w, timeline.SketchWidth+0.0, "%s: %+v", name, shape)
				assert.GreaterOrEqual(t, shape.Y, 0.0, "%s: %+v", name, shape)
				assert.LessOrEqual(t, shape.Y+shape.H, float64(sketch.Height), "%s: %+v", name, shape)
				for _, class := range strings.Fields(shape.Class) {
					assert.Regexp(t, `(?m)^\.rl-k \.`+class+`\{|text\{`, timeline.Style())
				}
			}
			data, err := json.Marshal(sketch)
			require.NoError(t, err)
			most = max(most, len(data))
			wellFormed(t, sketchSVG(t, sketch, sketch))
		}
	}
	assert.Less(t, most, 8_000, "a page carries hundreds of them")
}

// The requested violations are shown, and no others.
func TestSketchShowsWhatHappened(t *testing.T) {
	tl := timeline.Of(result(t, "pause").Log)
	out := sketchSVG(t, tl.Sketch("a <title>"))
	for _, want := range []string{"a &lt;title&gt;", "paused for 12 s", "!! two holders, stale write, lost update", "c1 writes", "<desc", "believed that it held"} {
		assert.Contains(t, out, want)
	}
	out = sketchSVG(t, tl.Sketch("", "lost update"))
	assert.Contains(t, out, "!! lost update")
	assert.NotContains(t, out, "!! two holders")
	assert.Contains(t, sketchSVG(t, timeline.Of(result(t, "pause-fenced").Log).Sketch("")), "c1&#39;s write is REFUSED")
}

func TestSketchOfLittle(t *testing.T) {
	for _, log := range []record.Log{nil, {{{Kind: record.Started, Process: "c1"}}}, {{
		{At: ms, Kind: record.Asked, Process: "c1", Key: key},
		{At: 2 * ms, Kind: record.Refused, Process: "c1", Key: key, Words: "quorum: lock is taken"},
	}}} {
		out := sketchSVG(t, timeline.Of(log).Sketch("little"))
		wellFormed(t, out)
		assert.NotContains(t, out, "NaN")
	}
}

func TestShapesAreShort(t *testing.T) {
	data, err := json.Marshal(timeline.Sketch{Height: 30, Shapes: []timeline.Shape{{Class: "b0", X: 1.4, Y: 2.6, W: 3, H: 4}, {Class: "s", X: 5, Y: 6, Text: "c1"}}})
	require.NoError(t, err)
	assert.Equal(t, `{"h":30,"s":[["b0",1,3,3,4],["s",5,6,"c1"]]}`, string(data))
	var s timeline.Sketch
	require.ErrorIs(t, timeline.WriteSketches(full{}, timeline.SketchOptions{}, s), os.ErrClosed)
}
