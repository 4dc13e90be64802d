package migrating_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
)

// The program in redsync's README does the same with redsync and, with the two import paths replaced, with
// the adapter: also on a server that has just been started, where it waits first, and a warning says why.
func TestReadmeProgram(t *testing.T) {
	t.Parallel() // it waits
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-redsync/redsync/v4").Output()
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "README.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	program := string(block[1])
	require.Contains(t, program, `"localhost:6379"`)
	const theirs, mine = `"github.com/go-redsync/redsync/v4`, `"github.com/redquorum/redlock/quorum/adapters/redsync`
	require.Equal(t, 2, strings.Count(program, theirs))
	for name, program := range map[string]string{"redsync": program, "the adapter": strings.ReplaceAll(program, theirs, mine)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := instancetest.Start(t, instancetest.Config{})
			folder := t.TempDir()
			source, built := filepath.Join(folder, "main.go"), filepath.Join(folder, "program")
			require.NoError(t, os.WriteFile(source, []byte(strings.ReplaceAll(program, "localhost:6379", server.Addr())), 0o600))
			out, err := exec.CommandContext(t.Context(), "go", "build", "-o", built, source).CombinedOutput()
			require.NoError(t, err, "%s", out)
			out, err = exec.CommandContext(t.Context(), built).CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Equal(t, name != "redsync", strings.Contains(string(out), "don't vote yet"), "%s", out)
		})
	}
}
