package mutants

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMarkersIn(t *testing.T) {
	list, err := markersIn("a.go", "package a\n\n//guard:one  the first\n//guard:one-more  the second\nvar a = 1\n")
	require.NoError(t, err)
	assert.Equal(t, []Marker{{"one", "the first", "a.go", 5}, {"one-more", "the second", "a.go", 5}}, list)
	list, err = markersIn("a.lua", "if a then\n  --guard:lua  in Lua, too\n  b()\nend\n")
	require.NoError(t, err)
	assert.Equal(t, []Marker{{"lua", "in Lua, too", "a.lua", 3}}, list)

	for name, text := range map[string]string{
		"no sentence":       "//guard:one\nvar a = 1\n",
		"one space":         "//guard:one the first\nvar a = 1\n",
		"a bad name":        "//guard:One  the first\nvar a = 1\n",
		"no directive":      "// guard:one  the first\nvar a = 1\n",
		"above a comment":   "//guard:one  the first\n// a\nvar a = 1\n",
		"above no line":     "//guard:one  the first\n\nvar a = 1\n",
		"at the file's end": "//guard:one  the first\n",
	} {
		_, err := markersIn("a.go", text)
		assert.ErrorIs(t, err, errMarker, name)
	}
}

func TestMarkerNamesAreUnique(t *testing.T) {
	root := t.TempDir()
	for _, folder := range marked {
		require.NoError(t, os.Mkdir(filepath.Join(root, folder), 0o700))
	}
	write := func(file, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o600))
	}
	write("drift/a.go", "//guard:one  the first\nvar a = 1\n")
	write("drift/a_test.go", "//guard:one  a test is no source\nvar b = 1\n")
	write("quorum/b.lua", "--guard:two  the second\na()\n")
	all, err := readMarkers(root)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, "quorum/b.lua", all[1].File)

	write("fencing/c.go", "//guard:two  again\nvar c = 1\n")
	_, err = readMarkers(root)
	require.ErrorIs(t, err, errMarker)
	assert.ErrorContains(t, err, "two is in fencing/c.go:2 and in quorum/b.lua:2")
}
