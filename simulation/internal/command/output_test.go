package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An existing page is unchanged if a command fails.
func TestPageIsKept(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(page, []byte("old"), 0o600))
	does(t, exitUsage, "matrix", "-designs", "redlock", "-seeds", "1", "-html", page, "-faults", "rain")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
}

// A full disk is reported for every kind of output.
func TestFullDisk(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip(err)
	}
	for _, args := range []string{"list", "run S4", "matrix -designs redlock -faults slow -seeds 1", "explore -seeds 2 -faults cut"} {
		out, err := os.OpenFile(full, os.O_WRONLY, 0)
		require.NoError(t, err)
		var told bytes.Buffer
		assert.Equal(t, exitFail, Run(t.Context(), strings.Fields(args), out, &told), args)
		assert.Equal(t, 1, strings.Count(told.String(), "no space left on device"), "%s: %s", args, told.String())
		assert.Contains(t, told.String(), "the output could not be written", args)
		require.NoError(t, out.Close())
	}
}
