package book_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documentation")

// stale is the text of a failure.
const stale = `%s is stale: the code says something else now.
If you understand why it has changed, and the prose around it is still true, run

	go test ./simulation/internal/book -update

and read the difference before you commit it.`

// A page's generated part is between two comments, which name its generator:
//
//	<!-- generated: example quorum ExampleCoordinator_Do -->
//	...
//	<!-- end -->
//
// generators has the generators by their first word. Each gets the other words.
var generators = map[string]func(words []string) (string, error){
	"example": exampleBlock,
	"code":    codeBlock,
	"program": programBlock,
	"file":    fileBlock,
}

// generatedFiles are files that are generated as a whole, by their names in this folder.
var generatedFiles = map[string]func() ([]byte, error){}

var generatedPart = regexp.MustCompile(`(?s)<!-- generated: ([^\n]*?) -->\n(.*?)<!-- end -->`)

// pages lists every page: those to read, the reference, and the README.
func pages(t *testing.T) []string {
	t.Helper()
	return append(slices.Concat(pagesIn(t, "."), pagesIn(t, "reference")), "../README.md")
}

// pagesIn lists the pages of a folder, which has some.
func pagesIn(t *testing.T, folder string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder, "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return list
}

func TestGeneratedParts(t *testing.T) {
	used := map[string]bool{}
	for _, page := range pages(t) {
		t.Run(filepath.ToSlash(page), func(t *testing.T) {
			old, err := os.ReadFile(page)
			require.NoError(t, err)
			fresh, err := regenerate(old, used)
			require.NoError(t, err)
			if bytes.Equal(old, fresh) {
				return
			}
			if *update {
				require.NoError(t, os.WriteFile(page, fresh, 0o644))
				return
			}
			assert.Equal(t, string(old), string(fresh), "expected is the page, and actual what the code says")
			t.Errorf(stale, page)
		})
	}
	for name := range generators {
		assert.True(t, used[name], "nothing is made by the generator %q: take it out", name)
	}
}

// Every block of Go on a page comes from a test that is compiled and run, but for the program of
// getting-started.md, which a test of docs/deploy runs.
func TestEveryProgramIsRun(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		if page != "getting-started.md" {
			assert.NotContains(t, generatedPart.ReplaceAllString(string(text), ""), "\n```go\n", "%s: make it an example, and generate it", page)
		}
	}
}

func TestGeneratedFiles(t *testing.T) {
	for name, generate := range generatedFiles {
		t.Run(name, func(t *testing.T) {
			fresh, err := generate()
			require.NoError(t, err)
			old, err := os.ReadFile(name)
			switch {
			case err == nil && bytes.Equal(old, fresh):
			case *update:
				require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
				require.NoError(t, os.WriteFile(name, fresh, 0o644))
			default:
				t.Errorf(stale, name)
			}
		})
	}
}

// regenerate regenerates a page's generated parts.
func regenerate(page []byte, used map[string]bool) ([]byte, error) {
	var errs []error
	fresh := generatedPart.ReplaceAllFunc(page, func(part []byte) []byte {
		title := string(generatedPart.FindSubmatch(part)[1])
		words := strings.Fields(title)
		if len(words) == 0 || generators[words[0]] == nil {
			errs = append(errs, fmt.Errorf("there is no generator for %q", title))
			return part
		}
		if used[title] {
			errs = append(errs, fmt.Errorf("%q is generated twice: link to the first", title))
		}
		used[title], used[words[0]] = true, true
		text, err := generators[words[0]](words[1:])
		if err != nil {
			errs = append(errs, fmt.Errorf("generating %q: %w", title, err))
			return part
		}
		return []byte("<!-- generated: " + title + " -->\n" + strings.TrimRight(text, "\n") + "\n<!-- end -->")
	})
	if n, m := bytes.Count(fresh, []byte("<!-- generated:")), len(generatedPart.FindAll(fresh, -1)); n != m {
		errs = append(errs, fmt.Errorf("%d parts begin, and %d of them end with <!-- end -->", n, m))
	}
	return fresh, errors.Join(errs...)
}

// exampleBlock returns the body of an example function, which its package's tests compile and run:
// words are the package's folder and the function.
func exampleBlock(words []string) (string, error) {
	if len(words) != 2 {
		return "", fmt.Errorf("want a folder and a function, got %q", words)
	}
	text, set, decl, err := declared(words[0], tests, words[1])
	if err != nil {
		return "", err
	}
	f, ok := decl.(*ast.FuncDecl)
	if !ok {
		return "", fmt.Errorf("%s in the tests of %s is no function", words[1], words[0])
	}
	body, err := format.Source(text[set.Position(f.Body.Lbrace).Offset+1 : set.Position(f.Body.Rbrace).Offset])
	if err != nil {
		return "", err
	}
	return "```go\n" + dedent(string(body)) + "```", nil
}

// codeBlock returns whole declarations from a package's tests, with their comments: words are the
// package's folder and the names, those of methods as "type.method".
func codeBlock(words []string) (string, error) {
	if len(words) < 2 {
		return "", fmt.Errorf("want a folder and names, got %q", words)
	}
	return declarations(words[0], tests, words[1:])
}

// fileBlock gives a file as a whole, by its path from the folder docs.
func fileBlock(words []string) (string, error) {
	if len(words) != 1 {
		return "", fmt.Errorf("want a file, got %q", words)
	}
	text, err := os.ReadFile(filepath.FromSlash(words[0]))
	return "```" + strings.TrimPrefix(filepath.Ext(words[0]), ".") + "\n" + string(text) + "```", err
}

// table writes a Markdown table.
func table(head string, rows [][]string) string {
	var b strings.Builder
	columns := strings.Count(head, "|") + 1
	fmt.Fprintf(&b, "| %s |\n|%s\n", head, strings.Repeat(" --- |", columns))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// readRecorded reads a file of testdata, in which a command or a test has recorded results.
func readRecorded[T any](file string) (r T, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// tests are the files of a package's tests.
const tests = "*_test.go"

// declarations gives whole declarations with their comments.
func declarations(folder, pattern string, names []string) (string, error) {
	var parts []string
	for _, name := range names {
		text, set, decl, err := declared(folder, pattern, name)
		if err != nil {
			return "", err
		}
		from := decl.Pos()
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
		case *ast.GenDecl:
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
		}
		parts = append(parts, string(text[set.Position(from).Offset:set.Position(decl.End()).Offset])+"\n")
	}
	return "```go\n" + strings.Join(parts, "\n") + "```", nil
}

// programBlock gives declarations out of a program's main.go: words are its folder and the names.
func programBlock(words []string) (string, error) {
	if len(words) < 2 {
		return "", fmt.Errorf("want a folder and names, got %q", words)
	}
	return declarations(words[0], "main.go", words[1:])
}

// declared finds a declaration in the files of a package that have such names, with the text that it
// is in.
func declared(folder, pattern, name string) ([]byte, *token.FileSet, ast.Decl, error) {
	files, err := goFiles(folder, pattern)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, file := range files {
		for _, decl := range file.tree.Decls {
			if slices.Contains(namesOf(decl), name) {
				return file.text, file.set, decl, nil
			}
		}
	}
	return nil, nil, nil, fmt.Errorf("there is no %s in %s of %s", name, pattern, folder)
}

type goFile struct {
	text []byte
	set  *token.FileSet
	tree *ast.File
}

// parsed caches the files of folders, because pages show many declarations of the same packages.
var parsed = map[[2]string][]goFile{}

// goFiles parses the files of a package that have such names.
func goFiles(folder, pattern string) ([]goFile, error) {
	key := [2]string{folder, pattern}
	if files, ok := parsed[key]; ok {
		return files, nil
	}
	paths, err := filepath.Glob(filepath.Join("..", folder, pattern))
	if err != nil {
		return nil, err
	}
	var files []goFile
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, goFile{text, set, tree})
	}
	parsed[key] = files
	return files, nil
}

// namesOf lists what a declaration declares.
func namesOf(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			return []string{receiver(d) + "." + d.Name.Name}
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
		return names
	}
	return nil
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if pointer, is := t.(*ast.StarExpr); is {
		t = pointer.X
	}
	name, _ := t.(*ast.Ident)
	return name.String()
}

// dedent removes one tab from each line, and surrounding empty lines.
func dedent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return b.String()
}
