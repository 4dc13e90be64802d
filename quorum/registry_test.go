package quorum

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClaim(t *testing.T) {
	var r registry
	require.Empty(t, r.claim("one", "a"))
	require.Empty(t, r.claim("one", "a"), "again")
	require.Equal(t, "a", r.claim("one", "b"))
	require.Empty(t, r.claim("two", "b"))
	require.Equal(t, "b", r.claim("two", "a"), "a has moved to b's server")
	require.Empty(t, r.claim("one", "b"), "which a gave up")
}

func TestHiddenServersAreNotCompared(t *testing.T) {
	var r registry
	require.Empty(t, r.claim("", "a"))
	require.Empty(t, r.claim("", "b"))
	require.Empty(t, r.claim("one", "a"))
	require.Empty(t, r.claim("", "a"), "it hides its run from now on")
	require.Empty(t, r.claim("one", "b"))
}
