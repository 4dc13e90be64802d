//go:build unix

package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/simulation/internal/live"
)

// needsServer skips the test where there is no redis-server.
func needsServer(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv(instancetest.RequireEnv) == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestLive(t *testing.T) {
	needsServer(t)
	code, stdout, stderr := said(t.Context(), "live", "-only", "S13", "-format", "json")
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)
	var report live.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Zero(t, report.Disagreements)
	require.NotEmpty(t, report.Lines)
}

// Without a server one sentence says what to do.
func TestLiveWithoutServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	code, stdout, stderr := said(t.Context(), "live")
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
	require.Equal(t, 1, strings.Count(stderr, "\n"))
	require.Contains(t, stderr, "install it")
}
