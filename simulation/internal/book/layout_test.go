package book_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/redquorum/redlock/"

// policy is a line of architecture.md. It says which of the library's packages a package may import. Data flows one way,
// caller -> quorum -> instance -> server, and imports point the same way: without an import there is no accidental
// dependency. Change it only with a reason that a reviewer of the change accepts. Names are without the module's, and
// "quorum/internal/..." are all packages below it.
var policy = regexp.MustCompile(`(?m)^([a-z/.]+) +->(.*)$`)

func matches(pattern, name string) bool {
	below, all := strings.CutSuffix(pattern, "...")
	return name == pattern || all && strings.HasPrefix(name+"/", below)
}

// others are what packages may import beyond that and the standard library. The protocol never sees Redis, and no user
// compiles a dependency without need. Of the laboratory only these packages know real servers.
var others = map[string]string{
	"fencing/guardtest":           "github.com/stretchr/testify/...",
	"fencing/redisguard":          "github.com/redis/go-redis/v9/...",
	"instance":                    "github.com/redis/go-redis/v9/...",
	"instance/embedded":           "github.com/redis/go-redis/v9/... github.com/alicebob/miniredis/v2/...",
	"quorum":                      "github.com/benbjohnson/clock golang.org/x/sync/errgroup",
	"quorum/election":             "github.com/benbjohnson/clock",
	"quorum/quorumtest":           "github.com/benbjohnson/clock",
	"quorum/quorumtest/contract":  "github.com/benbjohnson/clock github.com/stretchr/testify/...",
	"quorum/wire":                 "github.com/benbjohnson/clock",
	"simulation/box":              "instance/embedded instance/instancetest/redisproc",
	"simulation/internal/command": "instance/instancetest/redisproc",
	"simulation/internal/live":    "instance instance/instancetest/redisproc github.com/redis/go-redis/v9/...",
}

// laboratory has the packages that test the library, from the bottom: each may import those before it and what is
// shared.
var laboratory = strings.Fields(`
	simulation/fault simulation/record simulation/check
	simulation/internal/kernel simulation/redismodel simulation
	simulation/internal/byname simulation/internal/shorten simulation/internal/farm simulation/internal/long simulation/internal/wrap
	simulation/internal/origin simulation/internal/mutants simulation/internal/drawing
	simulation/internal/timeline simulation/internal/report
	simulation/designs simulation/search
	simulation/internal/cells simulation/internal/matrix simulation/internal/scenarios
	simulation/box/driver simulation/box simulation/internal/live
	simulation/internal/play simulation/internal/play/browser
	simulation/internal/command simulation/cmd/redlocksim simulation/testbed
	simulation/internal/book`)

// shared is what the whole laboratory may import.
var shared = []string{
	"drift", "fencing", "quorum", "quorum/anyof", "quorum/election", "quorum/memory", "quorum/once", "quorum/readwrite", "quorum/wire",
	"github.com/benbjohnson/clock", "golang.org/x/sync/errgroup",
}

func TestImportsPointDownwards(t *testing.T) {
	type row struct {
		of  string
		may []string
	}
	var rows []row
	page, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	for _, line := range policy.FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, row{line[1], strings.Fields(strings.ReplaceAll(line[2], ",", " "))})
	}
	for i, r := range rows {
		for _, name := range r.may {
			assert.True(t, slices.ContainsFunc(rows[i+1:], func(below row) bool { return below.of == name }), "architecture.md: %s may import %s, which isn't below it", r.of, name)
		}
	}
	for at, pkg := range laboratory {
		rows = append(rows, row{pkg, slices.Concat(laboratory[:at], shared)})
	}
	for pkg, more := range others {
		rows = append(rows, row{pkg, strings.Fields(more)})
	}

	list := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
	list.Dir = ".."
	out, err := list.Output()
	require.NoError(t, err)
	used := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		pkg, may := strings.TrimPrefix(names[0], module), []string{}
		for _, r := range rows {
			if matches(r.of, pkg) {
				used[r.of], may = true, append(may, r.may...)
			}
		}
		assert.NotNil(t, may, "architecture.md doesn't say what %s may import: add a line", pkg)
		for _, path := range names[1:] {
			name, own := strings.CutPrefix(path, module)
			if standard := !strings.Contains(strings.SplitN(path, "/", 2)[0], "."); own || !standard {
				assert.True(t, slices.ContainsFunc(may, func(pattern string) bool { return matches(pattern, name) }), "%s imports %s, which it may not", pkg, name)
			}
		}
	}
	for _, r := range rows {
		assert.True(t, used[r.of], "there is no package %s: take its line out", r.of)
	}
}
