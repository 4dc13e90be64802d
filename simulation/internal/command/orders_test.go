package command

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOrdersExits(t *testing.T) {
	orders := func(t *testing.T, args ...string) (code int, out, errors string) {
		t.Helper()
		return said(t.Context(), append([]string{"orders", "-workers", "1"}, args...)...)
	}
	folder := t.TempDir()
	code, out, errors := orders(t, "-servers", "1", "-faults", "lose,crash", "-out", folder)
	assert.Equal(t, exitOK, code, errors)
	assert.Contains(t, out, "these are all orders")
	assert.Contains(t, out, "no violation")

	code, out, errors = orders(t, "-servers", "2", "-design", "half-quorum", "-out", folder)
	assert.Equal(t, exitFail, code)
	assert.Contains(t, out, "two holders")
	assert.Contains(t, errors, "half-quorum does not keep all of the library's promises")
	files, err := filepath.Glob(filepath.Join(folder, "*two-holders*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	var replayed bytes.Buffer
	require.Equal(t, exitOK, Run(t.Context(), []string{"replay", "-quiet", files[0]}, &replayed, &replayed), replayed.String())

	code, out, _ = orders(t, "-servers", "2", "-design", "half-quorum", "-out", folder, "-format", "json")
	assert.Equal(t, exitFail, code, "also as data")
	assert.Contains(t, out, `"two holders"`)
	code, _, errors = orders(t, "-for", "1ns", "-out", folder)
	assert.Equal(t, exitFail, code)
	assert.Contains(t, errors, "no order was played")

	// Findings of one kind have files of their own.
	folder = t.TempDir()
	code, out, errors = orders(t, "-world", "turns", "-servers", "1", "-faults", "evict,step", "-out", folder)
	assert.Equal(t, exitFail, code, errors)
	files, err = filepath.Glob(filepath.Join(folder, "*validity*.json"))
	require.NoError(t, err)
	require.Len(t, files, strings.Count(out, "\nvalidity beyond reality: "))
	require.Greater(t, len(files), 1)
}
