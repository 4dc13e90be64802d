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

// withoutCode removes the fenced blocks from a page.
func withoutCode(page string) string {
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(page, "")
}

// everything is the text of all pages.
func everything(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, page := range pages(t) {
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
	"metrics": {regexp.MustCompile("`((?:redlock|error)\\.[a-z_.]+[a-z])(?:=[^`]*)?`"), regexp.MustCompile(`"((?:redlock|error)\.[a-z_.]+)"`), ".go"},
}

var declaredError = regexp.MustCompile(`(?m)^(?:\t|var )(Err[A-Z]\w+)(?: error)? += `)

// Every test, error, mutant and metric that a page or a figure names exists.
func TestNamesOnPagesExist(t *testing.T) {
	figures, err := filepath.Glob("figures/*.svg")
	require.NoError(t, err)
	for what, kind := range named {
		known, seen := map[string]bool{}, 0
		source(t, kind.suffix, func(_, text string) {
			for _, found := range kind.declared.FindAllStringSubmatch(text, -1) {
				known[found[1]] = true
			}
		})
		for _, page := range append(pages(t), figures...) {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			for _, found := range kind.onPage.FindAllStringSubmatch(withoutCode(string(text)), -1) {
				seen++
				assert.True(t, known[found[1]], "%s names %s, which isn't among the %s", page, found[1], what)
			}
		}
		assert.Greater(t, seen, 5, what)
	}
}

// A link to code that is named after a symbol leads to a file with that word.
func TestLinkedSymbolsExist(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile("\\[`([\\w.]+)`\\]\\(([^)#]+\\.go)\\)").FindAllStringSubmatch(string(text), -1) {
			if found[1] == filepath.Base(found[2]) {
				continue // named after the file
			}
			code, err := os.ReadFile(filepath.Join(filepath.Dir(page), found[2]))
			require.NoError(t, err)
			symbol := regexp.MustCompile(`\b` + found[1][strings.LastIndexByte(found[1], '.')+1:] + `\b`)
			assert.True(t, symbol.Match(code), "%s: %s isn't in %s", page, found[1], found[2])
			links++
		}
	}
	assert.Greater(t, links, 20)
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
