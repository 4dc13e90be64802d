//go:build unix

package redisproc

import (
	"context"
	"os"
	"path/filepath"
	"strings"
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
	// It was written before, but may not have been read yet.
	eventually(t, func() bool { return strings.Contains(s.output.String(), "Ready to accept connections") })

	require.NoError(t, s.Restart(t.Context()))
	second, err := s.Info("run_id")
	require.NoError(t, err)
	require.NotEqual(t, first, second)

	s.Kill()
	require.ErrorContains(t, s.Pause(), "not running")
	require.ErrorContains(t, s.Resume(), "not running")
	require.NoError(t, s.Close())
	require.ErrorContains(t, s.Restart(t.Context()), "ended at once")
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

	silent := filepath.Join(t.TempDir(), "silent")                                         // in place of a server that is slow to answer
	require.NoError(t, os.WriteFile(silent, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700)) //nolint:gosec // it is to be run
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Start(ctx, Config{Binary: silent})
	require.ErrorIs(t, err, context.Canceled)
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, entries)
}
