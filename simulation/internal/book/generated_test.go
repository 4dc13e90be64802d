package book_test

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/origin"
	"github.com/redquorum/redlock/simulation/internal/timeline"
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
var generators = map[string]func(t *testing.T, words []string) string{
	"example": exampleBlock, "code": codeBlock, "file": fileBlock,
	"scenario-list": scenarioList, "design-list": designList, "picture": picture, "ends": ends,
	"searched": searched, "rollouts": rolloutTable,
	"matrix": matrixTable, "overvalued": overvalued, "faults": faultTable, "harm": harm, "intervals": intervals, "runs": runsInAll,
	"recorded": recordedSentence, "live": liveTable, "live-servers": liveServers,
	"bench": benchTable, "bench-settings": benchSettings, "speed": speed,
	"box-kinds": func(t *testing.T, _ []string) string { return fill(t, "box-kinds", box.Kinds()) },
	"box-words": boxWords, "box-clients": boxClients, "box-schedules": boxSchedules, "box-report": boxReport,
}

// slow are the generators that take long: their parts are only made again with -update or REDLOCK_LONG.
var slow = map[string]bool{"searched": true}

// parts are the texts of the generators that lay out what is there, and compute nothing.
//
//go:embed parts.tmpl
var parts string

var templates = template.Must(template.New("").Option("missingkey=error").Funcs(template.FuncMap{
	"ms":      func(us float64) float64 { return us / 1000 },
	"grouped": func(n float64) string { return timeline.Grouped(int64(n)) },
	"day": func(date string) (string, error) {
		day, err := time.Parse(time.DateOnly, date)
		return day.Format("2 January 2006"), err
	},
	"changed": func(recorded string) (string, error) {
		lock, err := origin.Lock("..")
		if recorded == lock {
			return "", err
		}
		return " **The lock has changed since then.**", err
	},
}).Parse(parts))

// fill fills in a template of parts.
func fill(t *testing.T, name string, data any) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, templates.ExecuteTemplate(&b, name, data))
	return b.String()
}

var generatedPart = regexp.MustCompile(`(?s)<!-- generated: ([^\n]*?) -->\n(.*?)<!-- end -->`)

// pages lists every page: those to read, the reference, and the README.
func pages(t *testing.T) []string {
	t.Helper()
	read, err := filepath.Glob("*.md")
	require.NoError(t, err)
	reference, err := filepath.Glob("reference/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, reference)
	return slices.Concat(read, reference, []string{"../README.md"})
}

// read gives the text of a file, by its path from the folder docs.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestGeneratedParts(t *testing.T) {
	used := map[string]bool{}
	for _, page := range pages(t) {
		t.Run(filepath.ToSlash(page), func(t *testing.T) {
			old := read(t, page)
			fresh := generatedPart.ReplaceAllStringFunc(old, func(part string) string {
				title := generatedPart.FindStringSubmatch(part)[1]
				words := strings.Fields(title)
				require.Contains(t, generators, words[0])
				used[words[0]] = true
				if slow[words[0]] && !long.Asked() && !*update {
					return part
				}
				text := generators[words[0]](t, words[1:])
				return "<!-- generated: " + title + " -->\n" + strings.TrimRight(text, "\n") + "\n<!-- end -->"
			})
			require.Len(t, generatedPart.FindAllString(fresh, -1), strings.Count(fresh, "<!-- generated:"), "each part ends with <!-- end -->")
			keep(t, page, []byte(fresh))
		})
	}
	for name := range generators {
		assert.True(t, used[name], "nothing is made by the generator %q: take it out", name)
	}
}

// keep compares a file with what the code says, or writes it.
func keep(t *testing.T, file string, fresh []byte) {
	t.Helper()
	old, err := os.ReadFile(file)
	switch {
	case err == nil && bytes.Equal(old, fresh):
	case *update:
		require.NoError(t, os.WriteFile(file, fresh, 0o644))
	default:
		assert.Equal(t, string(old), string(fresh), "expected is the file, and actual what the code says")
		t.Errorf(stale, file)
	}
}

// Every block of Go on a page comes from a test that is compiled and run, but for the program of
// getting-started.md, which a test of docs/deploy runs.
func TestEveryProgramIsRun(t *testing.T) {
	for _, page := range pages(t) {
		if page != "getting-started.md" {
			assert.NotContains(t, generatedPart.ReplaceAllString(read(t, page), ""), "\n```go\n", "%s: make it an example, and generate it", page)
		}
	}
}

// exampleBlock returns the body of an example function, which its package's tests compile and run: words are the
// package's folder and the function.
func exampleBlock(t *testing.T, words []string) string {
	_, body, _ := strings.Cut(declared(t, words[0], words[1]), "{\n")
	return "```go\n" + regexp.MustCompile("(?m)^\t").ReplaceAllString(strings.TrimSuffix(body, "}\n"), "") + "```"
}

// codeBlock returns whole functions with their comments: words are the package's folder and the names.
func codeBlock(t *testing.T, words []string) string {
	var parts []string
	for _, name := range words[1:] {
		parts = append(parts, declared(t, words[0], name))
	}
	return "```go\n" + strings.Join(parts, "\n") + "```"
}

// declared finds a function in the files of a package, as gofmt writes it, with its comment.
func declared(t *testing.T, folder, name string) string {
	t.Helper()
	decl := regexp.MustCompile(`(?m)(?:^//.*\n)*^func ` + name + `\(.*\n(?:(?:[\t)].*)?\n)*\}\n`)
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if found := decl.FindString(read(t, file)); found != "" {
			return found
		}
	}
	require.Fail(t, "there is no such function", "%s in %s", name, folder)
	return ""
}

// fileBlock gives a file as a whole, by its path from the folder docs.
func fileBlock(t *testing.T, words []string) string {
	return "```" + strings.TrimPrefix(filepath.Ext(words[0]), ".") + "\n" + read(t, words[0]) + "```"
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
