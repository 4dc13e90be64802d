//go:build unix

package instance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNothingToClose(t *testing.T) {
	for _, g := range []*Group{nil, {}} {
		require.Empty(t, g.Instances())
		require.Empty(t, g.Members())
		require.NoError(t, g.Close())
	}
	var none *Redis
	require.NoError(t, none.Close())
}
