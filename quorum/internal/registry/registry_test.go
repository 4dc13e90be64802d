package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/internal/registry"
)

func TestClaim(t *testing.T) {
	var r registry.Registry
	require.Empty(t, r.Claim("one", "a"))
	require.Empty(t, r.Claim("one", "a"), "again")
	require.Equal(t, "a", r.Claim("one", "b"))
	require.Empty(t, r.Claim("two", "b"))
	require.Equal(t, "b", r.Claim("two", "a"), "a has moved to b's server")
	require.Empty(t, r.Claim("one", "b"), "which a gave up")
}

func TestHiddenServersAreNotCompared(t *testing.T) {
	var r registry.Registry
	require.Empty(t, r.Claim("", "a"))
	require.Empty(t, r.Claim("", "b"))
	require.Empty(t, r.Claim("one", "a"))
	require.Empty(t, r.Claim("", "a"), "it hides its run from now on")
	require.Empty(t, r.Claim("one", "b"))
}
