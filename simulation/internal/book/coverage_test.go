package book_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

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

// packageDirs lists the folders below the top with importable packages, in all modules of the
// repository, by their paths from the top.
func packageDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != ".." && slices.ContainsFunc([]string{".", "testdata", "internal"}, func(no string) bool {
			return strings.HasPrefix(entry.Name(), no)
		}) {
			return filepath.SkipDir
		}
		dir := filepath.Dir(path)
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return nil
	}))
	dirs = slices.DeleteFunc(dirs, func(dir string) bool {
		files, err := sources(dir)
		require.NoError(t, err)
		return len(files) == 0 || files[0].Name.Name == "main"
	})
	for i, dir := range dirs {
		dirs[i] = filepath.ToSlash(strings.TrimPrefix(dir, ".."+string(filepath.Separator)))
	}
	require.Greater(t, len(dirs), 14)
	return dirs
}

// Every error is in a table, with its meaning and what to do.
func TestEveryErrorIsExplained(t *testing.T) {
	explained, found := map[string]bool{}, 0
	for line := range strings.Lines(everything(t)) {
		if rest, ok := strings.CutPrefix(line, "| "); ok {
			cell, _, _ := strings.Cut(rest, "|")
			for _, quoted := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cell, -1) {
				explained[quoted[1]] = true
			}
		}
	}
	for _, dir := range packageDirs(t) {
		if dir == "quorum/wire" || dir == "simulation/drivers/go/driver" {
			continue // quorum has them under the same names; drivers are programs
		}
		for _, name := range errorsOf(t, filepath.Join("..", dir)) {
			found++
			if full := filepath.Base(dir) + "." + name; !explained[full] {
				t.Errorf("no table of errors has a row for `%s`: add it to troubleshooting.md, or to testing.md if only tests meet it", full)
			}
		}
	}
	require.Greater(t, found, 60)
}

// errorsOf lists the package-level variables of a folder that are errors by their names.
func errorsOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := sources(dir)
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(name.Name, "Err") {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// The failures of a server in memory listed in testing.md exist.
func TestServersInMemoryFailAsThePageSays(t *testing.T) {
	page, err := os.ReadFile("testing.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Servers in memory\n")
	section, _, _ = strings.Cut(section, "\n## ")
	said := 0
	for _, list := range regexp.MustCompile("\\((`\\w+`(?:,\\s`\\w+`)*)\\)").FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(list[1], -1) {
			said++
			_, is := reflect.TypeFor[*quorumtest.Server]().MethodByName(name)
			require.True(t, is, "a quorumtest.Server has no method %s", name)
		}
	}
	require.Greater(t, said, 6)
}

// Every Config, and what goes into one, is in the list of settings.
func TestEverySettingIsListed(t *testing.T) {
	text, err := os.ReadFile("reference/fields.md")
	require.NoError(t, err)
	settings := []string{"quorum Terms", "quorum/wire Set", "quorum Hooks", "drift Allowance", "fencing Bound", "fencing MemoryConfig", "fencing/sqlguard TableConfig"}
	for _, dir := range packageDirs(t) {
		structs, err := structsIn(filepath.Join("..", dir))
		require.NoError(t, err)
		if structs["Config"] != nil {
			settings = append(settings, dir+" Config")
		}
	}
	require.Greater(t, len(settings), 10)
	for _, setting := range settings {
		if !strings.Contains(string(text), "<!-- generated: fields "+setting+" -->") {
			t.Errorf("reference/fields.md has no part <!-- generated: fields %s -->", setting)
		}
		dir, name, _ := strings.Cut(setting, " ")
		fields, err := fieldsOf(filepath.Join("..", dir), name)
		require.NoError(t, err)
		for _, f := range fields {
			if !strings.Contains(string(text), "- `"+f.name+"` ("+f.kind+")") {
				t.Errorf("reference/fields.md says nothing of %s.%s in %s", name, f.name, dir)
			}
		}
	}
}

// The settings of the lock that users meet are explained with their reasons, and not only listed.
func TestSettingsOfTheLockAreExplained(t *testing.T) {
	text := ""
	for _, page := range pagesIn(t, ".") {
		content, err := os.ReadFile(page)
		require.NoError(t, err)
		text += string(content)
	}
	for _, setting := range []string{"quorum Config", "quorum Terms", "quorum Hooks", "instance Config", "drift Allowance"} {
		dir, name, _ := strings.Cut(setting, " ")
		fields, err := fieldsOf(filepath.Join("..", dir), name)
		require.NoError(t, err)
		require.NotEmpty(t, fields)
		for _, f := range fields {
			if !regexp.MustCompile("`([\\w.]+\\.)?" + f.name + "(`|: )").MatchString(text) {
				t.Errorf("no page explains %s.%s.%s", dir, name, f.name)
			}
		}
	}
}

// Every scenario, sweep and design has its entry.
func TestEveryScenarioAndDesignIsListed(t *testing.T) {
	read := func(page string) string {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		return string(text)
	}
	stories, ways := read("reference/scenarios.md"), read("reference/designs.md")
	for _, s := range scenarios.All() {
		require.Contains(t, stories, "\n### "+s.ID+"\n\n**"+s.Title+".**")
		for _, d := range s.Variants {
			require.Regexp(t, "(?m)^(### "+d.Name+"$|\\| `"+d.Name+"` \\|)", ways)
		}
	}
	for _, s := range scenarios.Sweeps() {
		require.Contains(t, stories, "| `"+s.ID+"` |")
	}
	for _, d := range designs.All() {
		require.Contains(t, ways, "\n### "+d.Name+"\n")
		require.NotEmpty(t, d.Source, d.Name)
	}
}

// Every assumption of package quorum has a section with its exact words, and so have its guarantees
// and the caller's duties.
func TestEveryAssumptionIsExplained(t *testing.T) {
	page, err := os.ReadFile("guarantees.md")
	require.NoError(t, err)
	items, err := numberedItems("quorum", "assumed")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(items), 7)
	for i := range items {
		mark := "<!-- generated: numbered quorum assumed " + string(rune('1'+i)) + " -->"
		require.Contains(t, string(page), mark, "assumption %d of quorum/doc.go: %s", i+1, items[i])
	}
	require.NotContains(t, string(page), "assumed "+string(rune('1'+len(items)))+" -->")
}

// The numbered lists of package quorum have the items that the pages expect.
func TestNumberedItems(t *testing.T) {
	items, err := numberedItems("quorum", "guaranteed")
	require.NoError(t, err)
	require.Contains(t, items[0], "Mutual exclusion.")
	require.NotContains(t, items[0], "\n")
	_, err = numberedItems("quorum", "forgotten")
	require.ErrorContains(t, err, "forgotten")
	_, err = numbered([]string{"quorum", "guaranteed", "99"})
	require.ErrorContains(t, err, `"99" is none of the`)
	_, err = section([]string{"quorum", "Nothing", "of", "this"})
	require.ErrorContains(t, err, `no section "Nothing of this"`)
	_, err = fieldList([]string{"quorum", "None"})
	require.ErrorContains(t, err, "no struct None")
}
