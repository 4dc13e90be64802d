package timeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// The picture's axis has every time of the run, and the picture says what the drawing says.
func TestPicture(t *testing.T) {
	for name := range runs {
		tl := timeline.Of(result(t, name).Log)
		p := tl.Picture()
		require.NotEmpty(t, p.Axis, name)
		within := func(at time.Duration) {
			assert.True(t, p.Cropped || at >= p.Axis[0].From && at <= p.Axis[len(p.Axis)-1].Until, "%s: %v", name, at)
		}
		for _, m := range p.Messages {
			if m.Sent >= 0 && m.Op != "probe" && m.Op != "tick" && m.Op != "time" && m.Op != "ping" {
				within(m.Sent)
			}
		}
		for _, v := range p.Violations {
			within(v.At)
		}
		assert.Len(t, p.Lanes, len(tl.Processes)+len(tl.Servers)+1, "%s: the resource, too", name)
		wrong := 0
		for _, s := range p.Summary {
			wrong += strings.Count(s, "too few servers had its key")
		}
		assert.Equal(t, wrong > 0, len(p.Mistaken) > 0, "%s: %v", name, p.Summary)
	}
}

func TestPictureOfAJump(t *testing.T) {
	p := timeline.Of(result(t, "jump").Log).Picture()
	require.NotEmpty(t, p.Mistaken)
	require.NotEmpty(t, p.Overlaps)
	assert.Equal(t, "c1", p.Mistaken[0].Who)
	assert.LessOrEqual(t, p.Mistaken[0].From, p.Overlaps[0].From, "the servers forget c1's lock before c2 gets it")
	assert.NotEmpty(t, p.Tokens)
	jumps := 0
	for _, m := range p.Marks {
		if strings.Contains(m.Label, "JUMPS") {
			jumps++
			assert.True(t, m.Fault)
		}
	}
	assert.NotZero(t, jumps)
}
