package book_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everything is the text of all pages, and of all figures.
func everything(t *testing.T) string {
	t.Helper()
	figures, err := filepath.Glob("figures/*.svg")
	require.NoError(t, err)
	var b strings.Builder
	for _, page := range append(pages(t), figures...) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		b.Write(text)
	}
	return b.String()
}

// source calls f with each of the repository's files that has such a name.
func source(t *testing.T, suffix string, f func(path, text string)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, suffix) {
			return err
		}
		text, err := os.ReadFile(path)
		f(filepath.ToSlash(path), string(text))
		return err
	}))
}

// named are the kinds of names that pages and figures take from the code: as they look on a page, and where the code
// declares them. An alert on another metric never fires, which nobody would notice.
var named = map[string]struct {
	onPage, declared *regexp.Regexp
	suffix           string
}{
	"tests":   {regexp.MustCompile(`\b((?:Test|Fuzz)[A-Z]\w+)(?:[^.\w]|\.[^l])`), regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`), "_test.go"},
	"errors":  {regexp.MustCompile(`\b(?:quorum|instance|fencing|once|election)\.(Err[A-Z]\w+)`), declaredError, ".go"},
	"mutants": {regexp.MustCompile("(?m)^- [a-z ]+, `([a-z]+-[a-z-]+)`: "), regexp.MustCompile(`(?m)^([a-z-]+): \./`), "mutants.txt"},
	"guards":  {regexp.MustCompile("`guard:([a-z-]+)`"), regexp.MustCompile(`(?m)^\s*//guard:([a-z-]+)  `), ".go"},
	"metrics": {regexp.MustCompile("`((?:redlock|error)\\.[a-z_.]+[a-z])(?:=[^`]*)?`"), regexp.MustCompile(`"((?:redlock|error)\.[a-z_.]+)"`), ".go"},
}

var declaredError = regexp.MustCompile(`(?m)^(?:\t|var )(Err[A-Z]\w+)(?: error)? += `)

// Every test, error, mutant, guarded line and metric that a page or a figure names exists.
func TestNamesOnPagesExist(t *testing.T) {
	text := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(everything(t), "") // without blocks of code
	for what, kind := range named {
		known := map[string]bool{}
		source(t, kind.suffix, func(_, text string) {
			for _, found := range kind.declared.FindAllStringSubmatch(text, -1) {
				known[found[1]] = true
			}
		})
		names := kind.onPage.FindAllStringSubmatch(text, -1)
		for _, found := range names {
			assert.True(t, known[found[1]], "a page names %s, which isn't among the %s", found[1], what)
		}
		assert.Greater(t, len(names), 5, what)
	}
}

// Every error that a caller of the lock can get is in a table, with its meaning and what to do. Those that only tests
// meet are explained where they are declared.
func TestEveryErrorIsExplained(t *testing.T) {
	pages, errors := everything(t), 0
	source(t, ".go", func(path, text string) {
		if strings.HasSuffix(path, "_test.go") || regexp.MustCompile(`/(internal|testdata|quorum/wire|quorum/memory|quorum/quorumtest|instance/embedded|instance/instancetest|simulation)/`).MatchString(path) {
			return // quorum has wire's under the same names
		}
		of := regexp.MustCompile(`(?m)^package (\w+)`).FindStringSubmatch(text)[1]
		for _, found := range declaredError.FindAllStringSubmatch(text, -1) {
			errors++
			row := regexp.MustCompile("(?m)^\\| [^|]*`" + of + "." + found[1] + "`[^|]*\\|")
			assert.True(t, row.MatchString(pages), "no table of errors has a row for `%s.%s`: add it to troubleshooting.md", of, found[1])
		}
	})
	require.Greater(t, errors, 40)
}
