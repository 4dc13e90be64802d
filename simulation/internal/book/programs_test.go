package book_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// Every block of Go on a page comes from a test that is compiled and run, or is a complete program,
// which compiles.
func TestProgramsCompile(t *testing.T) {
	t.Parallel() // it waits for the go tool
	programs := map[string][]string{}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range goBlock.FindAllStringSubmatch(generatedPart.ReplaceAllString(string(text), ""), -1) {
			if !strings.HasPrefix(block[1], "package main\n") {
				t.Errorf("%s has a block of Go that nothing compiles; make it an example and generate it, or a whole program:\n%s", page, block[1])
				continue
			}
			programs[page] = append(programs[page], block[1])
		}
	}
	require.NotEmpty(t, programs["getting-started.md"])
	for page, list := range programs {
		for _, program := range list {
			out, err := vet(t, program)
			assert.NoError(t, err, "%s: %s", page, out)
		}
	}
	_, err := vet(t, "package main\n\nfunc main() { nothing() }\n")
	require.Error(t, err)
}

// vet compiles a program of one file as if it were in this module.
func vet(t *testing.T, program string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	command := exec.Command("go", "vet", file)
	command.Dir = ".."
	out, err := command.CombinedOutput()
	return string(out), err
}
