package book_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// policy is a line of architecture.md. It says which of the library's packages a package may import. Data flows one way,
// caller -> quorum -> instance -> server, and imports point the same way: without an import there is no accidental
// dependency. Change it only with a reason that a reviewer of the change accepts. Names are without the module's, and
// "quorum/internal/..." are all packages below it.
var policy = regexp.MustCompile(`(?m)^([a-z/.]+) +->(.*)$`)

// others are what packages may import beyond that and the standard library. The protocol never sees Redis, and no user
// compiles a dependency without need.
var others = map[string]string{
	"fencing/guardtest":          "github.com/stretchr/testify/...",
	"fencing/redisguard":         "github.com/redis/go-redis/v9/...",
	"instance":                   "github.com/redis/go-redis/v9/...",
	"instance/embedded":          "github.com/redis/go-redis/v9/... github.com/alicebob/miniredis/v2/...",
	"quorum":                     "github.com/benbjohnson/clock golang.org/x/sync/errgroup",
	"quorum/election":            "github.com/benbjohnson/clock",
	"quorum/quorumtest":          "github.com/benbjohnson/clock",
	"quorum/quorumtest/contract": "github.com/benbjohnson/clock github.com/stretchr/testify/...",
	"quorum/wire":                "github.com/benbjohnson/clock",
}

// matches reports whether a name is, or is below, any of those patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		below, all := strings.CutSuffix(pattern, "...")
		return name == pattern || all && strings.HasPrefix(name+"/", below)
	})
}

// The packages of the laboratory may import what they like, and nothing may import them.
func TestImportsPointDownwards(t *testing.T) {
	const module = "github.com/redquorum/redlock/"
	lines := policy.FindAllStringSubmatch(read(t, "architecture.md"), -1)
	list := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
	list.Dir = ".."
	out, err := list.Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		pkg := strings.TrimPrefix(names[0], module)
		if matches([]string{"simulation/..."}, pkg) {
			continue
		}
		known, may := false, strings.Fields(others[pkg])
		for _, l := range lines {
			if matches(l[1:2], pkg) {
				known, may = true, append(may, strings.Fields(strings.ReplaceAll(l[2], ",", " "))...)
			}
		}
		assert.True(t, known, "architecture.md doesn't say what %s may import: add a line", pkg)
		for _, path := range names[1:] {
			standard := !strings.Contains(strings.SplitN(path, "/", 2)[0], ".")
			assert.True(t, standard || matches(may, strings.TrimPrefix(path, module)), "%s imports %s, which it may not", pkg, path)
		}
	}
}
