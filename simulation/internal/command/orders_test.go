package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/orders"
)

// walkOrders runs the command in this process and returns its exit code and its output.
func walkOrders(ctx context.Context, args ...string) (code int, out, errors string) {
	var stdout, stderr bytes.Buffer
	code = run(ctx, append([]string{"orders", "-workers", "1"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestOrdersExits(t *testing.T) {
	folder := t.TempDir()
	code, out, errors := walkOrders(t.Context(), "-servers", "1", "-faults", "lose,crash", "-out", folder)
	assert.Equal(t, exitOK, code, errors)
	assert.Contains(t, out, "these are all orders")
	assert.Contains(t, out, "no violation")

	code, out, errors = walkOrders(t.Context(), "-servers", "2", "-design", "half-quorum", "-out", folder)
	assert.Equal(t, exitFail, code)
	assert.Contains(t, out, "two holders")
	assert.Contains(t, errors, "half-quorum does not keep all of the library's promises")
	files, err := filepath.Glob(filepath.Join(folder, "*two-holders*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	var replayed bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"replay", "-quiet", files[0]}, &replayed, &replayed), replayed.String())

	code, out, _ = walkOrders(t.Context(), "-servers", "2", "-design", "half-quorum", "-out", folder, "-format", "json")
	assert.Equal(t, exitFail, code, "also as data")
	assert.Contains(t, out, `"two holders"`)
	code, _, errors = walkOrders(t.Context(), "-budget", "1ns", "-out", folder)
	assert.Equal(t, exitFail, code)
	assert.Contains(t, errors, "no order was played")

	// Findings of one kind have files of their own.
	folder = t.TempDir()
	code, out, errors = walkOrders(t.Context(), "-world", "turns", "-servers", "1", "-faults", "evict,step", "-out", folder)
	assert.Equal(t, exitFail, code, errors)
	files, err = filepath.Glob(filepath.Join(folder, "*validity*.json"))
	require.NoError(t, err)
	require.Len(t, files, strings.Count(out, "\nvalidity beyond reality: "))
	require.Greater(t, len(files), 1)

	for _, args := range [][]string{
		{"-world", "nope"}, {"-world", ""}, {"-design", "nope"}, {"-faults", "hang"}, {"-clients", "0"}, {"-servers", "10"}, {"-budget", "-1s"}, {"-pairs"},
		{"-choices", "0,x"}, {"-choices", ""}, {"-schedule", "[]"}, {"-choices", "0", "-schedule", "["}, {"-format", "xml"}, {"-out", "/nowhere"}, {"-workers", "0"}, {"word"},
	} {
		code, out, errors := walkOrders(t.Context(), append([]string{"-out", folder}, args...)...)
		assert.Equal(t, exitUsage, code, "%v: %s%s", args, out, errors)
		assert.NotEmpty(t, errors)
	}
}

// One order is what its choices say.
func TestOrdersOfChoices(t *testing.T) {
	code, out, errors := walkOrders(t.Context(), "-choices", "0,0,1")
	require.Equal(t, exitOK, code, errors)
	_, again, _ := walkOrders(t.Context(), "-choices", "0,0,1")
	assert.Equal(t, out, again)
	_, other, _ := walkOrders(t.Context(), "-choices", "1")
	assert.NotEqual(t, out, other)
	code, _, errors = walkOrders(t.Context(), "-servers", "2", "-design", "half-quorum", "-choices", "0,0,0,1,1")
	assert.Equal(t, exitFail, code)
	assert.Contains(t, errors, "two holders")
}

// A walk that is interrupted goes on from its file.
func TestOrdersGoOn(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state.json")
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, errors := walkOrders(interrupted, "-servers", "2", "-state", state)
	assert.Equal(t, exitFail, code)
	assert.Contains(t, errors, "interrupted")
	for range 2 { // the second time there is nothing left to do
		code, out, errors := walkOrders(t.Context(), "-servers", "2", "-state", state, "-format", "json")
		require.Equal(t, exitOK, code, errors)
		var record orders.Record
		require.NoError(t, json.Unmarshal([]byte(out), &record))
		require.Len(t, record.Rows, 1)
		assert.Zero(t, record.Rows[0].Open)
		assert.Equal(t, uint64(112), record.Rows[0].Runs)
	}
	code, _, errors = walkOrders(t.Context(), "-servers", "1", "-state", state)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errors, "name another file")
	text, err := os.ReadFile(state)
	require.NoError(t, err)
	other := regexp.MustCompile(`"program":"[0-9a-f]+"`).ReplaceAll(text, []byte(`"program":"another"`))
	require.NoError(t, os.WriteFile(state, other, 0o600))
	code, _, errors = walkOrders(t.Context(), "-servers", "2", "-state", state)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errors, "another version of this program")
	require.NoError(t, os.WriteFile(state, []byte("{"), 0o600))
	code, _, errors = walkOrders(t.Context(), "-servers", "2", "-state", state)
	assert.Equal(t, exitUsage, code)
	assert.True(t, strings.Contains(errors, "isn't a file that redlocksim orders wrote"), errors)
}
