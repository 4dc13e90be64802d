package book_test

import (
	"bytes"
	"fmt"
	"os"
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

// shellBlock is a block of shell, shellLine a line in it without its comment, and inText a command
// between words.
var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	shellLine  = regexp.MustCompile(`(?m)^(go .+?)(?: +#.*)?$`)
	inText     = regexp.MustCompile("`(go (?:run|test|-C) [^`]+)`")
)

// Every line on a page that runs one of our programs would work: the command exists, its flags are
// parsed, and the things that it names exist.
func TestCommandsOnPages(t *testing.T) {
	lines := 0
	for _, page := range pages(t) {
		if page == "getting-started.md" {
			continue // TestGettingStarted, in docs/deploy, runs them
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		var found [][]string
		for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
			found = append(found, shellLine.FindAllStringSubmatch(block[1], -1)...)
		}
		for _, line := range append(found, inText.FindAllStringSubmatch(string(text), -1)...) {
			lines++
			assert.NoError(t, works(t, strings.Join(line[1:], "")), "%s: %s", page, line[0])
		}
	}
	require.Greater(t, lines, 40)
}

// works returns what is wrong with a command.
func works(t *testing.T, line string) error {
	if args, ok := strings.CutPrefix(line, runCommand); ok {
		args, _, _ = strings.Cut(args, " > ")
		return parses(t, strings.Fields(args))
	}
	words, dir := strings.Fields(line), ".."
	if len(words) > 3 && words[1] == "-C" { // a module of its own
		dir = filepath.Join(dir, words[2])
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			return err
		}
	}
	for _, word := range words[1:] {
		if path, ok := strings.CutPrefix(word, "./"); ok {
			if _, err := os.Stat(filepath.Join(dir, strings.TrimSuffix(path, "..."))); err != nil {
				return err
			}
		}
	}
	return nil
}

// parses lets redlocksim parse its arguments, with -h behind them, and looks for what they name.
func parses(t *testing.T, args []string) error {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i] // a driver follows
	}
	var out bytes.Buffer
	if code := command.Run(t.Context(), append(slices.Clone(args), "-h"), &out, &out); code != 0 {
		return fmt.Errorf("exit code %d: %s", code, out.String())
	}
	for i, arg := range args {
		if i == 0 || !slices.Contains([]string{"-design", "-only", "run", "list"}, args[i-1]) {
			continue
		}
		for _, name := range strings.Split(arg, ",") {
			_, scenario := scenarios.ByID(name)
			_, design := designs.ByName(name)
			_, fault := cells.ByName(name)
			if name != "NAME" && scenario != nil && design != nil && fault != nil {
				return fmt.Errorf("no scenario, design or fault is named %q", name)
			}
		}
	}
	return nil
}
