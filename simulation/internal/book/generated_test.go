package book_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/long"
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
	"file":    fileBlock,
}

// slow are the generators that take long: their parts are only made again with -update or REDLOCK_LONG.
var slow = map[string]bool{}

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
		if slow[words[0]] && !long.Asked() && !*update {
			return part
		}
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

// exampleBlock returns the body of an example function, which its package's tests compile and run: words are the
// package's folder and the function.
func exampleBlock(words []string) (string, error) {
	text, err := declared(words[0], words[1])
	if err != nil {
		return "", err
	}
	_, body, _ := strings.Cut(text, "{\n")
	return "```go\n" + regexp.MustCompile("(?m)^\t").ReplaceAllString(strings.TrimSuffix(body, "}\n"), "") + "```", nil
}

// codeBlock returns whole declarations with their comments: words are the package's folder and the names, those of
// methods as "type.method".
func codeBlock(words []string) (string, error) {
	var parts []string
	for _, name := range words[1:] {
		text, err := declared(words[0], name)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
	}
	return "```go\n" + strings.Join(parts, "\n") + "```", nil
}

// declared finds a function or a method in the files of a package, as gofmt writes it, with its comment.
func declared(folder, name string) (string, error) {
	what := `func ` + name
	if of, method, is := strings.Cut(name, "."); is {
		what = `func \(\w+ \*?` + of + `\) ` + method
	}
	decl := regexp.MustCompile(`(?m)(?:^//.*\n)*^` + what + `\(.*\n(?:(?:[\t)].*)?\n)*\}\n`)
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if found := decl.Find(text); found != nil {
			return string(found), nil
		}
	}
	return "", errors.Join(err, fmt.Errorf("there is no function %s in %s", name, folder))
}

// fileBlock gives a file as a whole, by its path from the folder docs.
func fileBlock(words []string) (string, error) {
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
