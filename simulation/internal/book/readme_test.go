package book_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readme(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	return string(content)
}

// CI runs the commands of the README.
func TestReadmeCommandsAreRun(t *testing.T) {
	ci, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	for _, command := range []string{"go run ./simulation/cmd/redlocksim ", "go test ./... "} {
		require.Contains(t, readme(t), "\n"+command+" ", "the first screen has it, with a comment behind it")
		require.Regexp(t, `(?m)^\s*`+regexp.QuoteMeta(strings.TrimSpace(command)), string(ci))
	}
}

// The stages that CI lists exist, and contributing.md says what each does.
func TestStagesOfCI(t *testing.T) {
	ci, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	page, err := os.ReadFile("contributing.md")
	require.NoError(t, err)
	list, err := exec.Command("bash", "../.ci/run", "list").CombinedOutput()
	require.NoError(t, err, "%s", list)
	stages := strings.Split(strings.TrimSpace(string(list)), "\n")
	require.Greater(t, len(stages), 12)
	for _, stage := range stages {
		name, what, _ := strings.Cut(stage, " ")
		assert.NotEmpty(t, strings.TrimSpace(what))
		assert.Contains(t, string(ci), "\n"+name+"() {\n")
		assert.Contains(t, string(page), "| `"+name+"` | "+strings.TrimSpace(what))
	}
	out, err := exec.Command("bash", "../.ci/run", "format", "nowhere").CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, "there is no stage nowhere; .ci/run list shows them\n", string(out))
}

// The README is a first screen: the rest is on other pages.
func TestReadmeIsShort(t *testing.T) {
	text := readme(t)
	assert.LessOrEqual(t, strings.Count(text, "\n"), 90)
	assert.Contains(t, text, "\ngo get "+module+"\n")
	code := goBlock.FindStringSubmatch(text)
	require.NotNil(t, code)
	assert.LessOrEqual(t, strings.Count(code[1], "\n"), 16)
}

// The code draws its picture, and its letters can be read on a phone, whose 390 pixels it fills.
func TestReadmePicture(t *testing.T) {
	pictures := regexp.MustCompile(`!\[[^\]]+\]\(docs/([^)]+\.svg)\)`).FindAllStringSubmatch(readme(t), -1)
	require.Len(t, pictures, 1)
	assert.Contains(t, generatedFiles, pictures[0][1], "TestGeneratedFiles holds it to the code")
	svg, err := os.ReadFile(filepath.FromSlash(pictures[0][1]))
	require.NoError(t, err)
	box := regexp.MustCompile(`viewBox="0 0 (\d+) \d+"`).FindSubmatch(svg)
	require.NotNil(t, box)
	wide, err := strconv.ParseFloat(string(box[1]), 64)
	require.NoError(t, err)
	for _, size := range regexp.MustCompile(`font(?:-size)?:(\d+)px`).FindAllSubmatch(svg, -1) {
		px, err := strconv.ParseFloat(string(size[1]), 64)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, px*390/wide, 11.0)
	}
	assert.Contains(t, string(svg), "prefers-color-scheme:dark")
}
