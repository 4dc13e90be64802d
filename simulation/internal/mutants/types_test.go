package mutants

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
)

// A mutant that does not compile would be found out only when all are run. That takes minutes,
// and type checking takes seconds.
func TestMutantsTypeCheck(t *testing.T) {
	src, err := Open(t.Context(), ".")
	require.NoError(t, err)
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "./quorum/...", "./instance/...", "./fencing/...", "./drift/...")
	list.Dir = src.root
	out, err := list.Output()
	require.NoError(t, err)
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	checked := 0
	for i, m := range All() {
		if !long.Asked() && i%8 != 0 {
			continue
		}
		texts, err := src.mutated(m)
		require.NoError(t, err, m.Name)
		dirs := map[string]bool{}
		for file := range texts {
			if strings.HasSuffix(file, ".go") {
				dirs[filepath.Dir(file)] = true
			}
		}
		for dir := range dirs {
			checked++
			conf := types.Config{Importer: imports}
			_, err := conf.Check(module+"/"+dir, fset, parsed(t, fset, src.root, dir, texts), nil)
			assert.NoError(t, err, m.Name)
		}
	}
	assert.Greater(t, checked, len(All())/12)
}

// parsed is the Go files of a folder, with some texts in their places.
func parsed(t *testing.T, fset *token.FileSet, root, dir string, texts map[string]string) (files []*ast.File) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, dir))
	require.NoError(t, err)
	for _, entry := range entries {
		name := entry.Name()
		match, err := build.Default.MatchFile(filepath.Join(root, dir), name)
		require.NoError(t, err)
		if !match || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		var text any
		if mutated, ok := texts[filepath.Join(dir, name)]; ok {
			text = mutated
		}
		file, err := parser.ParseFile(fset, filepath.Join(root, dir, name), text, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}
