package book_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/search"
)

func init() { generators["searched"] = searched }

// searchFile has what the latest random schedules found, by the search: the number of runs, the design and the kinds of
// faults. Thousands of runs take too long for every test.
const searchFile = "testdata/searches.json"

// sampledRuns is the number of runs of a search's sample.
const sampledRuns = 200

// searchRow is what a search found, and what its first runs found.
type searchRow struct {
	searchFound
	Sample searchFound `json:"sample"`
}

// searchFound is how many runs had a violation, and how many had each kind.
type searchFound struct {
	Violated uint64   `json:"violated"`
	Kinds    []string `json:"kinds,omitempty"`
}

// searched tabulates recorded searches: words are the number of runs, and for each row the design and the kinds of
// faults, as in "redlock/pause+suspend".
func searched(words []string) (string, error) {
	record, err := readRecorded[map[string]searchRow](searchFile)
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, word := range words[1:] {
		found, is := record[words[0]+" "+word]
		if !is {
			return "", fmt.Errorf("%s has no %s runs of %s: run go test ./simulation/internal/book -run TestRecordedSearchesAreFresh -update", searchFile, words[0], word)
		}
		if found.Kinds == nil {
			found.Kinds = []string{"none"}
		}
		design, faults, _ := strings.Cut(word, "/")
		rows = append(rows, []string{strings.ReplaceAll(faults, "+", ", "), "`" + design + "`", strconv.FormatUint(found.Violated, 10), strings.Join(found.Kinds, ", ")})
	}
	return table(fmt.Sprintf("faults | design | runs with a violation, of %s | which, in how many runs", words[0]), rows), nil
}

// playSearch plays the first runs of a search, as this does:
//
//	redlocksim explore -design DESIGN -faults FAULT,FAULT -most 16 -seeds RUNS
func playSearch(t *testing.T, design, faults string, runs uint64) (found searchFound) {
	space := search.Space{Setup: search.Setup{Workload: "mixed", Design: design}, Most: 16}
	for _, kind := range strings.Split(faults, "+") {
		space.Faults = append(space.Faults, fault.Kind(kind))
	}
	registry := search.Registry{Workloads: search.Workloads(), Designs: designs.All()}
	report, err := search.Search(context.Background(), registry, space, search.Options{To: runs})
	require.NoError(t, err)
	found.Violated = report.Violating
	for _, f := range report.Kinds() {
		found.Kinds = append(found.Kinds, fmt.Sprintf("%s %d", f.Kind, f.Runs))
	}
	return found
}

// The searches are those of the pages, and the sample of each is as recorded. With -update the file gets what was found.
func TestRecordedSearchesAreFresh(t *testing.T) {
	if !*update {
		long.Test(t, "it plays a thousand runs")
	}
	old, err := readRecorded[map[string]searchRow](searchFile)
	if !*update {
		require.NoError(t, err)
	}
	fresh := map[string]searchRow{}
	for _, part := range regexp.MustCompile(`<!-- generated: searched (\d+) (.*) -->`).FindAllStringSubmatch(everything(t), -1) {
		runs, err := strconv.ParseUint(part[1], 10, 32)
		require.NoError(t, err)
		for _, word := range strings.Fields(part[2]) {
			design, faults, _ := strings.Cut(word, "/")
			row := old[part[1]+" "+word]
			if sample := playSearch(t, design, faults, sampledRuns); !assert.ObjectsAreEqual(row.Sample, sample) {
				row = searchRow{Sample: sample}
				if *update {
					row.searchFound = playSearch(t, design, faults, runs)
				}
			}
			fresh[part[1]+" "+word] = row
		}
	}
	if *update {
		text, err := json.MarshalIndent(fresh, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(searchFile, append(text, '\n'), 0o644))
		return
	}
	if !assert.Equal(t, old, fresh) {
		t.Errorf(stale, searchFile)
	}
}
