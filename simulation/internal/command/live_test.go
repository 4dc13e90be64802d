//go:build unix

package command

import (
	"bytes"
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

func redlocksim(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestLive(t *testing.T) {
	needsServer(t)
	code, stdout, stderr := redlocksim(t, "live", "-only", "S13", "-format", "json")
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)
	var report live.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Zero(t, report.Disagreements)
	require.NotEmpty(t, report.Lines)
}

func TestLiveWrongUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"live", "-format", "verse"}, `-format is "verse", want text, json`},
		{[]string{"live", "-only", "S99"}, "no scenario has such a name"},
		{[]string{"live", "-only", "("}, "-only"},
		{[]string{"live", "-parallel", "0"}, "-parallel is 0, want 1 to 64"},
		{[]string{"live", "now"}, `unexpected argument "now"`},
		{[]string{"live", "-server", "no-such-server"}, "no-such-server"},
	} {
		code, stdout, stderr := redlocksim(t, test.args...)
		require.Equal(t, exitUsage, code, "%q", test.args)
		require.Contains(t, stdout+stderr, test.says, "%q", test.args)
	}
	code, stdout, _ := redlocksim(t, "live", "-list")
	require.Equal(t, exitOK, code)
	require.Contains(t, stdout, "S7c")
}

// Without a server one sentence says what to do.
func TestLiveWithoutServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	code, stdout, stderr := redlocksim(t, "live")
	require.Equal(t, exitUsage, code)
	require.Empty(t, stdout)
	require.Equal(t, 1, strings.Count(stderr, "\n"))
	require.Contains(t, stderr, "install it")
}
