package scenarios_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/byname"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

func TestTheListIsComplete(t *testing.T) {
	ids, broken := map[string]bool{}, map[string]bool{}
	for _, s := range scenarios.All() {
		assert.False(t, ids[s.ID], "%s comes twice", s.ID)
		ids[s.ID] = true
		same, err := scenarios.ByID(strings.ToLower(s.ID))
		require.NoError(t, err)
		assert.Equal(t, s.Title, same.Title)
		for what, text := range map[string]string{"Title": s.Title, "Helps": s.Helps, "Source": s.Source} {
			assert.NotEmpty(t, text, "%s: %s", s.ID, what)
		}
		assert.LessOrEqual(t, len(s.Title), 80, "%s: the title is too long for tables", s.ID)
		assert.NotEmpty(t, s.Steps, s.ID)
		assert.Len(t, s.Designs(), len(s.Verdicts), "%s has a verdict for a design that doesn't exist", s.ID)
		safe := 0
		for _, d := range s.Designs() {
			verdict := s.Verdicts[d.Name]
			assert.True(t, slices.IsSorted(verdict.Kinds), s.ID)
			if verdict.Safe() {
				safe++
				assert.NotEmpty(t, slices.Concat(s.Reached, verdict.Reached), "%s with %s proves nothing unless the run came close to a violation", s.ID, d.Name)
			} else {
				broken[d.Name] = true
			}
		}
		assert.Equal(t, s.ID != "S4b", safe > 0, "%s: a violation without a design that has none", s.ID) // S4b says why
		_, err = s.Design("nothing of the kind")
		assert.ErrorIs(t, err, byname.ErrUnknown)
	}
	for _, d := range designs.All() {
		assert.True(t, broken[d.Name], "no scenario breaks %s", d.Name)
	}
	_, err := scenarios.ByID("S23")
	require.ErrorIs(t, err, byname.ErrUnknown)
	assert.ErrorContains(t, err, `"S23"`)
	assert.ErrorContains(t, err, "S22, S24")
}
