package book_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README is a first screen, and CI runs its commands.
func TestReadme(t *testing.T) {
	content, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	readme := string(content)
	assert.LessOrEqual(t, strings.Count(readme, "\n"), 90)
	assert.Contains(t, readme, "\ngo get "+module+"\n")
	ci, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	for _, command := range []string{"go run ./simulation/cmd/redlocksim ", "go test ./... "} {
		assert.Contains(t, readme, "\n"+command+" ", "the first screen has it, with a comment behind it")
		assert.Regexp(t, `(?m)^\s*`+regexp.QuoteMeta(strings.TrimSpace(command)), string(ci))
	}
}

// The stages that CI lists exist, and contributing.md says what each does.
func TestStagesOfCI(t *testing.T) {
	page, err := os.ReadFile("contributing.md")
	require.NoError(t, err)
	list, err := exec.Command("bash", "../.ci/run", "list").CombinedOutput()
	require.NoError(t, err, "%s", list)
	stages := strings.Split(strings.TrimSpace(string(list)), "\n")
	require.Greater(t, len(stages), 12)
	for _, stage := range stages {
		name, what, _ := strings.Cut(stage, " ")
		assert.Contains(t, string(page), "| `"+name+"` | "+strings.TrimSpace(what))
	}
}

// The columns of the comparison name the versions that the benchmark requires, because a later
// version may have gained a feature.
func TestComparisonNamesVersions(t *testing.T) {
	gomod, err := os.ReadFile("../simulation/bench/go.mod")
	require.NoError(t, err)
	page, err := os.ReadFile("choosing.md")
	require.NoError(t, err)
	for name, module := range map[string]string{"redsync": "go-redsync/redsync/v4", "rueidislock": "redis/rueidis", "bsm/redislock": "bsm/redislock"} {
		version := regexp.MustCompile(`\tgithub.com/` + module + ` (v\S+)`).FindStringSubmatch(string(gomod))
		require.NotNil(t, version, module)
		assert.Contains(t, string(page), "| "+name+" "+version[1]+" |")
	}
}
