package book_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/lockfiles"
)

func init() { generators["recorded"] = recordedSentence }

// recordedFile says when and where recordedParts were recorded. .ci/record writes it.
const recordedFile = "testdata/recorded.json"

// recordedParts are recordings of real servers. The benchmarks' file says it itself, and tests play a sample of the
// simulation's recordings again.
var recordedParts = []string{"clients", "live"}

var justRecorded = flag.String("recorded", "", "note of this `part` that it was recorded now, on the commit that is checked out")

// origin says how a part was recorded.
type origin struct {
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	Machine string `json:"machine"`
	Lock    string `json:"lock"` // see lockfiles.Hash
}

// recordedSentence says how a part was recorded, and whether the lock has changed since then.
func recordedSentence(words []string) (string, error) {
	all, err := readRecorded[map[string]origin](recordedFile)
	if err != nil {
		return "", err
	}
	r, is := all[words[0]]
	if !is {
		return "", fmt.Errorf("%s has no part %q: run .ci/record %[2]s", recordedFile, words[0])
	}
	lock, err := lockfiles.Hash("..")
	if err != nil {
		return "", err
	}
	day, err := time.Parse(time.DateOnly, r.Date)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Recorded on %s, on commit %s and %s.", day.Format("2 January 2006"), r.Commit, r.Machine)
	if r.Lock != lock {
		text += " **The lock has changed since then.**"
	}
	return text + "\n", nil
}

// Each recorded part is noted, and its page says when it was recorded. With -recorded it is noted.
func TestRecordingsAreNoted(t *testing.T) {
	if *justRecorded != "" {
		note(t, *justRecorded)
		return
	}
	all, err := readRecorded[map[string]origin](recordedFile)
	require.NoError(t, err)
	assert.Equal(t, recordedParts, slices.Sorted(maps.Keys(all)))
	for _, part := range recordedParts {
		assert.Contains(t, everything(t), "<!-- generated: recorded "+part+" -->", "the page with what was recorded has to say when")
	}
}

func note(t *testing.T, part string) {
	require.Contains(t, recordedParts, part)
	all, err := readRecorded[map[string]origin](recordedFile)
	if os.IsNotExist(err) {
		all, err = map[string]origin{}, nil
	}
	require.NoError(t, err)
	commit, err := exec.Command("git", "rev-parse", "--short=8", "HEAD").Output()
	require.NoError(t, err)
	lock, err := lockfiles.Hash("..")
	require.NoError(t, err)
	all[part] = origin{
		Commit: strings.TrimSpace(string(commit)), Date: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Lock: lock,
	}
	text, err := json.MarshalIndent(all, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(recordedFile, append(text, '\n'), 0o644))
}

// machine says what this machine is.
func machine() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	model := "unknown processors"
	if found := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(info); found != nil {
		model = strings.Join(strings.Fields(string(found[1])), " ")
	}
	return fmt.Sprintf("%d cores of %s", runtime.NumCPU(), model)
}
