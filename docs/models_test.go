package docs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tokenModel is the argument why tokens rise, as a model.
const tokenModel = "models/token.pml"

// spin is the report of a search through all states of a model, with symbols that break it. The
// test is skipped without spin and a C compiler, or fails when REDLOCK_REQUIRE_SPIN is 1.
func spin(t *testing.T, model string, symbols ...string) string {
	t.Helper()
	for _, program := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			require.NotEqual(t, "1", os.Getenv("REDLOCK_REQUIRE_SPIN"), "REDLOCK_REQUIRE_SPIN is 1, but there is no %s on the PATH", program)
			t.Skipf("there is no %s on the PATH", program)
		}
	}
	path, err := filepath.Abs(model)
	require.NoError(t, err)
	args := []string{"-a", path}
	for _, symbol := range symbols {
		args = append([]string{"-D" + symbol}, args...)
	}
	folder := t.TempDir()
	run := func(name string, args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, out)
		return string(out)
	}
	run("spin", args...)
	run("gcc", "-w", "-O1", "-DSAFETY", "-DMEMLIM=2000", "-o", "pan", "pan.c")
	return run(filepath.Join(folder, "pan"), "-m100000")
}

// neverReached has what no state of a complete search reached, by process.
func neverReached(report string) (list []string) {
	_, report, _ = strings.Cut(report, "unreached in proctype")
	for line := range strings.Lines(report) {
		if line = strings.TrimSpace(line); strings.Contains(line, ", state ") {
			_, what, _ := strings.Cut(line, ", state ")
			_, what, _ = strings.Cut(what, ", ")
			list = append(list, what)
		}
	}
	return list
}

// All states of the model are looked at, none breaks the claim, and every line of it is reached.
// World never ends.
func TestModel(t *testing.T) {
	report := spin(t, tokenModel)
	assert.Contains(t, report, "errors: 0\n", report)
	assert.NotContains(t, report, "Search not completed", "the search was cut off")
	assert.NotContains(t, report, "search depth too small", "the search was cut off")
	assert.NotContains(t, report, "out of memory", "the search was cut off")
	assert.Regexp(t, `(?m)^ *[0-9]{6,} states, stored`, report, "hundreds of thousands of states")
	assert.Equal(t, []string{`"-end-"`}, neverReached(report), report)
}

// A check that can't fail proves nothing: with each rule broken, Spin finds a way to break the claim.
func TestModelWithARuleBroken(t *testing.T) {
	if os.Getenv("REDLOCK_LONG") == "" {
		t.Skip("it compiles seven models; with REDLOCK_LONG=1 it runs")
	}
	text, err := os.ReadFile(tokenModel)
	require.NoError(t, err)
	var symbols []string
	for _, found := range regexp.MustCompile(`(?m)^#ifn?def ([A-Z_]+)$`).FindAllStringSubmatch(string(text), -1) {
		symbols = append(symbols, found[1])
	}
	slices.Sort(symbols)
	symbols = slices.Compact(symbols)
	require.Len(t, symbols, 7)
	for _, symbol := range symbols {
		t.Run(symbol, func(t *testing.T) {
			assert.Contains(t, string(text), " *   "+symbol+" ", "the model's comment doesn't say what it is")
			report := spin(t, tokenModel, symbol)
			assert.Contains(t, report, "errors: 1\n", report)
			assert.Contains(t, report, "assertion violated")
		})
	}
}
