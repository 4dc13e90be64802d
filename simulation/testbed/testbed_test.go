package testbed_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/testbed"
)

// asProgram makes the test binary the program of the documentation.
const asProgram = "TESTBED_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		Example()
	}
	if err := os.Setenv(asProgram, "1"); err != nil { // for the program
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Example is the whole program for a lock of your own. It isn't run here: Main exits.
func Example() {
	testbed.Main(designs.Design{Name: "mine", Servers: 1, Apply: designs.OnOneServer(designs.Recipe{
		Acquire: designs.Commands("SET KEY VALUE NX PX MS"),
		Extend:  designs.Commands("PEXPIRE KEY MS"),
		Release: designs.Commands("DEL KEY"),
	})})
}

// does runs the program, which must end with the exit code.
func does(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if code == 0 {
		require.NoError(t, err, "%s", out)
	}
	require.Equal(t, code, cmd.ProcessState.ExitCode(), "%s", out)
	return string(out)
}

// The row and the page.
func TestTable(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	table := does(t, 0, "-seeds", "1", "-html", page)
	assert.Contains(t, table, "pause: mine 100 %, setpx-cad ")
	assert.Contains(t, table, "token-admit")
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(content), "go run . matrix -designs mine,setpx-cad,redlock,default,token-admit")
}

// The first design is played, unless another one is named.
func TestRun(t *testing.T) {
	assert.Contains(t, does(t, 0, "run", "S1"), "found: lost update, stale write, two holders\ntrace: ")
	assert.Contains(t, does(t, 0, "run", "S8", "-design", "default"), "found: none")
	assert.Contains(t, does(t, 1, "explore", "-seeds", "120", "-faults", "duplicate"), "go run . run mixed -design mine -seed ")
}
