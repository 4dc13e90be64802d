package timeline_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/scenarios"
	"github.com/redquorum/redlock/simulation/timeline"
)

// Whatever the scenarios do, all of it is understood and can be drawn.
func TestEveryScenarioCanBeDrawn(t *testing.T) {
	for _, s := range scenarios.All() {
		designs := s.Designs()
		require.NotEmpty(t, designs, s.ID)
		d := designs[0]
		r, err := s.Play(1, d)
		require.NoError(t, err, "%s %s", s.ID, d.Name)
		tl := parse(t, r.Trace)
		assert.Empty(t, tl.Unknown, "%s %s", s.ID, d.Name)
		for _, n := range tl.Tenures {
			assert.Contains(t, tl.Processes, n.Process, "%s %s: whose key it is", s.ID, d.Name)
		}
		for line := range strings.Lines(text(t, tl, timeline.TextOptions{Title: s.ID + " " + s.Title + " · " + d.Name})) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100, "%s: %s", s.ID, line)
		}
		var svg strings.Builder
		require.NoError(t, tl.SVG(&svg, timeline.SVGOptions{Title: s.Title}))
		wellFormed(t, svg.String())
	}
}

// A delete that doesn't look takes another's key away, and that is told.
func TestAnothersKey(t *testing.T) {
	s, err := scenarios.ByID("S17")
	require.NoError(t, err)
	d, err := s.Design("setpx-del")
	require.NoError(t, err)
	r, err := s.Play(1, d)
	require.NoError(t, err)
	tl := parse(t, r.Trace)
	takers := 0
	for _, n := range tl.Tenures {
		if n.Taker != "" {
			takers++
			assert.Equal(t, "c2", n.Process)
			assert.Equal(t, "c1", n.Taker)
		}
	}
	assert.Equal(t, 1, takers)
	assert.Contains(t, text(t, tl, timeline.TextOptions{}), "c1 DELETES ANOTHER'S k on A")
}
