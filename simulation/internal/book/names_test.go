package book_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// named are the kinds of names that pages and figures take from the code: as they look on a page,
// and where the code declares them.
var named = []struct {
	what             string
	onPage, declared *regexp.Regexp
	folder, suffix   string
}{
	{"tests", regexp.MustCompile(`\b((?:Test|Fuzz)[A-Z]\w+)`), regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`), ".", "_test.go"},
	{"errors", regexp.MustCompile(`\b(?:quorum|instance|fencing|once|election)\.(Err[A-Z]\w+)`), regexp.MustCompile(`(?m)^\s*(?:var )?(Err[A-Z]\w+)(?: error)?\s+= `), ".", ".go"},
	// An alert on another name never fires, which nobody would notice.
	{"metrics", regexp.MustCompile("`((?:redlock|error)\\.[a-z_.]+[a-z])(?:=[^`]*)?`"), regexp.MustCompile(`"((?:redlock|error)\.[a-z_.]+)"`), "quorum/quorumotel", ".go"},
}

// Every test, error and metric that a page or a figure names exists.
func TestNamesOnPagesExist(t *testing.T) {
	figures, err := filepath.Glob("figures/*.svg")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, page := range append(pages(t), figures...) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		texts[page] = withoutCode(string(text))
		if filepath.Ext(page) == ".svg" {
			texts[page] = strings.ReplaceAll(texts[page], "Err", "quorum.Err")
		}
	}
	for _, kind := range named {
		known, seen := map[string]bool{}, 0
		require.NoError(t, filepath.WalkDir(filepath.Join("..", kind.folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, kind.suffix) {
				return err
			}
			source, err := os.ReadFile(path)
			for _, found := range kind.declared.FindAllSubmatch(source, -1) {
				known[string(found[1])] = true
			}
			return err
		}))
		for page, text := range texts {
			for _, found := range kind.onPage.FindAllStringSubmatch(text, -1) {
				if filepath.Ext(found[1]) != ".lua" { // a file's name
					seen++
					assert.True(t, known[found[1]], "%s names %s, which isn't among the %s", page, found[1], kind.what)
				}
			}
		}
		assert.Greater(t, seen, 5, kind.what)
	}
}

// A link to code named after a symbol leads to the file that declares it.
func TestLinkedSymbolsExist(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile("\\[`([\\w.]+)`\\]\\(([^)#]+\\.go)\\)").FindAllStringSubmatch(string(text), -1) {
			if found[1] == filepath.Base(found[2]) {
				continue // named after the file
			}
			symbol := found[1][strings.LastIndexByte(found[1], '.')+1:]
			assert.True(t, declaredIn(t, filepath.Join(filepath.Dir(page), found[2]))[symbol], "%s: %s isn't declared in %s", page, found[1], found[2])
			links++
		}
	}
	assert.Greater(t, links, 20)
}

// declaredIn has the names of a file's package, of its package's functions, types, variables and
// constants, and of fields and methods.
func declaredIn(t *testing.T, path string) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	names := map[string]bool{strings.TrimSuffix(file.Name.Name, "_test"): true}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names[n.Name.Name] = true
			return false // what it declares is its own
		case *ast.TypeSpec:
			names[n.Name.Name] = true
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		case *ast.Field:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		}
		return true
	})
	return names
}
