package orders

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/search"
)

// Runs are compared with the abstract machine. A run without enough votes isn't a run of the machine, and
// designs without tokens aren't compared.
func TestRunsAreCompared(t *testing.T) {
	setup := search.Setup{Workload: "try", Design: "default", Choices: []int{0}}
	r, err := registry().Play(setup)
	require.NoError(t, err)
	require.Empty(t, r.Kinds())

	r.Log = simulation.Log{slices.DeleteFunc(slices.Concat(r.Log...), func(e simulation.Event) bool {
		return e.Kind == simulation.Voted && e.Place != "A" && e.Change != nil
	})}
	assert.Equal(t, []simulation.ViolationKind{simulation.NoStep}, compared(setup, r).Kinds())
	setup.Design = "redlock"
	assert.Empty(t, compared(setup, r).Kinds(), "it has no tokens")
}
