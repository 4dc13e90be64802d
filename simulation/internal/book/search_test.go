package book_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
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

// searchRecord is what the latest random schedules found. Thousands of runs take too long for every
// test, so a file keeps them.
type searchRecord struct {
	Rows []searchRow `json:"rows"`
}

// searchRow is one search: a design, the kinds of random faults, and the findings. Sample has those of the
// first runs.
type searchRow struct {
	Design string   `json:"design"`
	Faults []string `json:"faults"`
	searchFound
	Sample searchFound `json:"sample"`
}

// searchFound is the number of runs, how many of them had a violation, and how many had each kind.
type searchFound struct {
	Runs     uint64            `json:"runs"`
	Violated uint64            `json:"violated"`
	Kinds    map[string]uint64 `json:"kinds,omitempty"`
}

const searchFile = "testdata/searches.json"

// sampledRuns is the number of runs of a row's sample.
const sampledRuns = 200

// searched tabulates recorded searches: words are the number of runs, and for each row the design
// and the kinds of faults, as in "redlock/pause+suspend".
func searched(words []string) (string, error) {
	if len(words) < 2 {
		return "", fmt.Errorf("want the number of runs and designs with faults, got %q", words)
	}
	record, err := readRecorded[searchRecord](searchFile)
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, word := range words[1:] {
		i := slices.IndexFunc(record.Rows, func(r searchRow) bool { return r.name() == words[0]+" "+word })
		if i < 0 {
			return "", fmt.Errorf("%s has no %s runs of %s: run go test ./simulation/internal/book -run TestRecordedSearchesAreFresh -update", searchFile, words[0], word)
		}
		row := record.Rows[i]
		rows = append(rows, []string{strings.Join(row.Faults, ", "), "`" + row.Design + "`", strconv.FormatUint(row.Violated, 10), row.found()})
	}
	return table(fmt.Sprintf("faults | design | runs with a violation, of %s | which, in how many runs", words[0]), rows), nil
}

// name is a row's name on a page.
func (r searchRow) name() string {
	return fmt.Sprintf("%d %s/%s", r.Runs, r.Design, strings.Join(r.Faults, "+"))
}

// playSearch plays the first runs of a search, as this does:
//
//	redlocksim explore -design DESIGN -faults FAULT,FAULT -most 16 -seeds RUNS
func playSearch(design string, faults []string, runs uint64) (searchFound, error) {
	d, err := designs.ByName(design)
	if err != nil {
		return searchFound{}, err
	}
	registry := search.Registry{
		Workloads: search.Workloads(),
		Designs:   []search.Design{{Name: d.Name, Title: d.Title, Apply: d.Apply}},
	}
	space := search.Space{Setup: search.Setup{Workload: "mixed", Design: d.Name}, Most: 16}
	for _, kind := range faults {
		space.Faults = append(space.Faults, fault.Kind(kind))
	}
	report, err := search.Search(context.Background(), registry, space, search.Options{To: runs})
	if err != nil {
		return searchFound{}, err
	}
	found := searchFound{Runs: report.Runs, Violated: report.Violating}
	for _, f := range report.Kinds() {
		if found.Kinds == nil {
			found.Kinds = map[string]uint64{}
		}
		found.Kinds[string(f.Kind)] = f.Runs
	}
	return found, nil
}

// found is the kinds of violations, in a cell of a table.
func (f searchFound) found() string {
	var kinds []string
	for kind, runs := range f.Kinds {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, runs))
	}
	if len(kinds) == 0 {
		return "none"
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ", ")
}

// The rows are those of the pages, and the sample of each is as recorded. With -update the file gets what was
// found.
func TestRecordedSearchesAreFresh(t *testing.T) {
	if !*update {
		long.Test(t, "it plays a thousand runs")
	}
	old, err := readRecorded[searchRecord](searchFile)
	if !*update {
		require.NoError(t, err)
	}
	var fresh searchRecord
	for _, part := range regexp.MustCompile(`<!-- generated: searched (\d+) (.*) -->`).FindAllStringSubmatch(everything(t), -1) {
		runs, err := strconv.ParseUint(part[1], 10, 32)
		require.NoError(t, err)
		for _, word := range strings.Fields(part[2]) {
			design, faults, _ := strings.Cut(word, "/")
			row := searchRow{Design: design, Faults: strings.Split(faults, "+"), searchFound: searchFound{Runs: runs}}
			row.Sample, err = playSearch(row.Design, row.Faults, sampledRuns)
			require.NoError(t, err)
			i := slices.IndexFunc(old.Rows, func(r searchRow) bool { return r.name() == row.name() && reflect.DeepEqual(r.Sample, row.Sample) })
			switch {
			case i >= 0:
				row = old.Rows[i]
			case *update:
				row.searchFound, err = playSearch(row.Design, row.Faults, runs)
				require.NoError(t, err)
			}
			fresh.Rows = append(fresh.Rows, row)
		}
	}
	if *update {
		text, err := json.MarshalIndent(fresh, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(searchFile, append(text, '\n'), 0o644))
		return
	}
	if !assert.ElementsMatch(t, fresh.Rows, old.Rows) {
		t.Errorf(stale, searchFile)
	}
}
