package docs_test

import (
	"os"
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

// What the README says to run is what CI runs.
func TestReadmeCommandsAreRun(t *testing.T) {
	ci, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	for _, command := range []string{"go run ./simulation/cmd/redlocksim ", "go test -race ./... "} {
		require.Contains(t, readme(t), "\n"+command+" ", "the first screen has it, with a comment behind it")
		require.Contains(t, string(ci), "\n"+strings.TrimSpace(command))
	}
}
