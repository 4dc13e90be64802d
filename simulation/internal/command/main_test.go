package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain makes the test binary a driver as well, because live starts its own program, and redlocksim itself, for tests that run it from the PATH.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "redlocksim" { // see onPath
		Main("", os.Args[1:])
	}
	if len(os.Args) > 1 && os.Args[1] == "driver" {
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// said runs a command and returns its exit code and output.
func said(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// does runs a command that exits as it is to, and returns its output.
func does(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := said(t.Context(), args...)
	require.Equal(t, want, code, "%q\n%s%s", args, stdout, stderr)
	return stdout, stderr
}

// Wrong usage is reported with the fix before anything is played, wherever the flags are, and exits with 2.
func TestWrongUsage(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "quake.json"), []byte(`[{"kind": "quake"}]`), 0o600))
	for _, test := range [][2]string{
		{"sing", `there is no command "sing"`},
		{"-loud", "-loud"},
		{"-seeds 1000000 -html /nowhere/x", "-html: stat /nowhere: no such file"},
		{"-seeds 1 now", "unexpected argument"},
		{"matrix -loud", "-loud"},
		{"matrix now", `unexpected argument "now"`},
		{"matrix -designs x", "there are setnx,"},
		{"matrix -faults x", "there are slow, pause,"},
		{"matrix -seeds 0", "-seeds is 0"},
		{"matrix -seeds 9999999999", "want 1 to 1000000000"},
		{"run", "which scenario or fault? Name one"},
		{"run -seed 3 -design default", "which scenario or fault? Name one"},
		{"run -design", "flag needs an argument: -design"},
		{"run S4 -seed 1 S5", `unexpected argument "S5"`},
		{"run S4 redlock", `unexpected argument "redlock": want -design redlock`},
		{"run S99", `no scenario "S99"`},
		{"run S4 -design x", "no design of S4"},
		{"run pause -design x", "no design"},
		{"run mixed -design x", "no design"},
		{"run S4 -seed x", "invalid value"},
		{"run S1 -schedule [}", "the schedule can't be read"},
		{"run S1 -schedule /nowhere", "no such file"},
		{"run S1 -schedule FOLDER/quake.json", `no such kind "quake"`},
		{"list S23", `no scenario "S23"`},
		{"list S23", `no design "S23"`},
		{"list S4 S5", `unexpected argument "S5"`},
		{"list -nonsense", "-nonsense"},
		{"live -format verse", `-format is "verse", want text, json`},
		{"live -only S99", "no scenario has such a name"},
		{"live -only (", "-only"},
		{"live now", `unexpected argument "now"`},
		{"live -server no-such-server", "no-such-server"},
		{"explore -seeds x", "invalid value"},
		{"explore -seeds 0", "-seeds is 0"},
		{"explore -faults rain", `no fault "rain"`},
		{"explore -design paper", "no design"},
		{"explore -workload S99", `no workload "S99"`},
		{"explore -most 0", "-most is 0, want 1 to 1000"},
		{"explore -most 0x10000", "at most 65536 faults"},
		{"explore -within -faults evict", "cover none of the faults [evict]"},
		{"explore now", "unexpected argument"},
		{"servers -n 0", "-n is 0, want 1 to 9"},
		{"servers -n 10", "-n is 10, want 1 to 9"},
		{"servers now", `unexpected argument "now"`},
		{"servers -embedded -http nowhere", "-http: "},
		{"servers -server no-such-server", "no-such-server"},
		{"box", "there is no driver"},
		{"box -faults weather -- true", `no fault "weather"`},
		{"box -format xml -- true", "-format is"},
		{"box -server there-is-none -- true", "-server"},
		{"box -schedule pause -seed 3 -- true", "-seed has no effect with -schedule"},
		{"box -embedded -- true", "redlocksim box: the driver of c1 ended (exit status 0)"},
	} {
		out, errs := does(t, exitUsage, strings.Fields(strings.ReplaceAll(test[0], "FOLDER", folder))...)
		assert.Empty(t, out, test[0])
		assert.Contains(t, errs, test[1], test[0])
	}
	for _, name := range []string{"matrix", "run", "list"} {
		_, errs := does(t, exitOK, name, "-h")
		assert.Contains(t, strings.ToLower(errs), "usage")
	}
	out, _ := does(t, exitOK, "-h")
	assert.Contains(t, out, "-seeds")
	does(t, exitOK, "help")
}
