package book_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// searched tabulates searches: words are the number of runs, and for each row the design and the kinds of
// faults, as in "redlock/pause+suspend". Each is what this plays:
//
//	redlocksim explore -design DESIGN -faults FAULT,FAULT -most 16 -seeds RUNS
func searched(t *testing.T, words []string) string {
	seeds, err := strconv.ParseUint(words[0], 10, 32)
	require.NoError(t, err)
	var rows [][]string
	for _, word := range words[1:] {
		design, faults, _ := strings.Cut(word, "/")
		d, err := designs.ByName(design)
		require.NoError(t, err)
		space := search.Space{Workload: search.Mixed(), Design: d, Most: 16}
		for _, kind := range strings.Split(faults, "+") {
			space.Faults = append(space.Faults, fault.Kind(kind))
		}
		report, err := search.Search(t.Context(), space, seeds, nil)
		require.NoError(t, err)
		runs := map[record.ViolationKind]uint64{}
		for _, f := range report.Findings { // whatever excuses it
			runs[f.Kind] += f.Runs
		}
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(runs)) {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, runs[kind]))
		}
		rows = append(rows, []string{strings.ReplaceAll(faults, "+", ", "), "`" + design + "`", strconv.FormatUint(report.Violating, 10), cmp.Or(strings.Join(kinds, ", "), "none")})
	}
	return table(fmt.Sprintf("faults | design | runs with a violation, of %d | which, in how many runs", seeds), rows)
}
