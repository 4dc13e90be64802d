package book_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every exported name of every importable package has a comment, and so has each package.
func TestEveryNameIsDocumented(t *testing.T) {
	names := 0
	for _, dir := range packageDirs(t) {
		files, err := sources(filepath.Join("..", dir))
		require.NoError(t, err)
		documented := slices.ContainsFunc(files, func(f *ast.File) bool { return strings.HasPrefix(f.Doc.Text(), "Package "+f.Name.Name+" ") })
		assert.True(t, documented, "package %s has no comment that begins with its name", dir)
		for _, file := range files {
			n, missing := undocumented(file)
			names += n
			for _, name := range missing {
				t.Errorf("%s.%s has no comment", dir, name)
			}
		}
	}
	require.Greater(t, names, 500)
}

// wellKnown are methods whose meaning the standard library's interfaces define.
var wellKnown = []string{"Error", "Unwrap", "String", "Is", "As", "MarshalText", "UnmarshalText", "MarshalJSON", "UnmarshalJSON", "Read", "Write", "Close"}

// undocumented counts the exported names of a file, and lists those without a comment.
func undocumented(file *ast.File) (n int, missing []string) {
	note := func(name string, comments ...*ast.CommentGroup) {
		if n++; !slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c.Text() != "" }) {
			missing = append(missing, name)
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() {
				continue
			}
			name := d.Name.Name
			if d.Recv != nil {
				receiver := strings.TrimPrefix(source(withoutTypes(d.Recv.List[0].Type)), "*")
				if !ast.IsExported(receiver) || slices.Contains(wellKnown, name) {
					continue
				}
				name = receiver + "." + name
			}
			note(name, d.Doc)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						note(s.Name.Name, s.Doc, s.Comment, d.Doc)
					}
				case *ast.ValueSpec:
					for _, id := range s.Names {
						if id.IsExported() {
							note(id.Name, s.Doc, s.Comment, d.Doc)
						}
					}
				}
			}
		}
	}
	return n, missing
}

// withoutTypes takes a generic receiver's type parameters off.
func withoutTypes(t ast.Expr) ast.Expr {
	switch t := t.(type) {
	case *ast.StarExpr:
		return &ast.StarExpr{X: withoutTypes(t.X)}
	case *ast.IndexExpr:
		return t.X
	case *ast.IndexListExpr:
		return t.X
	}
	return t
}

func TestUndocumented(t *testing.T) {
	const text = `package p

// A is documented.
type A struct{}

func (a *A) Go() {}

func (A) String() string { return "" }

func (b[T]) Hidden() {}

type B int

const C, d = 1, 2

// Of a group.
var (
	E = 1
	F = 2 // here
)

func G() {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	n, missing := undocumented(file)
	require.Equal(t, 7, n)
	require.Equal(t, []string{"A.Go", "B", "C", "G"}, missing)
}
