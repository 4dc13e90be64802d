package scenarios_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

func TestTheListIsComplete(t *testing.T) {
	var ids []string
	for _, s := range scenarios.All() {
		ids = append(ids, s.ID)
		same, err := scenarios.ByID(strings.ToLower(s.ID))
		require.NoError(t, err)
		assert.Equal(t, s.Title, same.Title)
	}
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), len(ids), "an ID comes twice")

	_, err := scenarios.ByID("S23")
	require.ErrorIs(t, err, scenarios.ErrUnknown)
	assert.ErrorContains(t, err, `"S23"`)
	assert.ErrorContains(t, err, "S22, S24")
}

func TestEveryScenarioIsComplete(t *testing.T) {
	for _, s := range scenarios.All() {
		for what, text := range map[string]string{"Title": s.Title, "Assumption": s.Assumption, "Breaks": s.Breaks, "Helps": s.Helps, "Source": s.Source} {
			assert.NotEmpty(t, text, "%s: %s", s.ID, what)
		}
		assert.LessOrEqual(t, len(s.Title), 80, "%s: the title is too long for tables", s.ID)
		assert.NotEmpty(t, s.Steps, s.ID)
		assert.NotNil(t, s.Work, s.ID)
		assert.Len(t, s.Designs(), len(s.Verdicts), "%s has a verdict for a design that doesn't exist", s.ID)
		for _, d := range s.Designs() {
			same, err := s.Design(d.Name)
			require.NoError(t, err)
			assert.Equal(t, d.Title, same.Title)
			verdict := s.Verdicts[d.Name]
			assert.True(t, slices.IsSorted(verdict.Kinds), s.ID)
			assert.Less(t, verdict.AtLeast, 1., s.ID)
		}
		_, err := s.Design("nothing of the kind")
		assert.ErrorIs(t, err, scenarios.ErrUnknown)
	}
}

// A verdict of none proves something only if the run came close to a violation.
func TestEveryVerdictOfNoneHasCounters(t *testing.T) {
	for _, s := range scenarios.All() {
		for name, verdict := range s.Verdicts {
			if verdict.Safe() {
				assert.NotEmpty(t, slices.Concat(s.Reached, verdict.Reached), "%s with %s", s.ID, name)
			}
		}
	}
}

func TestEveryDesignIsPlayed(t *testing.T) {
	for _, d := range designs.All() {
		played, violated := 0, 0
		for _, s := range scenarios.All() {
			if verdict, ok := s.Verdicts[d.Name]; ok {
				played++
				if !verdict.Safe() {
					violated++
				}
			}
		}
		assert.Positive(t, played, "no scenario plays %s", d.Name)
		if d.Cure != "" {
			assert.Positive(t, violated, "no scenario shows what breaks %s", d.Name)
		}
	}
}

// A scenario with a violation also has a design without one.
func TestEveryViolationHasACure(t *testing.T) {
	for _, s := range scenarios.All() {
		safe, violated := 0, 0
		for _, verdict := range s.Verdicts {
			if verdict.Safe() {
				safe++
			} else {
				violated++
			}
		}
		if violated == 0 {
			assert.Empty(t, s.NoCure, s.ID)
			continue
		}
		if safe == 0 {
			assert.NotEmpty(t, s.NoCure, "%s: no design helps, and NoCure is empty", s.ID)
		} else {
			assert.Empty(t, s.NoCure, "%s: a design helps, and NoCure is not empty", s.ID)
		}
	}
}

// For each design with a cure, a scenario shows the difference.
func TestEveryDesignIsShownBesideItsCure(t *testing.T) {
	for _, d := range designs.All() {
		if d.Cure == "" {
			continue
		}
		beside := slices.ContainsFunc(scenarios.All(), func(s scenarios.Scenario) bool {
			broken, ok := s.Verdicts[d.Name]
			cured, beside := s.Verdicts[d.Cure]
			return ok && beside && !broken.Safe() && cured.Safe()
		})
		assert.True(t, beside, "no scenario has %s violated and %s not", d.Name, d.Cure)
	}
}
