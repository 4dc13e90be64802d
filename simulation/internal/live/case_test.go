//go:build unix

package live

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// All scenarios and designs exist, and all steps can be read.
func TestCases(t *testing.T) {
	strict := json.NewDecoder(bytes.NewReader(caseList))
	strict.DisallowUnknownFields()
	assert.NoError(t, strict.Decode(new([]Case)))
	for _, tc := range Cases() {
		assert.NotEmpty(t, tc.Fault)
		s, err := scenarios.ByID(tc.Scenario)
		if !assert.NoError(t, err) {
			continue
		}
		for _, design := range tc.Designs {
			_, err := s.Design(design)
			assert.NoError(t, err)
		}
		_, err = tc.steps(5, scenarios.Verdict{})
		assert.NoError(t, err, tc.Scenario)
	}
}
