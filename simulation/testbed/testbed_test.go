package testbed_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/testbed"
)

// asProgram makes the test binary the program of the documentation.
const asProgram = "TESTBED_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		program()
	}
	if err := designs.Register(lock()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.Setenv(asProgram, "1"); err != nil { // for worker processes
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// lock is redsync's algorithm as a design.
func lock() designs.Design {
	return designs.Design{
		Name: "redsync", Title: "the algorithm of redsync v4",
		Apply: designs.LockBy(newRedsync),
	}
}

// program is the whole program for a lock of your own.
func program() {
	testbed.Main(designs.Design{
		Name: "redsync", Title: "the algorithm of redsync v4",
		Apply: designs.LockBy(newRedsync),
	})
}

// does runs a command, which must succeed.
func does(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, testbed.Run(t.Context(), args, &out), out.String())
	return out.String()
}

// The row, the curves and the page, the same with and without worker processes.
func TestTable(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	table := does(t, "-seeds", "1", "-curve-seeds", "1", "-workers", "0", "-html", page)
	assert.Contains(t, table, "redsync  ")
	assert.Contains(t, table, "token-admit")
	assert.Equal(t, 3, strings.Count(table, "\n  redsync\n"), "three curves have a series of it")
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(content), "redsync")
	assert.Equal(t, table, does(t, "-seeds", "1", "-curve-seeds", "1", "-workers", "2", "-html", page))
}

func TestRun(t *testing.T) {
	pause := does(t, "run", "pause", "-seed", "1")
	assert.Contains(t, pause, "pause · redsync · seed 1")
	assert.Contains(t, pause, "found: [lost update")
	assert.Contains(t, does(t, "run", "S1"), "found: [lost update stale write two holders]")
	assert.Contains(t, does(t, "run", "S8", "-design", "default"), "found: []")

	path := filepath.Join(t.TempDir(), "faults.json")
	require.NoError(t, os.WriteFile(path, []byte(`[{"kind": "cut", "process": "c1", "server": "*", "for": "1h"}]`), 0o644))
	assert.Contains(t, does(t, "run", "S1", "-schedule", path), "found: []", "c1 never has it")
	assert.Contains(t, does(t, "run", "slow", "-schedule", path), "CUT OFF")
}

// Findings are shrunk, and can be replayed.
func TestExplore(t *testing.T) {
	folder := t.TempDir()
	told := does(t, "explore", "-seeds", "120", "-faults", "duplicate", "-out", folder, "-workers", "2")
	assert.Contains(t, told, "lost update in")
	assert.Regexp(t, `  from \d faults to 1: \[\{"kind":"duplicate"`, told)
	files, err := filepath.Glob(filepath.Join(folder, "redlock-mixed-redsync-lost-update-*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	again := does(t, "replay", files[0])
	assert.Contains(t, again, "the same run, byte for byte: true")
}

func TestWrongUsage(t *testing.T) {
	for says, args := range map[string][]string{
		"no command":       {"dance"},
		"which fault":      {"run"},
		"which replay":     {"replay", "-x"},
		"one word too":     {"run", "pause", "more"},
		"no such design":   {"run", "pause", "-design", "x"},
		"no fault":         {"run", "x"},
		"no such file":     {"run", "pause", "-schedule", "/nowhere"},
		"not defined":      {"-x"},
		"bad plan":         {"-workers", "-1"},
		"there is no faul": {"explore", "-faults", "x"},
	} {
		var out bytes.Buffer
		assert.ErrorContains(t, testbed.Run(t.Context(), args, &out), says, args)
	}
	bad := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte("{"), 0o644))
	require.ErrorIs(t, testbed.Run(t.Context(), []string{"run", "pause", "-schedule", bad}, &bytes.Buffer{}), simulation.ErrConfig)
}

// It is a lock: without faults it excludes, and the lock of a crashed holder expires.
func TestRedsyncIsALock(t *testing.T) {
	cfg := lock().Configure(simulation.Config{Witness: true})
	for seed := range uint64(20) {
		r, err := simulation.Run(seed, cfg, nil, func(c *simulation.Client) {
			lease, err := c.Acquire("k")
			if !assert.NoError(t, err) {
				return
			}
			value, version, err := c.Read(lease)
			assert.NoError(t, err)
			assert.NoError(t, c.Extend(lease))
			assert.NoError(t, c.Write(lease, value+1, version))
			assert.NoError(t, c.Release(lease))
		})
		require.NoError(t, err)
		require.Empty(t, r.Log.Violations(), "seed %d", seed)
	}
}
