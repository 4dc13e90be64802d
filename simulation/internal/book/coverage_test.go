package book_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everything is the text of all pages.
func everything(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		b.Write(text)
	}
	return b.String()
}

// documented are the importable packages of all modules, by their folders from the top.
func documented(t *testing.T) map[string]*doc.Package {
	t.Helper()
	set, files := token.NewFileSet(), map[string][]*ast.File{}
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "internal"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err == nil && file.Name.Name != "main" {
			dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), ".."+string(filepath.Separator)))
			files[dir] = append(files[dir], file)
		}
		return err
	}))
	all := map[string]*doc.Package{}
	for dir, list := range files {
		p, err := doc.NewFromFiles(set, list, module+"/"+dir)
		require.NoError(t, err)
		all[dir] = p
	}
	require.Greater(t, len(all), 14)
	return all
}

// values are the constants and variables of a package.
func values(p *doc.Package) []*doc.Value {
	all := slices.Concat(p.Consts, p.Vars)
	for _, one := range p.Types {
		all = slices.Concat(all, one.Consts, one.Vars)
	}
	return all
}

// wellKnown are methods whose meaning the standard library's interfaces define.
var wellKnown = []string{"Error", "Unwrap", "String", "Is", "As", "MarshalText", "UnmarshalText", "MarshalJSON", "UnmarshalJSON", "Read", "Write", "Close"}

// Every exported name of every importable package has a comment, and so has each package.
func TestEveryNameIsDocumented(t *testing.T) {
	names := 0
	for dir, p := range documented(t) {
		assert.True(t, strings.HasPrefix(p.Doc, "Package "+p.Name+" "), "package %s has no comment that begins with its name", dir)
		has := func(name, comment string) {
			names++
			assert.NotEmpty(t, comment, "%s.%s has no comment", dir, name)
		}
		funcs := p.Funcs
		for _, one := range p.Types {
			has(one.Name, one.Doc)
			funcs = slices.Concat(funcs, one.Funcs)
			for _, m := range one.Methods {
				if !slices.Contains(wellKnown, m.Name) {
					has(one.Name+"."+m.Name, m.Doc)
				}
			}
		}
		for _, f := range funcs {
			has(f.Name, f.Doc)
		}
		for _, v := range values(p) {
			for _, spec := range v.Decl.Specs {
				s := spec.(*ast.ValueSpec)
				has(s.Names[0].Name, v.Doc+s.Doc.Text()+s.Comment.Text())
			}
		}
	}
	require.Greater(t, names, 500)
}

// Every error is in a table, with its meaning and what to do.
func TestEveryErrorIsExplained(t *testing.T) {
	explained, found := map[string]bool{}, 0
	for _, cell := range regexp.MustCompile(`(?m)^\| ([^|]*)\|`).FindAllStringSubmatch(everything(t), -1) {
		for _, quoted := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cell[1], -1) {
			explained[quoted[1]] = true
		}
	}
	for dir, p := range documented(t) {
		if dir == "quorum/wire" || dir == "simulation/drivers/go/driver" {
			continue // quorum has them under the same names; drivers are programs
		}
		for _, v := range values(p) {
			for _, name := range v.Names {
				if !strings.HasPrefix(name, "Err") {
					continue
				}
				found++
				assert.True(t, explained[p.Name+"."+name], "no table of errors has a row for `%s.%s`: add it to troubleshooting.md, or to testing.md if only tests meet it", p.Name, name)
			}
		}
	}
	require.Greater(t, found, 60)
}
