//go:build unix

package redisproc

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	if _, err := cfg.Find(); err != nil {
		if os.Getenv("REDLOCK_REQUIRE_REDIS") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Each step of a server's life returns an error if it is impossible, and Close removes the server
// and its directory.
func TestServerByErrors(t *testing.T) {
	s := start(t, Config{})
	first, err := s.Info("run_id")
	require.NoError(t, err)
	require.Len(t, first, 40)
	_, err = s.Info("no_such_field")
	require.ErrorContains(t, err, "no_such_field")
	_, err = s.MustAsk("NOSUCHCOMMAND")
	require.ErrorContains(t, err, "unknown command")
	require.Contains(t, s.Log(), "Ready to accept connections")

	require.NoError(t, s.Restart(t.Context()))
	second, err := s.Info("run_id")
	require.NoError(t, err)
	require.NotEqual(t, first, second)

	s.Kill()
	require.ErrorContains(t, s.Pause(), "not running")
	require.ErrorContains(t, s.Resume(), "not running")
	require.NoError(t, s.Close())
	require.ErrorContains(t, s.Restart(t.Context()), "closed")
	_, err = os.Stat(s.Dir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestServerThatCannotStart(t *testing.T) {
	start(t, Config{}) // or skip
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	_, err := Start(t.Context(), Config{Binary: "no-such-server"})
	require.ErrorIs(t, err, ErrMissing)
	_, err = Start(t.Context(), Config{Args: []string{"--no-such-option", "1"}})
	require.ErrorContains(t, err, "no-such-option", "it says what the server said")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Start(ctx, Config{})
	require.Error(t, err)
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, entries)
}
