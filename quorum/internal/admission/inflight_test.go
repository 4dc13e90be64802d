package admission

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

func TestInFlight(t *testing.T) {
	f := InFlight{Most: 8}
	for range 6 {
		require.NoError(t, f.Enter(wire.Acquire))
	}
	require.ErrorIs(t, f.Enter(wire.Acquire), wire.ErrOverloaded, "the rest is for the held")
	require.NoError(t, f.Enter(wire.Extend))
	require.NoError(t, f.Enter(wire.Release))
	require.ErrorContains(t, f.Enter(wire.Release), "8 requests")
	f.Leave()
	require.NoError(t, f.Enter(wire.Release))
	require.Error(t, f.Enter(wire.Acquire))
	f.Leave()
	f.Leave()
	f.Leave()
	require.NoError(t, f.Enter(wire.Acquire), "there is room again")
}
