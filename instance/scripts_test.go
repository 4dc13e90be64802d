package instance

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/scripts")

// TestScriptsAsSent compares each script, as a server gets it, with its file in testdata/scripts,
// which shows readers the whole script.
func TestScriptsAsSent(t *testing.T) {
	scripts := map[string]*script{
		"acquire": acquireScript, "release": releaseScript,
		"acquire_bare": acquireBareScript,
		"raise":        raiseScript, "restore": restoreScript, "extend": extendScript,
		"look": lookScript, "tick": tickScript, "mark": markScript, "try": tryScript,
		"enqueue": enqueueScript, "dequeue": dequeueScript,
		"acquire_all": acquireAllScript, "acquire_all_bare": acquireAllBareScript, "lift_all": liftAllScript,
	}
	folder := filepath.Join("testdata", "scripts")
	if *update {
		require.NoError(t, os.RemoveAll(folder))
		require.NoError(t, os.MkdirAll(folder, 0o755))
		for name, s := range scripts {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name+".lua"), []byte(s.source), 0o644))
		}
	}
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, files, len(scripts))
	for name, s := range scripts {
		text, err := os.ReadFile(filepath.Join(folder, name+".lua"))
		require.NoError(t, err)
		require.Equal(t, string(text), s.source, "%s: go test ./instance -run ScriptsAsSent -update, and read the difference", name)
	}
}
