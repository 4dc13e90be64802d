//go:build unix

package command

import (
	"encoding/json"
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
	replay := filepath.Join(folder, "worst.json")
	driver := []string{"--", instancetest.Python(t), "../../box/testdata/driver.py"}
	quick := []string{"box", "-embedded", "-for", "0s", "-shrink", "0s", "-ttl", "700ms"}
	code, stdout, stderr := redlocksim(t, append(append(quick, "-faults", "restart", "-allow", "restart", "-format", "json", "-save", replay), driver...)...)
	require.Equal(t, exitOK, code, "what is allowed doesn't fail the command: %s", stderr)
	var r box.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	worst, broke := r.Worst()
	require.True(t, broke)
	require.Equal(t, box.TwoHolders, worst.Kind)
	require.Contains(t, stderr, "accepted: SET NX by hand, 1 x embedded servers; 2 schedules, then random ones for 0s")

	again := filepath.Join(folder, "again.json")
	code, stdout, stderr = redlocksim(t, append([]string{"box", "-embedded", "-replay", replay, "-save", again}, driver...)...)
	require.Equal(t, exitFail, code)
	require.Contains(t, stdout, "by restart: replay of two holders, found in SET NX\n  two holders: c1 found its lease valid after c2 had got it (again in ")
	require.Contains(t, stdout, "finds its lease valid", "what happened")
	require.Regexp(t, `SET NX: \d+ plays have findings`, stderr)
	require.FileExists(t, again)
}

func TestBoxUsage(t *testing.T) {
	for says, args := range map[string][]string{
		"there is no driver":                  {"box"},
		`no fault "weather"`:                  {"box", "-faults", "weather", "--", "true"},
		"-format is":                          {"box", "-format", "xml", "--", "true"},
		"-server":                             {"box", "-server", "there-is-none", "--", "true"},
		"-servers has no effect with -replay": {"box", "-embedded", "-replay", "there-is-none", "-servers", "3", "--", "true"},
		"no such file":                        {"box", "-embedded", "-replay", "there-is-none", "--", "true"},
		"redlocksim box: the driver of c1 ended (exit status 0)": {"box", "-embedded", "--", "true"},
	} {
		code, _, stderr := redlocksim(t, args...)
		require.Equal(t, exitUsage, code, says)
		require.Contains(t, stderr, says)
	}
}
