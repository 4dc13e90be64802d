package book_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

const runCommand = "go run ./simulation/cmd/redlocksim"

// commandsOf reads the table of commands in redlocksim's source: each command's
// summary by its name.
func commandsOf(t *testing.T) map[string]string {
	t.Helper()
	files, err := sources("../simulation/internal/command")
	require.NoError(t, err)
	found := map[string]string{}
	for _, file := range files {
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				v := spec.(*ast.ValueSpec)
				if v.Names[0].Name != "commands" || len(v.Values) == 0 {
					continue
				}
				for _, row := range v.Values[0].(*ast.CompositeLit).Elts {
					cells := row.(*ast.CompositeLit).Elts
					name, err := strconv.Unquote(cells[0].(*ast.BasicLit).Value)
					require.NoError(t, err)
					summary, err := strconv.Unquote(cells[1].(*ast.BasicLit).Value)
					require.NoError(t, err)
					found[name] = summary
				}
			}
		}
	}
	require.Greater(t, len(found), 8, "the table of commands has moved")
	return found
}

// Every command for users is on some page.
func TestEveryCommandIsExplained(t *testing.T) {
	text := everything(t)
	for name, summary := range commandsOf(t) {
		if strings.Contains(summary, "not for people") {
			continue
		}
		if !regexp.MustCompile(`redlocksim ` + name + `\b`).MatchString(text) {
			t.Errorf("no page says what redlocksim %s is for: %s", name, summary)
		}
	}
}

// Every line of shell on a page that runs one of our programs would work: the command exists, its
// flags are parsed, and the things it names exist.
func TestCommandsOnPagesParse(t *testing.T) {
	t.Parallel() // it waits for the go tool
	check := newCommandCheck(t)
	t.Run("mistakes are found", func(t *testing.T) { testCommandCheck(t, check) })
	lines := 0
	for _, page := range pages(t) {
		if page == "getting-started.md" {
			continue // TestGettingStarted, in docs/deploy, runs them
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				line, _, _ = strings.Cut(line, " #")
				if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				lines++
				assert.NoError(t, check.line(line), "%s: %s", page, line)
			}
		}
		// The stories name the command that shows them.
		for _, found := range regexp.MustCompile(`(?m)^\$ (.*)$`).FindAllStringSubmatch(string(text), -1) {
			lines++
			assert.NoError(t, check.line(found[1]), "%s: %s", page, found[1])
		}
	}
	require.Greater(t, lines, 15)
}

// commandCheck checks lines of shell. It asks the program itself about flags.
type commandCheck struct {
	binary   string
	commands map[string]string
	flags    map[string]*flag.FlagSet
}

func newCommandCheck(t *testing.T) *commandCheck {
	t.Helper()
	c := &commandCheck{binary: filepath.Join(t.TempDir(), "redlocksim"), commands: commandsOf(t), flags: map[string]*flag.FlagSet{}}
	build := exec.Command("go", "build", "-o", c.binary, "./simulation/cmd/redlocksim")
	build.Dir = ".."
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return c
}

// line returns what is wrong with a line.
func (c *commandCheck) line(line string) error {
	words := strings.Fields(line)
	if args, ok := strings.CutPrefix(line, runCommand); ok {
		return c.simulator(strings.Fields(args))
	}
	dir := ".."
	if len(words) > 3 && words[0] == "go" && words[1] == "-C" { // a module of its own
		dir = filepath.Join(dir, words[2])
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			return err
		}
		words = append(words[:1], words[3:]...)
	}
	if words[0] != "go" || len(words) < 2 || !slices.Contains([]string{"test", "run", "build", "get", "doc", "vet"}, words[1]) {
		return fmt.Errorf("only lines that run go are checked, and %q is none: put it into a block of text", words[0])
	}
	for _, word := range words[2:] {
		if path, ok := strings.CutPrefix(word, "./"); ok {
			if _, err := os.Stat(filepath.Join(dir, strings.TrimSuffix(path, "..."))); err != nil {
				return err
			}
		}
	}
	return nil
}

// simulator checks the arguments of redlocksim.
func (c *commandCheck) simulator(args []string) error {
	command := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
		if _, ok := c.commands[command]; !ok {
			return fmt.Errorf("there is no command %q", command)
		}
	}
	flags, err := c.flagsOf(command)
	if err != nil {
		return err
	}
	if i := slices.Index(args, "--"); i >= 0 && command == "box" {
		args = args[:i] // a driver follows
	}
	word := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		word, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 && word == "" {
		word = flags.Arg(0)
	}
	return known(command, word, flags)
}

// known checks that the scenario or fault, and the design, of a line exist.
func known(command, word string, flags *flag.FlagSet) error {
	var design string
	if f := flags.Lookup("design"); f != nil {
		design = f.Value.String()
	}
	_, faultErr := cells.ByName(word)
	switch command {
	case "run":
		s, err := scenarios.ByID(word)
		if faultErr == nil {
			return designOf(design)
		}
		if err == nil && design != "" {
			_, err = s.Design(design)
		}
		return err
	case "list":
		_, err := scenarios.ByID(word)
		if word != "" && err != nil && faultErr != nil && designOf(word) != nil {
			return err
		}
	case "replay":
	default:
		if word != "" {
			return fmt.Errorf("%q is one word too many", word)
		}
		return designOf(design)
	}
	return nil
}

// designOf checks that a design of that name exists; "" names none.
func designOf(name string) error {
	if name == "" {
		return nil
	}
	_, err := designs.ByName(name)
	return err
}

// flagsOf makes a set of the flags that a command lists.
func (c *commandCheck) flagsOf(command string) (*flag.FlagSet, error) {
	usage, ok := c.flags[command]
	if !ok {
		args := []string{command, "-h"}
		if command == "" {
			args = args[1:]
		}
		out, err := exec.Command(c.binary, args...).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%v: %w: %s", args, err, out)
		}
		usage = flag.NewFlagSet(command, flag.ContinueOnError)
		for _, found := range regexp.MustCompile(`(?m)^  -([\w-]+)(?: (\S+))?`).FindAllStringSubmatch(string(out), -1) {
			switch found[2] {
			case "":
				usage.Bool(found[1], false, "")
			case "int":
				usage.Int(found[1], 0, "")
			case "uint":
				usage.Uint64(found[1], 0, "")
			case "duration":
				usage.Duration(found[1], time.Duration(0), "")
			default:
				usage.String(found[1], "", "")
			}
		}
		c.flags[command] = usage
	}
	fresh := flag.NewFlagSet(command, flag.ContinueOnError)
	fresh.SetOutput(io.Discard)
	usage.VisitAll(func(f *flag.Flag) {
		switch v := f.Value.(flag.Getter).Get().(type) {
		case bool:
			fresh.Bool(f.Name, v, "")
		case int:
			fresh.Int(f.Name, v, "")
		case uint64:
			fresh.Uint64(f.Name, v, "")
		case time.Duration:
			fresh.Duration(f.Name, v, "")
		default:
			fresh.String(f.Name, "", "")
		}
	})
	return fresh, nil
}

func testCommandCheck(t *testing.T, check *commandCheck) {
	for _, good := range []string{
		runCommand, runCommand + " run S1 -design redlock -seed 7", runCommand + " explore -seeds 0:10", "go test ./simulation/internal/book -update", "go test ./...",
		"go -C quorum/quorumotel test ./...",
	} {
		assert.NoError(t, check.line(good), good)
	}
	for bad, why := range map[string]string{
		runCommand + " runn S1":                  `no command "runn"`,
		runCommand + " run S99":                  `no scenario "S99"`,
		runCommand + " run S1 -design nothing":   "nothing",
		runCommand + " run S1 -sead 7":           "sead",
		runCommand + " run S1 -seed seven":       "seven",
		runCommand + " matrix -seeds long":       "long",
		runCommand + " demo S1":                  "one word too many",
		runCommand + " explore -design nothing":  "nothing",
		"go test ./nowhere/...":                  "nowhere",
		"go -C quorum test ./...":                "go.mod",
		"go -C quorum/quorumotel test ./nowhere": "nowhere",
		"redis-server --appendonly yes":          "redis-server",
		runCommand + " -nothing":                 "nothing",
		runCommand + " list S98":                 "S98",
	} {
		assert.ErrorContains(t, check.line(bad), why, bad)
	}
}
