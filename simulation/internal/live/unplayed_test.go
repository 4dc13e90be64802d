//go:build unix

package live

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// Every scenario has a live form or a reason why not, and all designs exist.
func TestEveryScenarioIsAccountedFor(t *testing.T) {
	unplayed := Unplayed()
	played := map[string]bool{}
	for _, tc := range Cases() {
		played[tc.Scenario] = true
		assert.NotContains(t, unplayed, tc.Scenario, "it is played")
		assert.NotEmpty(t, tc.Fault)
		s, err := scenarios.ByID(tc.Scenario)
		if !assert.NoError(t, err) {
			continue
		}
		for _, variant := range tc.Variants {
			_, err := s.Design(variant.Design)
			assert.NoError(t, err)
		}
	}
	known := map[string]bool{}
	for _, s := range scenarios.All() {
		known[s.ID] = true
		assert.True(t, played[s.ID] || unplayed[s.ID] != "", "%s (%s) is neither played nor in Unplayed", s.ID, s.Title)
	}
	for id := range unplayed {
		assert.True(t, known[id], "%s is in Unplayed, but there is no such scenario", id)
	}
}
