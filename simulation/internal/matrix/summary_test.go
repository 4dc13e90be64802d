package matrix

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
)

// The summary's rows and columns are in the matrix, and its numbers are the matrix's.
func TestSummary(t *testing.T) {
	p := DefaultPlan()
	for _, d := range chosenDesigns {
		_, err := designs.ByName(d.Name)
		require.NoError(t, err)
		require.True(t, slices.Contains(p.Designs, d.Name), d.Name)
	}
	p.Designs, p.Faults, p.Seeds = nil, nil, 3
	for _, d := range chosenDesigns {
		p.Designs = append(p.Designs, d.Name)
	}
	for _, f := range chosenFaults {
		p.Faults = append(p.Faults, f.Name)
	}
	r, err := Play(t.Context(), p, Pool{})
	require.NoError(t, err)
	s, m := r.Summary(), r.Matrix()
	require.Len(t, s.Cells, 5)
	require.Len(t, s.Cells[0], 8)
	assert.Equal(t, m.Cells, s.Cells)
	assert.Empty(t, Result{}.Summary().Cells)
}
