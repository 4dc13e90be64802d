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

// A file that can't be written is reported before the first run, and an existing file is unchanged
// if a command fails for another reason.
func TestFilesAreOpenedFirst(t *testing.T) {
	dir := t.TempDir()
	nowhere := filepath.Join(dir, "nowhere", "x")
	for _, args := range [][]string{
		{"-seeds", "1000000", "-html", nowhere}, {"matrix", "-seeds", "1000000", "-html", nowhere},
	} {
		out, errs := does(t, exitFail, args...)
		assert.Empty(t, out, "%q", args)
		assert.Regexp(t, `-html: stat .*no such file`, errs, "%q", args)
	}
	kept := filepath.Join(dir, "kept.json")
	require.NoError(t, os.WriteFile(kept, []byte("old"), 0o600))
	does(t, exitUsage, "matrix", "-designs", "redlock", "-seeds", "1", "-html", kept, "-faults", "rain")
	text, err := os.ReadFile(kept)
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "no empty file stays behind")
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
