package book_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
// test, so a file keeps them. Each row has a sample: the findings of its first few runs. A change
// of the library, the simulation or a design that changes findings changes the sample.
type searchRecord struct {
	Rows []searchRow `json:"rows"`
}

// searchRow is one search: a design, the kinds of random faults, and the findings.
type searchRow struct {
	Design string   `json:"design"`
	Faults []string `json:"faults"`
	searchFound
	// Sample is the same for the first runs.
	Sample searchFound `json:"sample"`
}

// searchFound is the number of runs, how many of them had a violation, and how many had each kind.
type searchFound struct {
	Runs     uint64            `json:"runs"`
	Violated uint64            `json:"violated"`
	Kinds    map[string]uint64 `json:"kinds,omitempty"`
}

const (
	searchFile = "testdata/searches.json"
	// searchSample is the number of runs in the sample of each row.
	searchSample = 40
)

// searched tabulates searches: words are the number of runs, and for each row the design and the
// kinds of faults, as in "redlock/pause+suspend". With -update a missing or stale row is played
// again.
func searched(words []string) (string, error) {
	if len(words) < 2 {
		return "", fmt.Errorf("want the number of runs and designs with faults, got %q", words)
	}
	runs, err := strconv.ParseUint(words[0], 10, 32)
	if err != nil {
		return "", err
	}
	record, err := readSearches()
	if err != nil && (!*update || !errors.Is(err, os.ErrNotExist)) {
		return "", err
	}
	var rows [][]string
	for _, word := range words[1:] {
		design, faults, ok := strings.Cut(word, "/")
		if !ok {
			return "", fmt.Errorf("want DESIGN/FAULT+FAULT, got %q", word)
		}
		row, err := record.row(design, strings.Split(faults, "+"), runs)
		if err != nil {
			return "", err
		}
		rows = append(rows, []string{strings.Join(row.Faults, ", "), "`" + row.Design + "`", strconv.FormatUint(row.Violated, 10), row.found()})
	}
	head := fmt.Sprintf("faults | design | runs with a violation, of %d | which, in how many runs", runs)
	return table(head, rows), nil
}

func readSearches() (searchRecord, error) { return readRecorded[searchRecord](searchFile) }

// row returns a row of the record. With -update it plays the row again if it is missing or its
// sample has changed, and writes the record.
func (r *searchRecord) row(design string, faults []string, runs uint64) (searchRow, error) {
	i := slices.IndexFunc(r.Rows, func(row searchRow) bool {
		return row.Design == design && slices.Equal(row.Faults, faults) && row.Runs == runs
	})
	if !*update {
		if i < 0 {
			return searchRow{}, fmt.Errorf("%s has no %d runs of %s with %v: run go test ./simulation/internal/book -update", searchFile, runs, design, faults)
		}
		return r.Rows[i], nil
	}
	now, err := playSearch(design, faults, searchSample)
	if err != nil {
		return searchRow{}, err
	}
	if i >= 0 && assert.ObjectsAreEqual(now, r.Rows[i].Sample) {
		return r.Rows[i], nil
	}
	all, err := playSearch(design, faults, runs)
	if err != nil {
		return searchRow{}, err
	}
	row := searchRow{Design: design, Faults: faults, searchFound: all, Sample: now}
	if i >= 0 {
		r.Rows[i] = row
	} else {
		r.Rows = append(r.Rows, row)
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return row, err
	}
	return row, os.WriteFile(searchFile, append(text, '\n'), 0o644)
}

// playSearch plays the first runs of a search, as this does:
//
//	redlocksim explore -design DESIGN -faults FAULT,FAULT -most 16 -seeds 0:RUNS
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

// Each row's sample is as recorded, and each row is on a page.
func TestRecordedSearchesAreFresh(t *testing.T) {
	if *update {
		t.Skip("the pages' own test writes the record")
	}
	long.Test(t, "it plays hundreds of runs")
	record, err := readSearches()
	require.NoError(t, err)
	require.NotEmpty(t, record.Rows)
	text := everything(t)
	for _, row := range record.Rows {
		t.Run(row.Design+"/"+strings.Join(row.Faults, "+"), func(t *testing.T) {
			now, err := playSearch(row.Design, row.Faults, searchSample)
			require.NoError(t, err)
			if !assert.Equal(t, now, row.Sample) {
				t.Errorf(stale, searchFile)
			}
			assert.Regexp(t, fmt.Sprintf(`<!-- generated: searched %d [^\n]*\b%s/%s\b`, row.Runs, row.Design, strings.Join(row.Faults, `\+`)), text,
				"no page shows these runs: take them out of %s", searchFile)
		})
	}
}
