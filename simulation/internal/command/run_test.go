package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/play"
)

// words splits a command line that was printed.
func words(t *testing.T, command string) []string {
	t.Helper()
	rest, ok := strings.CutPrefix(command, start+" ")
	require.True(t, ok, command)
	var args []string
	for _, word := range regexp.MustCompile(`'[^']*'|[^ ]+`).FindAllString(rest, -1) {
		args = append(args, strings.Trim(word, "'"))
	}
	return args
}

// Flags may be anywhere.
func TestRun(t *testing.T) {
	out, errs := does(t, exitOK, "run", "s4", "-design", "redlock", "-seed", "3")
	assert.Empty(t, errs)
	assert.NotContains(t, out, "\x1b")
	for _, words := range []string{"S4: A server's clock jumps forward · redlock · seed 3", "!! TWO HOLDERS", "found: stale write, two holders; expected: stale write, two holders", "as expected\n"} {
		assert.Contains(t, out, words)
	}
	for _, args := range []string{"run -seed 3 S4 -design redlock", "run -design redlock -seed 3 S4"} {
		same, _ := does(t, exitOK, strings.Fields(args)...)
		assert.Equal(t, out, same, args)
	}
	held, _ := does(t, exitOK, "run", "S4")
	assert.Contains(t, held, "· default ·")
	assert.Contains(t, held, "found: none; expected: none")
	fenced, _ := does(t, exitOK, "run", "S26", "-design", "token-admit")
	assert.Contains(t, fenced, "found: two holders (no harm: the resource checks tokens); expected: two holders\n")
	fault, _ := does(t, exitOK, "run", "cut", "-seed", "2")
	assert.Contains(t, fault, "expected: no run should break this lock, because two majorities share a server")
}

// A run with a schedule on the command line is the run with the same schedule in a file, and the
// output has the hash of its trace.
func TestRunWithSchedule(t *testing.T) {
	const faults = `[{"kind": "crash", "process": "c1", "op": "write", "nth": 1}]`
	path := filepath.Join(t.TempDir(), "faults.json")
	require.NoError(t, os.WriteFile(path, []byte(faults), 0o600))
	inFile, _ := does(t, exitOK, "run", "S1", "-schedule", path)
	inline, _ := does(t, exitOK, "run", "S1", "-schedule", faults)
	assert.Equal(t, inFile, inline)
	run, err := play.Play(play.Setup{Base: "S1", Schedule: simulation.Schedule{{Kind: fault.Crash, Process: "c1", Op: "write", Nth: 1}}})
	require.NoError(t, err)
	assert.Contains(t, inline, "\ntrace: sha256 "+run.Result.Log.Digest()+"\n")
	for base, says := range map[string]string{"S2": "found: none\ntrace: ", "slow": "c1 CRASHES"} {
		out, _ := does(t, exitOK, "run", base, "-schedule", path)
		assert.Contains(t, out, says)
	}
}
