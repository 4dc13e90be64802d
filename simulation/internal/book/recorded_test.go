package book_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redlock/simulation/internal/origin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() { generators["recorded"] = recordedSentence }

// recordedFile says when and where recordedParts were recorded. .ci/record writes it.
const recordedFile = "testdata/recorded.json"

// recordedParts are recordings of real servers. The benchmarks' file says it itself, and tests play a sample of the
// simulation's recordings again.
var recordedParts = []string{"clients", "live"}

var justRecorded = flag.String("recorded", "", "note of this `part` that it was recorded now, on the commit that is checked out")

// recordedSentence says how a part was recorded, and whether the lock has changed since then.
func recordedSentence(words []string) (string, error) {
	all, err := readRecorded[map[string]origin.Origin](recordedFile)
	if err != nil {
		return "", err
	}
	r, is := all[words[0]]
	if !is {
		return "", fmt.Errorf("%s has no part %q: run .ci/record %[2]s", recordedFile, words[0])
	}
	lock, err := origin.Lock("..")
	if err != nil {
		return "", err
	}
	day, err := time.Parse(time.DateOnly, r.Date)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Recorded on %s, on commit %s and %d cores of %s.", day.Format("2 January 2006"), r.Commit, r.Cores, r.CPU)
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
	all, err := readRecorded[map[string]origin.Origin](recordedFile)
	require.NoError(t, err)
	assert.Equal(t, recordedParts, slices.Sorted(maps.Keys(all)))
	for _, part := range recordedParts {
		assert.Contains(t, everything(t), "<!-- generated: recorded "+part+" -->", "the page with what was recorded has to say when")
	}
}

func note(t *testing.T, part string) {
	require.Contains(t, recordedParts, part)
	all, err := readRecorded[map[string]origin.Origin](recordedFile)
	require.NoError(t, err)
	now, err := origin.Of(t.Context(), "..")
	require.NoError(t, err)
	require.NotEqual(t, "unknown", now.Commit)
	now.Commit = strings.TrimSuffix(now.Commit, "-dirty") // only by what was recorded: .ci/record demands that
	all[part] = now
	text, err := json.MarshalIndent(all, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(recordedFile, append(text, '\n'), 0o644))
}
