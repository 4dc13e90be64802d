package book_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/mutants"
)

// Every bug on the page has a command that replays it, and the test or mutant that the command
// names exists.
func TestFoundCanBeReplayed(t *testing.T) {
	page, err := os.ReadFile("found.md")
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what broke") || strings.HasPrefix(line, "| ---") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		require.Len(t, cells, 4, line)
		for i, cell := range cells {
			assert.NotEmpty(t, strings.TrimSpace(cell), "cell %d of %s", i, line)
		}
		for command := range strings.SplitSeq(strings.TrimSpace(cells[3]), "<br>") {
			quoted := regexp.MustCompile("^`([^`]+)`$").FindStringSubmatch(command)
			if assert.NotNil(t, quoted, "%q is no command in quotes", command) {
				assert.NoError(t, replayable(quoted[1]), line)
			}
		}
	}
	require.Greater(t, rows, 60)
}

var (
	replayMutants = regexp.MustCompile(`^go run \./simulation/cmd/redlocksim mutants -only ([a-z0-9,-]+)$`)
	replayTest    = regexp.MustCompile(`^go test \./([\w/]+) -run '\^(Test\w+)\$'$`)
	replayApart   = regexp.MustCompile(`^go -C ([\w/]+) test \.(/[\w/]+)? -run '\^(Test\w+)\$'$`) // in a module of its own
)

// replayable reports what a command names that doesn't exist.
func replayable(command string) error {
	if found := replayMutants.FindStringSubmatch(command); found != nil {
		_, err := mutants.Select(strings.Split(found[1], ",")...)
		return err
	}
	found := replayTest.FindStringSubmatch(command)
	if found == nil {
		if found = replayApart.FindStringSubmatch(command); found == nil {
			return fmt.Errorf("%q is neither a test nor a mutant", command)
		}
		if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(path.Join(found[1], "go.mod")))); err != nil {
			return err
		}
		found = []string{"", found[1] + found[2], found[3]}
	}
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(found[1]), "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "\nfunc "+found[2]+"(") {
			return nil
		}
	}
	return fmt.Errorf("there is no %s in %s", found[2], found[1])
}

func TestReplayable(t *testing.T) {
	require.NoError(t, replayable("go run ./simulation/cmd/redlocksim mutants -only half-is-enough,no-drift"))
	require.NoError(t, replayable("go test ./simulation/internal/book -run '^TestReplayable$'"))
	require.NoError(t, replayable("go -C quorum/recipes test . -run '^TestCron$'"))
	require.NoError(t, replayable("go -C quorum/adapters test ./redsync -run '^TestMutex$'"))
	for bad, why := range map[string]string{
		"go run ./simulation/cmd/redlocksim mutants -only half-is-enough,no": `no mutant "no"`,
		"go test ./simulation/internal/book -run '^TestReplay$'":             "no TestReplay in simulation/internal/book",
		"go test ./nowhere -run '^TestReplayable$'":                          "no TestReplayable in nowhere",
		"go -C quorum test . -run '^TestRedact$'":                            "go.mod",
		"go test ./simulation/internal/book":                                 "neither",
	} {
		assert.ErrorContains(t, replayable(bad), why, bad)
	}
}
