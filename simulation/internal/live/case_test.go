//go:build unix

package live

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// Every scenario has a live form or a reason why not, and all designs exist.
func TestEveryScenarioIsAccountedFor(t *testing.T) {
	strict := json.NewDecoder(bytes.NewReader(caseList))
	strict.DisallowUnknownFields()
	assert.NoError(t, strict.Decode(new([]Case)))
	played := map[string]bool{}
	for _, tc := range Cases() {
		played[tc.Scenario] = true
		assert.NotEmpty(t, tc.Fault)
		s, err := scenarios.ByID(tc.Scenario)
		if !assert.NoError(t, err) {
			continue
		}
		for _, design := range tc.Designs {
			_, err := s.Design(design)
			assert.NoError(t, err)
		}
		assert.Subset(t, tc.Designs, slices.Collect(maps.Keys(tc.Timeouts)))
		_, err = tc.steps(5, "")
		assert.NoError(t, err, tc.Scenario)
	}
	for _, s := range scenarios.All() {
		assert.NotEqual(t, played[s.ID], s.Unplayed != "", "%s (%s) is either played or has a reason why not", s.ID, s.Title)
	}
}
