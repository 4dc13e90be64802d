package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readme(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	return string(content)
}

// Every program in the README compiles as it stands.
func TestReadmeProgramsCompile(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		file := filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(file, []byte(block[1]), 0o600))
		vet := exec.Command("go", "vet", file)
		vet.Dir = ".."
		out, err := vet.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// What the README says to run is what CI runs.
func TestReadmeCommandsAreRun(t *testing.T) {
	ci, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	for _, command := range []string{"go run ./simulation/cmd/redlocksim ", "go test -race ./... "} {
		require.Contains(t, readme(t), "\n"+command+" ", "the first screen has it, with a comment behind it")
		require.Contains(t, string(ci), "\n"+strings.TrimSpace(command))
	}
}

// Every link that stays inside the repository leads somewhere.
func TestLinksResolve(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	for _, page := range append(pages, "../README.md") {
		content, err := os.ReadFile(page)
		require.NoError(t, err)
		links := regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(string(content), -1)
		require.NotEmpty(t, links, page)
		for _, link := range links {
			if regexp.MustCompile(`^[a-z]+://`).MatchString(link[1]) {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(page), link[1]))
			require.NoError(t, err, "%s: link %s", page, link[1])
		}
	}
}
