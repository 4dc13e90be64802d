//go:build unix

package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/internal/long"
)

// The driver of docs/reference/driver.md: one server, so a restart breaks it.
func TestBox(t *testing.T) {
	long.Test(t, "package box plays this driver, too")
	folder := t.TempDir()
	page, replay := filepath.Join(folder, "box.html"), filepath.Join(folder, "worst.json")
	driver := []string{"--", instancetest.Python(t), "../../box/testdata/driver.py"}
	// No lease has to run out, and none may on a busy machine.
	quick := []string{"box", "-embedded", "-for", "0s", "-shrink", "0s", "-ttl", "20s"}
	code, stdout, stderr := said(t.Context(), append(append(quick, "-faults", "restart", "-allow", "restart: two holders", "-allow", "hang, restart: stale write", "-format", "json", "-save", replay), driver...)...)
	require.Equal(t, exitOK, code, "what is allowed doesn't fail the command: %s", stderr)
	var r box.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	worst, broke := r.Worst()
	require.True(t, broke)
	require.Equal(t, box.TwoHolders, worst.Kind)
	require.Contains(t, stderr, "accepted: SET NX by hand, 1 x embedded servers; 2 schedules, then random ones for 0s")

	again := filepath.Join(folder, "again.json")
	code, stdout, stderr = said(t.Context(), append([]string{"box", "-embedded", "-replay", replay, "-html", page, "-save", again}, driver...)...)
	require.Equal(t, exitFail, code)
	require.Contains(t, stdout, "two holders by restart, in \"replay of two holders, found in SET NX\"\n  a limit of the algorithm: c1 found its lease valid after c2 had got it (again in ")
	require.Contains(t, stdout, "finds its lease valid", "what happened")
	require.Contains(t, stdout, "Nothing is SET NX's own.")
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), "<b>two holders by restart</b>")
	require.Contains(t, string(html), "finds its lease valid", "what happened")
	require.Contains(t, stderr, "SET NX: findings that are not allowed: restart: two holders")
	require.FileExists(t, again)

	// A lock that nobody holds when its server restarts is no test of that.
	idle := filepath.Join(folder, "idle.json")
	require.NoError(t, os.WriteFile(idle, []byte(`{"name": "idle", "servers": 1, "ttl_ns": 2000000000, "fault": "restart", "kind": "two holders", "schedule": ["c1 waits", "c1 releases", "stop A", "start A"]}`), 0o600))
	code, stdout, stderr = said(t.Context(), append([]string{"box", "-embedded", "-replay", idle}, driver...)...)
	require.Equal(t, exitUnknown, code, stderr)
	require.Contains(t, stdout, "Unknown: restart never struck")
	require.Contains(t, stderr, "nothing is known of these faults, which never struck: restart")
}
