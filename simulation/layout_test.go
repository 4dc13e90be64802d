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
// begin with its name. The section "The parts" of the package's documentation explains it.
var layout = map[string]string{
	// Plain values.
	"redis":    "",
	"locker":   "redis",
	"config":   "locker",
	"schedule": "config",
	"coverage": "",

	// The engine: the log of the kernel's time, and what it moves.
	"journal": "",
	"world":   "journal process server resource lease schedule config",

	// From the start of a run to its end.
	"run":   engine + " begin drive process schedule",
	"begin": engine + " process server resource strike locker schedule",
	"drive": engine + " begin process",

	// The parts of the world.
	"process":  engine + " network server lease coverage locker",
	"network":  engine + " process server resource strike lease redis coverage",
	"server":   engine + " process network coverage",
	"resource": engine + " network lease",

	// What the log says of leases looks at the parts, and the faults change them.
	"lease":  engine + " process server network coverage",
	"strike": engine + " process network server lease coverage",
}

const engine = "journal world config"

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
