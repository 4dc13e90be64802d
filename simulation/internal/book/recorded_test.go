package book_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/internal/origin"
)

func init() { generators["recorded"] = recordedSentence }

// recordedFile says when and where recordings of real servers were made. The benchmarks' file says it itself, and a test
// plays a sample of the simulation's recording again.
const recordedFile = "testdata/recorded.json"

var justRecorded = flag.String("recorded", "", "note of this `part` that it was recorded now, on the commit that is checked out; with -update")

// recordedSentence says how a part was recorded, and whether the lock has changed since then.
func recordedSentence(words []string) (string, error) {
	part := words[0]
	all, err := readRecorded[map[string]origin.Origin](recordedFile)
	if err == nil && *update && *justRecorded == part {
		err = note(all, part)
	}
	if err != nil {
		return "", err
	}
	r, is := all[part]
	if !is {
		return "", fmt.Errorf("%s has no part %q: run .ci/record %[2]s", recordedFile, part)
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

func note(all map[string]origin.Origin, part string) error {
	now, err := origin.Of(context.Background(), "..")
	if err != nil {
		return err
	}
	if now.Commit == "unknown" {
		return errors.New("git doesn't know the commit that was recorded")
	}
	now.Commit = strings.TrimSuffix(now.Commit, "-dirty") // only by what was recorded: .ci/record demands that
	all[part] = now
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(recordedFile, append(text, '\n'), 0o644)
}
