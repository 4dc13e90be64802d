package timeline_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

// some is every scenario, or one of four.
func some(all []scenarios.Scenario) []scenarios.Scenario {
	if long.Asked() {
		return all
	}
	var few []scenarios.Scenario
	for i := 0; i < len(all); i += 4 {
		few = append(few, all[i])
	}
	return few
}

// All events of the scenarios can be drawn.
func TestEveryScenarioCanBeDrawn(t *testing.T) {
	for _, s := range some(scenarios.All()) {
		designs := s.Designs()
		require.NotEmpty(t, designs, s.ID)
		d := designs[0]
		r, err := s.Play(1, d)
		require.NoError(t, err, "%s %s", s.ID, d.Name)
		tl := timeline.Of(r.Log)
		for _, n := range tl.Tenures {
			assert.Contains(t, tl.Processes, n.Process, "%s %s: whose key it is", s.ID, d.Name)
		}
		for line := range strings.Lines(text(t, tl, timeline.TextOptions{Title: s.ID + " " + s.Title + " · " + d.Name})) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100, "%s: %s", s.ID, line)
		}
	}
}

// A timeline and a verdict have the same violations, those of the simulation's checks and
// those of the scenario itself.
func TestTimelinesAndVerdictsAgree(t *testing.T) {
	const nothing = "Nothing was violated."
	for _, s := range some(scenarios.All()) {
		for _, d := range s.Designs() {
			r, err := s.Play(0, d)
			require.NoError(t, err)
			tl := timeline.Of(r.Log)
			found := map[string]bool{}
			for _, k := range r.Kinds() {
				found[string(k)] = true
			}
			drawn := map[string]bool{}
			for _, v := range tl.Violations {
				drawn[v.Kind] = true
			}
			assert.Equal(t, found, drawn, "%s %s", s.ID, d.Name)
			assert.Len(t, tl.Violations, len(r.Log.Violations()), "%s %s", s.ID, d.Name)
			shown := text(t, tl, timeline.TextOptions{})
			assert.Equal(t, len(found) == 0, strings.Contains(shown, nothing), "%s %s:\n%s", s.ID, d.Name, shown)
			for kind := range found {
				assert.Contains(t, shown, "!! "+strings.ToUpper(kind), "%s %s", s.ID, d.Name)
			}
		}
	}
}

// Two goroutines of one process are distinct, in words and in pictures.
func TestGoroutinesAreDistinct(t *testing.T) {
	s, err := scenarios.ByID("X5")
	require.NoError(t, err)
	d, err := s.Design("default")
	require.NoError(t, err)
	r, err := s.Play(1, d)
	require.NoError(t, err)
	tl := timeline.Of(r.Log)
	shown := strings.Join(strings.Fields(text(t, tl, timeline.TextOptions{})), " ")
	for _, words := range []string{"c1.1 the next one", "c2 GETS k", "c2.1 GETS k", "c2.1 releases k", "c2.1's WRITE arrives", "c2.1 believed that it held k"} {
		assert.True(t, strings.Contains(shown, words), words)
	}
	_, wide := pictures(tl, "")
	assert.Contains(t, wide.Inline(), "c2.1 believes that it holds k")
	overlaps := timeline.Of(record.Log{{
		{At: ms, Kind: record.Acquired, Process: "c1", Key: key, Validity: 9 * time.Second},
		{At: 2 * ms, Kind: record.Acquired, Process: "c1", Goroutine: 1, Key: key, Validity: 9 * time.Second},
		{At: 3 * ms, Kind: record.Released, Process: "c1", Key: key},
	}}).Overlaps()
	require.Len(t, overlaps, 1)
	assert.Equal(t, "c1", overlaps[0].First)
	assert.Equal(t, "c1.1", overlaps[0].Second)
	assert.Equal(t, ms, overlaps[0].Until-overlaps[0].From, "only the first released it")
}

// A delete without a comparison deletes another client's key, and the text says so.
func TestAnothersKey(t *testing.T) {
	s, err := scenarios.ByID("S17")
	require.NoError(t, err)
	d, err := s.Design("setpx-del")
	require.NoError(t, err)
	r, err := s.Play(1, d)
	require.NoError(t, err)
	tl := timeline.Of(r.Log)
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
