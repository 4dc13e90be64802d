package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A schedule written by hand replaces that of the scenario or the fault.
func TestRunSchedule(t *testing.T) {
	path := filepath.Join(t.TempDir(), "faults.json")
	require.NoError(t, os.WriteFile(path, []byte(`[{"kind": "pause", "process": "c1", "op": "write", "nth": 1, "for": "12s"}]`), 0o644))
	out, _ := does(t, exitOK, "run", "S2", "-design", "default", "-schedule", path)
	assert.Contains(t, out, "expected: anything")
	assert.Contains(t, out, "c1 is PAUSED")
	out, _ = does(t, exitOK, "run", "slow", "-design", "redlock", "-schedule", path)
	assert.Contains(t, out, "c1 is PAUSED")

	_, errs := does(t, exitUsage, "run", "S2", "-schedule", "/nowhere")
	assert.Contains(t, errs, "no such file")
	require.NoError(t, os.WriteFile(path, []byte(`[{"kind": "quake"}]`), 0o644))
	_, errs = does(t, exitUsage, "run", "S2", "-schedule", path)
	assert.Contains(t, errs, `no such kind "quake"`)
	require.NoError(t, os.WriteFile(path, []byte(`[`), 0o644))
	_, errs = does(t, exitUsage, "run", "S2", "-schedule", path)
	assert.Contains(t, errs, "can't be read")
}
