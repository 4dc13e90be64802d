package command

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// walkOrders runs the command in this process and returns its exit code and its output.
func walkOrders(ctx context.Context, args ...string) (code int, out, errors string) {
	var stdout, stderr bytes.Buffer
	code = Run(ctx, append([]string{"orders", "-workers", "1"}, args...), &stdout, &stderr)
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
	require.Equal(t, exitOK, Run(t.Context(), []string{"replay", "-quiet", files[0]}, &replayed, &replayed), replayed.String())

	code, out, _ = walkOrders(t.Context(), "-servers", "2", "-design", "half-quorum", "-out", folder, "-format", "json")
	assert.Equal(t, exitFail, code, "also as data")
	assert.Contains(t, out, `"two holders"`)
	code, _, errors = walkOrders(t.Context(), "-for", "1ns", "-out", folder)
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
		{"-world", "nope"}, {"-world", ""}, {"-design", "nope"}, {"-faults", "hang"}, {"-clients", "0"}, {"-servers", "10"}, {"-for", "-1s"}, {"-pairs"},
		{"-format", "xml"}, {"-out", "/nowhere"}, {"-workers", "0"}, {"word"},
	} {
		code, out, errors := walkOrders(t.Context(), append([]string{"-out", folder}, args...)...)
		assert.Equal(t, exitUsage, code, "%v: %s%s", args, out, errors)
		assert.NotEmpty(t, errors)
	}
}
