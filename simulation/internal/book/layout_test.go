// Package book_test checks the documentation, and what it says of the tree, against the code.
package book_test

import (
	"cmp"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/redquorum/redlock"

// policy states what each package may import beyond the standard library. Data flows one way,
// caller -> quorum -> instance -> server, and imports point the same way: without an import there
// is no accidental dependency. Change it only with a reason that a reviewer of the change accepts.
//
// Names without a dot are this module's. A package that isn't listed fails the test.
var policy = map[string][]string{
	"drift":              {},
	"fencing":            {},
	"fencing/httpguard":  {"fencing"},
	"fencing/sqlguard":   {"fencing"},
	"fencing/redisguard": {"fencing", "github.com/redis/go-redis/v9"},
	"fencing/guardtest":  {"fencing", "github.com/stretchr/testify"},

	// The protocol never sees Redis.
	"quorum": {
		"drift", "fencing", "quorum/wire", "github.com/benbjohnson/clock",
		"quorum/internal/turns", "quorum/internal/majority", "quorum/internal/presence", "quorum/internal/quarantine", "quorum/internal/settlement",
		"golang.org/x/sync/errgroup",
	},
	"quorum/wire": {"fencing", "github.com/benbjohnson/clock"},

	// Values with a proof beside them. They don't know each other.
	"quorum/internal/turns":      {"fencing"},
	"quorum/internal/majority":   {"quorum/wire"},
	"quorum/internal/presence":   {"quorum/wire"},
	"quorum/internal/quarantine": {"drift", "fencing", "quorum/wire"},
	"quorum/internal/settlement": {"fencing", "quorum/wire"},

	// Uses of a lock, built on its public functions alone.
	"quorum/election":  {"fencing", "quorum", "github.com/benbjohnson/clock"},
	"quorum/once":      {"quorum"},
	"quorum/anyof":     {"quorum"},
	"quorum/readwrite": {"quorum", "quorum/anyof"},

	"quorum/quorumslog": {"fencing", "quorum", "quorum/wire"},

	// A server inside the process: for users, and below every model of a server.
	"quorum/memory":     {"fencing", "quorum/wire"},
	"quorum/quorumtest": {"fencing", "quorum/memory", "quorum/wire", "github.com/benbjohnson/clock"},

	"quorum/quorumtest/contract": {"fencing", "quorum/memory", "quorum/wire", "github.com/benbjohnson/clock", "github.com/stretchr/testify"},

	// Only instance talks to servers.
	"instance":              {"drift", "fencing", "quorum/wire", "github.com/redis/go-redis/v9"},
	"instance/embedded":     {"instance", "quorum/wire", "github.com/redis/go-redis/v9", "github.com/alicebob/miniredis/v2"},
	"instance/instancetest": {"instance/instancetest/redisproc"},

	// The protocol on servers, in one call.
	"instance/redlock": {"instance", "quorum", "quorum/memory"},

	// The operator's command, on public functions alone.
	"instance/cmd/redlockctl": {"instance", "quorum", "quorum/anyof", "quorum/once", "quorum/wire"},

	// It starts servers and knows nothing of the protocol.
	"instance/instancetest/redisproc": {},

	// The simulation runs the real protocol on simulated servers.
	"simulation":                    {"fencing", "quorum", "quorum/wire", "quorum/memory", "simulation/redismodel", "simulation/internal/kernel", "github.com/benbjohnson/clock", "simulation/check", "simulation/fault", "simulation/record"},
	"simulation/redismodel":         {"quorum/memory"}, // data: no time, no network
	"simulation/fault":              {},
	"simulation/record":             {"fencing", "quorum", "quorum/wire", "simulation/fault"},
	"simulation/check":              {"fencing", "simulation/fault", "simulation/record"},
	"simulation/internal/kernel":    {"github.com/benbjohnson/clock"},
	"simulation/internal/long":      {},
	"simulation/internal/lockfiles": {},
	"simulation/designs":            {"drift", "fencing", "quorum", "quorum/wire", "simulation", "simulation/redismodel", "simulation/internal/byname", "github.com/benbjohnson/clock"},
	"simulation/internal/scenarios": {"drift", "fencing", "quorum", "quorum/wire", "simulation", "simulation/designs", "simulation/fault", "simulation/record", "simulation/internal/byname"},

	// The argument why tokens rise reads logs, and knows no design.
	"simulation/internal/machine": {"fencing", "quorum/wire", "simulation/fault", "simulation/record"},

	// It knows nothing of the tasks that it runs.
	"simulation/internal/farm":    {"golang.org/x/sync/errgroup"},
	"simulation/internal/wrap":    {},
	"simulation/internal/byname":  {},
	"simulation/internal/shorten": {},

	"simulation/search": {"simulation/internal/shorten", "simulation/internal/farm", "simulation/internal/byname", "simulation/designs", "quorum", "simulation", "simulation/fault", "simulation/record"},

	// Pictures are made from a trace's text alone.
	"simulation/internal/timeline": {"fencing", "simulation/internal/drawing", "simulation/internal/wrap", "simulation/fault", "simulation/record"},
	"simulation/internal/drawing":  {},
	"simulation/internal/report":   {"simulation/internal/wrap", "simulation/internal/timeline", "simulation/internal/drawing", "simulation/record"},

	// How designs withstand faults, in figures.
	"simulation/internal/cells":  {"simulation/search", "simulation", "simulation/designs", "simulation/fault", "simulation/record", "simulation/internal/byname"},
	"simulation/internal/matrix": {"simulation/internal/farm", "simulation", "simulation/designs", "simulation/internal/cells", "simulation/internal/report", "simulation/record"},

	// One run, for the command and for the page in a browser. Its engine is built for js/wasm alone.
	"simulation/internal/play": {"simulation", "simulation/designs", "simulation/internal/cells", "simulation/internal/drawing", "simulation/internal/scenarios", "simulation/internal/timeline", "simulation/search", "simulation/fault", "simulation/record"},

	"simulation/internal/play/browser": {"simulation/designs", "simulation/internal/play", "simulation/internal/drawing"},

	// Mistakes in the source, as data.
	"simulation/internal/mutants": {"golang.org/x/sync/errgroup"},

	// The same designs on real servers, which it starts and breaks.
	// The box plays lock clients of any language on real servers.
	"simulation/box":        {"golang.org/x/sync/errgroup", "fencing", "instance/embedded", "instance/instancetest/redisproc", "simulation/box/driver", "simulation/check", "simulation/fault", "simulation/record", "simulation/internal/shorten"},
	"simulation/box/driver": {},
	"simulation/internal/live": {"simulation/check", "simulation/box", "simulation/box/driver",
		"fencing", "instance", "instance/instancetest/redisproc", "quorum", "simulation", "simulation/designs", "simulation/redismodel", "simulation/internal/scenarios", "simulation/internal/wrap",
		"github.com/benbjohnson/clock", "github.com/redis/go-redis/v9", "golang.org/x/sync/errgroup", "simulation/fault", "simulation/record",
	},

	// Commands and docs are on top.
	"simulation/cmd/redlocksim": {"simulation/internal/command"},
	"simulation/testbed":        {"simulation/designs", "simulation/internal/command"},
	"simulation/internal/command": {
		"instance/instancetest/redisproc", "simulation/box", "simulation/internal/cells", "simulation/internal/live", "simulation/internal/matrix", "simulation/internal/play", "simulation/internal/play/browser", "simulation/internal/report", "simulation/internal/wrap",
		"quorum",
		"simulation", "simulation/designs", "simulation/internal/mutants", "simulation/internal/scenarios", "simulation/search", "simulation/internal/timeline", "simulation/fault", "simulation/record",
	},
	"docs":                     {},
	"simulation/internal/book": {}, // the tests of what the documentation says
}

func init() { generators["layers"] = layers }

// imports has what each package of the module imports beyond the standard library, by the names of the policy.
var imports = sync.OnceValues(func() (map[string][]string, error) {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
	list.Dir = ".."
	out, err := list.Output()
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		all[short(fields[0])] = nil
		for _, imported := range fields[1:] {
			if name := short(imported); name != imported || strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
				all[short(fields[0])] = append(all[short(fields[0])], name)
			}
		}
	}
	return all, err
})

func short(path string) string { return strings.TrimPrefix(path, module+"/") }

func TestImportsPointDownwards(t *testing.T) {
	all, err := imports()
	require.NoError(t, err)
	for pkg, imported := range all {
		allowed, listed := policy[pkg]
		assert.True(t, listed, "package %s isn't in the policy: add a line that says what it may import", pkg)
		for _, name := range imported {
			assert.True(t, slices.ContainsFunc(allowed, func(a string) bool {
				return name == a || strings.Contains(a, ".") && strings.HasPrefix(name, a+"/")
			}), "%s imports %s, which the policy doesn't allow", pkg, name)
		}
	}
	for pkg := range policy {
		assert.Contains(t, all, pkg, "the policy lists a package that isn't there")
	}
}

// layers has a line for each of these packages, from those that import others to those that import none, with what it
// imports, but for what an import of it imports anyway. All packages below an internal folder are one.
func layers(names []string) (string, error) {
	all, err := imports()
	if err != nil {
		return "", err
	}
	needs, depth := map[string][]string{}, map[string]int{} // needs: directly or not
	var visit func(name string) []string
	visit = func(name string) []string {
		if needs[name] != nil {
			return needs[name]
		}
		needs[name] = []string{name}
		for pkg, imported := range all {
			if pkg != name && !(strings.HasSuffix(name, "/internal") && strings.HasPrefix(pkg, name)) {
				continue
			}
			for _, other := range imported {
				other = regexp.MustCompile("/internal/.*").ReplaceAllString(other, "/internal")
				if slices.Contains(names, other) && other != name {
					needs[name] = append(needs[name], visit(other)...)
					depth[name] = max(depth[name], depth[other]+1)
				}
			}
		}
		return needs[name]
	}
	for _, name := range names {
		visit(name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(depth[b]-depth[a], cmp.Compare(a, b)) })
	var b strings.Builder
	for i, name := range names {
		var shown []string
		for _, other := range names[i+1:] {
			between := func(via string) bool { return via != name && via != other && slices.Contains(needs[via], other) }
			if slices.Contains(needs[name], other) && !slices.ContainsFunc(needs[name], between) {
				shown = append(shown, other)
			}
		}
		line := fmt.Sprintf("%-24s -> %s", name, strings.Join(shown, ", "))
		b.WriteString(strings.TrimRight(line, " ->") + "\n")
	}
	return "```text\n" + b.String() + "```", nil
}
