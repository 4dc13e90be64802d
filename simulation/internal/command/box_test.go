//go:build unix

package command

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/simulation/internal/long"
)

// The driver of docs/reference/driver.md: one server, so a restart breaks it.
func TestBox(t *testing.T) {
	long.Test(t, "CI plays this driver in the box, too")
	driver := []string{"--", instancetest.Python(t), "../../box/testdata/driver.py"}
	box := func(flags ...string) (code int, stdout, stderr string) {
		t.Helper()
		// No lease has to run out, and none may on a busy machine.
		return said(t.Context(), slices.Concat([]string{"box", "-embedded", "-ttl", "20s"}, flags, driver)...)
	}
	code, stdout, stderr := box("-for", "0s", "-shrink", "0s", "-faults", "restart", "-allow", "restart: two holders", "-allow", "hang, restart: stale write", "-format", "json")
	require.Equal(t, exitOK, code, "what is allowed doesn't fail the command: %s", stderr)
	require.Contains(t, stdout, `"kind": "two holders"`)
	require.Contains(t, stderr, "accepted: SET NX by hand, 1 x embedded servers; 2 schedules\n")

	code, stdout, stderr = box("-schedule", "c1 waits, c1 works, stop ONE, start ONE, c2 waits, c2 works, c1 works")
	require.Equal(t, exitFail, code)
	require.Contains(t, stdout, "two holders, stale write by restart, in \"the given schedule\"\n  a limit of the algorithm: c1 found its lease valid, though c2 had got the lock later (again in ")
	require.Contains(t, stdout, "finds its lease valid", "what happened")
	require.Contains(t, stdout, "nothing that broke is SET NX's own.")
	require.Contains(t, stderr, "SET NX: findings that are not allowed: only limits of the algorithm, which -allow limits allows: restart: two holders")
	require.NotContains(t, stderr, "shorter", "it is played as it is given")

	// A lock that nobody holds when its server restarts is no test of that.
	code, stdout, stderr = box("-schedule", "c1 waits, c1 releases, stop A, start A")
	require.Equal(t, exitUnknown, code, stderr)
	require.Contains(t, stdout, "Unknown: restart never struck")
	require.Contains(t, stdout, "\nThe last play:\n     1 ", "what happened, though nothing was found")
	require.Contains(t, stderr, "not everything is known: restart never struck")
	code, stdout, _ = box("-schedule", "c1 works")
	require.Equal(t, exitUnknown, code)
	require.Contains(t, stdout, "Unknown: no client got the lock, so nothing is known of it.")
}
