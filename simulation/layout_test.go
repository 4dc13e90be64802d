package simulation

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// layout says which parts of the package each part uses. A part is the files whose names
// begin with its name. The section "The files" of the package's documentation explains it.
var layout = map[string]string{
	// Plain values.
	"linear":   "",
	"random":   "",
	"order":    "random",
	"redis":    "",
	"locker":   "redis",
	"config":   "locker order",
	"schedule": "config linear random",
	"coverage": "",

	// The engine.
	"driver": values + " world process clock server",
	"world":  values + " driver process clock server resource strike lease",
	"run":    values + " driver world process clock",

	// The parts of the world. All use the engine and values.
	"clock":    engine + " process",
	"process":  engine + " clock network server resource lease",
	"network":  engine + " process clock server resource strike",
	"server":   engine + " process network lease",
	"resource": engine + " network lease",

	// What the log says of leases looks at the parts, and the faults change them.
	"lease":  engine + " process clock truth",
	"truth":  engine + " process server network lease",
	"strike": engine + " process clock network server lease",
}

const (
	values = "linear random order redis locker config schedule coverage"
	engine = values + " driver world"
)

// partOf names the part that a position belongs to.
func partOf(files *token.FileSet, pos token.Pos) string {
	name := strings.TrimSuffix(filepath.Base(files.Position(pos).Filename), ".go")
	part, _, _ := strings.Cut(name, "_")
	return part
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.ErrUnsupported }

// Each part uses what the layout says and no more, so a name in another part is enough to
// find out where it can be used.
func TestPartsUseEachOtherAsTheLayoutSays(t *testing.T) {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			f, err := parser.ParseFile(files, name, nil, 0)
			require.NoError(t, err)
			parsed = append(parsed, f)
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// Other packages are not loaded, so there are errors. They don't concern this package's
	// own names.
	cfg := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := cfg.Check("simulation", files, parsed, info)

	seen := map[string]bool{}
	for id, used := range info.Uses {
		if _, imported := used.(*types.PkgName); imported || used.Pkg() != pkg {
			continue
		}
		from, to := partOf(files, id.Pos()), partOf(files, used.Pos())
		seen[from+" "+to] = true
		if from != to && !slices.Contains(strings.Fields(layout[from]), to) {
			assert.Fail(t, "not in the layout", "%s: %s uses %s of %s", files.Position(id.Pos()), from, used.Name(), to)
		}
	}
	shared := strings.Fields(engine)
	for from, all := range layout {
		for _, to := range strings.Fields(all) {
			assert.True(t, seen[from+" "+to] || slices.Contains(shared, to), "%s doesn't use %s: take it out of the layout", from, to)
		}
	}
}
