package origin_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/origin"
)

func TestHash(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		hash, err := origin.Lock(root)
		if err != nil {
			return ""
		}
		return hash
	}
	for _, name := range []string{"drift/a.go", "quorum/a.go", "quorum/wire/a.go", "quorum/internal/b/a.go", "instance/a.go"} {
		assert.Empty(t, write(name, "package a"), "a folder is missing")
	}
	first := write("instance/scripts/a.lua", "return 1")
	assert.Len(t, first, 12)
	for _, name := range []string{"quorum/a_test.go", "quorum/once/a.go", "instance/cmd/a.go", "instance/README", "docs/a.go"} {
		assert.Equal(t, first, write(name, "x"), name)
	}
	assert.Equal(t, first, write("quorum/a.go", "// Package a says something.\npackage a // indeed"), "only comments differ")
	seen := map[string]bool{first: true}
	for _, name := range []string{"drift/b.go", "quorum/a.go", "quorum/wire/b.go", "quorum/internal/b/b.go", "instance/b.go", "instance/scripts/a.lua"} {
		hash := write(name, "y")
		assert.False(t, seen[hash], name)
		seen[hash] = true
	}
}
