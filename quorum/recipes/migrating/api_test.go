package migrating_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What redsync exports the adapter exports, too, with the same signatures. Beyond Redsync's pools,
// which are interfaces of each library's own, a program needs no other change, unless it uses options
// that aren't supported: with them it doesn't compile.
func TestTheAdapterHasRedsyncsAPI(t *testing.T) {
	theirs := exported(t, "github.com/go-redsync/redsync/v4")
	mine := exported(t, "github.com/redquorum/redlock/quorum/adapters/redsync")
	require.Greater(t, len(theirs), 40)
	for name, signature := range theirs {
		switch name {
		case "WithSetNXOnExtend", "WithValue", "WithGenValueFunc", "WithTimeoutFactor":
			assert.NotContains(t, mine, name)
			continue
		}
		if assert.Contains(t, mine, name) {
			assert.Equal(t, signature, mine[name], name)
		}
	}
	theirs = exported(t, "github.com/go-redsync/redsync/v4/redis/goredis/v9")
	mine = exported(t, "github.com/redquorum/redlock/quorum/adapters/redsync/redis/goredis/v9")
	require.Contains(t, theirs, "NewPool")
	require.Contains(t, mine, "NewPool")
}

// exported gives the exported names of a package with their signatures: those of methods as
// "Type.Method", and exported fields of structs as "Type.Field".
func exported(t *testing.T, path string) map[string]string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", path).Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	require.NoError(t, err)
	names := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range tree.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
				}
				if ast.IsExported(name) && d.Name.IsExported() {
					names[name] = signature(d.Type)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.ValueSpec:
						for _, id := range s.Names {
							if id.IsExported() {
								names[id.Name] = "variable"
							}
						}
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							addType(names, s)
						}
					}
				}
			}
		}
	}
	return names
}

func addType(names map[string]string, s *ast.TypeSpec) {
	switch underlying := s.Type.(type) {
	case *ast.StructType:
		names[s.Name.Name] = "struct"
		for _, field := range underlying.Fields.List {
			for _, id := range field.Names {
				if id.IsExported() {
					names[s.Name.Name+"."+id.Name] = types.ExprString(field.Type)
				}
			}
		}
	case *ast.FuncType:
		names[s.Name.Name] = signature(underlying)
	default:
		names[s.Name.Name] = types.ExprString(s.Type)
	}
}

// signature is a function's type without the names of its parameters.
func signature(f *ast.FuncType) string {
	list := func(fields *ast.FieldList) string {
		var all []string
		if fields != nil {
			for _, field := range fields.List {
				for range max(1, len(field.Names)) {
					all = append(all, types.ExprString(field.Type))
				}
			}
		}
		return "(" + strings.Join(all, ", ") + ")"
	}
	return "func" + list(f.Params) + " " + list(f.Results)
}
