package book_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/command"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

const runCommand = "go run ./simulation/cmd/redlocksim"

// goCommand is a command on a line of its own, without its comment, or between words.
var goCommand = regexp.MustCompile("(?m)^(go (?:run|test|install|-C) .+?)(?: +#.*| > .*)?$|`(go (?:run|test|-C) [^`]+)`")

// Every line on a page that runs one of our programs would work: its folders exist, redlocksim parses its flags, and the
// things that it names exist.
func TestCommandsOnPages(t *testing.T) {
	lines := 0
	for _, page := range pages(t) {
		if page == "getting-started.md" {
			continue // TestGettingStarted, in docs/deploy, runs them
		}
		for _, found := range goCommand.FindAllStringSubmatch(read(t, page), -1) {
			lines++
			line := found[1] + found[2]
			if args, ok := strings.CutPrefix(line, runCommand); ok {
				args, _, _ = strings.Cut(args, " -- ") // a driver follows
				parses(t, page, strings.Fields(args))
				continue
			}
			words, dir := strings.Fields(line), ".."
			if words[1] == "-C" { // a module of its own
				dir = filepath.Join(dir, words[2])
				assert.FileExists(t, filepath.Join(dir, "go.mod"), page)
			}
			for _, word := range words {
				if strings.HasPrefix(word, "./") {
					assert.DirExists(t, filepath.Join(dir, strings.TrimSuffix(word, "...")), page)
				}
			}
		}
	}
	require.Greater(t, lines, 40)
}

// parses lets redlocksim parse its arguments, with -h behind them, and looks for what they name.
func parses(t *testing.T, page string, args []string) {
	t.Helper()
	var out bytes.Buffer
	assert.Zero(t, command.Run(t.Context(), append(slices.Clone(args), "-h"), &out, &out), "%s: %s: %s", page, args, &out)
	for i, arg := range args {
		if i == 0 || arg == "NAME" || !slices.Contains([]string{"-design", "-only", "run", "list"}, args[i-1]) {
			continue
		}
		for _, name := range strings.Split(arg, ",") {
			_, scenario := scenarios.ByID(name)
			_, design := designs.ByName(name)
			_, fault := cells.ByName(name)
			assert.False(t, name != "NAME" && scenario != nil && design != nil && fault != nil, "%s: no scenario, design or fault is named %q", page, name)
		}
	}
}
