// Package book_test checks the documentation, and what it says of the tree, against the code.
package book_test

import (
	"fmt"
	"maps"
	"os/exec"
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

	// Of the laboratory only these know real servers.
	"simulation/box":              {"instance/embedded", "instance/instancetest/redisproc"},
	"simulation/internal/live":    {"instance", "instance/instancetest/redisproc", "github.com/redis/go-redis/v9"},
	"simulation/internal/command": {"instance/instancetest/redisproc"},

	"docs": {},
}

// laboratory has the packages that test the library, from the bottom: each may import those before it and what is
// shared, and what the policy says of it.
var laboratory = strings.Fields(`
	simulation/fault simulation/record simulation/check
	simulation/internal/machine
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
		if at := slices.Index(laboratory, pkg); at >= 0 {
			allowed, listed = slices.Concat(allowed, laboratory[:at], shared), true
		}
		assert.True(t, listed, "package %s isn't in the policy: add a line that says what it may import", pkg)
		for _, name := range imported {
			assert.True(t, slices.ContainsFunc(allowed, func(a string) bool {
				return name == a || strings.Contains(a, ".") && strings.HasPrefix(name, a+"/")
			}), "%s imports %s, which the policy doesn't allow", pkg, name)
		}
	}
	for _, pkg := range slices.AppendSeq(laboratory, maps.Keys(policy)) {
		assert.Contains(t, all, pkg, "the policy lists a package that isn't there")
	}
}

// layers has a line for each of these packages, with those of them that it imports. All packages below an internal
// folder are one.
func layers(names []string) (string, error) {
	all, err := imports()
	if err != nil {
		return "", err
	}
	among := func(pkg string) string {
		if before, _, is := strings.Cut(pkg, "/internal/"); is {
			return before + "/internal"
		}
		return pkg
	}
	needs := map[string][]string{}
	for pkg, imported := range all {
		for _, other := range imported {
			needs[among(pkg)] = append(needs[among(pkg)], among(other))
		}
	}
	var b strings.Builder
	for _, name := range names {
		shown := slices.DeleteFunc(slices.Clone(names), func(other string) bool {
			return other == name || !slices.Contains(needs[name], other)
		})
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-24s -> %s", name, strings.Join(shown, ", ")), " ->") + "\n")
	}
	return "```text\n" + b.String() + "```", nil
}
