package book_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

func init() {
	generators["searched"] = searched
	slow["searched"] = true
}

// searched tabulates searches: words are the number of runs, and for each row the design and the kinds of
// faults, as in "redlock/pause+suspend". Each is what this plays:
//
//	redlocksim explore -design DESIGN -faults FAULT,FAULT -most 16 -seeds RUNS
func searched(words []string) (string, error) {
	runs, err := strconv.ParseUint(words[0], 10, 32)
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, word := range words[1:] {
		design, faults, _ := strings.Cut(word, "/")
		d, err := designs.ByName(design)
		if err != nil {
			return "", err
		}
		space := search.Space{Workload: search.Mixed(), Design: d, Most: 16}
		for _, kind := range strings.Split(faults, "+") {
			space.Faults = append(space.Faults, fault.Kind(kind))
		}
		report, err := search.Search(context.Background(), space, runs, nil)
		if err != nil {
			return "", err
		}
		runs := map[record.ViolationKind]uint64{}
		for _, f := range report.Findings { // whatever excuses it
			runs[f.Kind] += f.Runs
		}
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(runs)) {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, runs[kind]))
		}
		rows = append(rows, []string{
			strings.ReplaceAll(faults, "+", ", "), "`" + design + "`", strconv.FormatUint(report.Violating, 10),
			cmp.Or(strings.Join(kinds, ", "), "none"),
		})
	}
	return table(fmt.Sprintf("faults | design | runs with a violation, of %d | which, in how many runs", runs), rows), nil
}
