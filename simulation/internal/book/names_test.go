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

// names are the kinds of names that pages and figures take from the code: as they look on a page, and where the code
// declares them. An alert on another metric never fires, which nobody would notice.
var names = map[string]struct{ onPage, declared *regexp.Regexp }{
	"tests":   {regexp.MustCompile(`\b((?:Test|Fuzz)[A-Z]\w+)(?:[^.\w]|\.[^l])`), regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)},
	"errors":  {regexp.MustCompile(`\b(?:quorum|instance|fencing|once|election)\.(Err[A-Z]\w+)`), declaredError},
	"mutants": {regexp.MustCompile("(?m)^- [a-z ]+, `([a-z]+-[a-z-]+)`: "), regexp.MustCompile(`(?m)^([a-z-]+): \./`)},
	"guards":  {regexp.MustCompile("`guard:([a-z-]+)`"), regexp.MustCompile(`(?m)^\s*//guard:([a-z-]+)  `)},
	"metrics": {regexp.MustCompile("`((?:redlock|error)\\.[a-z_.]+[a-z])(?:=[^`]*)?`"), regexp.MustCompile(`"((?:redlock|error)\.[a-z_.]+)"`)},
}

var declaredError = regexp.MustCompile(`(?m)^(?:\t|var )(Err[A-Z]\w+)(?: error)? += `)

// internal is where errors are that no caller of the lock can get, or that quorum has under the same names.
var internal = regexp.MustCompile(`/(internal|testdata|quorum/wire|quorum/memory|quorum/quorumtest|instance/embedded|instance/instancetest|simulation)/|_test\.go$`)

// Every test, error, mutant, guarded line and metric that a page or a figure names exists. Every error that a caller of
// the lock can get is in a table, with its meaning and what to do; others are explained where they are declared.
func TestNamesOnPages(t *testing.T) {
	var text, code strings.Builder
	figures, err := filepath.Glob("figures/*.svg")
	require.NoError(t, err)
	for _, page := range append(pages(t), figures...) {
		text.WriteString(regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(read(t, page), "")) // without blocks of code
	}
	errors := 0
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" && entry.Name() != "mutants.txt" {
			return err
		}
		source, err := os.ReadFile(path)
		code.Write(source)
		if internal.MatchString(filepath.ToSlash(path)) {
			return err
		}
		for _, found := range declaredError.FindAllSubmatch(source, -1) {
			errors++
			name := filepath.Base(filepath.Dir(path)) + "." + string(found[1])
			row := regexp.MustCompile("(?m)^\\| [^|]*`" + name + "`[^|]*\\|")
			assert.True(t, row.MatchString(text.String()), "no table of errors has a row for %s: add it to troubleshooting.md", name)
		}
		return err
	}))
	require.Greater(t, errors, 40)
	for what, kind := range names {
		known := map[string]bool{}
		for _, found := range kind.declared.FindAllStringSubmatch(code.String(), -1) {
			known[found[1]] = true
		}
		found := kind.onPage.FindAllStringSubmatch(text.String(), -1)
		for _, name := range found {
			assert.True(t, known[name[1]], "a page names %s, which isn't among the %s", name[1], what)
		}
		assert.Greater(t, len(found), 5, what)
	}
}
