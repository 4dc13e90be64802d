package docs_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/search"
)

func init() {
	generators["searched"] = searched
}

// searched plays schedules that are drawn from some kinds of faults, and counts in how
// many runs something was violated: words are the number of runs, the design, and the
// kinds of each row, joined by "+".
func searched(words []string) (string, error) {
	if len(words) < 3 {
		return "", fmt.Errorf("want the number of runs, a design and kinds of faults, got %q", words)
	}
	runs, err := strconv.ParseUint(words[0], 10, 32)
	if err != nil {
		return "", err
	}
	d, err := designs.ByName(words[1])
	if err != nil {
		return "", err
	}
	registry := search.Registry{
		Workloads: []search.Workload{search.Mixed()},
		Designs:   []search.Design{{Name: d.Name, Title: d.Title, Apply: d.Apply}},
	}
	var rows [][]string
	for _, group := range words[2:] {
		var kinds []simulation.Kind
		for kind := range strings.SplitSeq(group, "+") {
			kinds = append(kinds, simulation.Kind(kind))
		}
		space := search.Space{Setup: search.Setup{Workload: "mixed", Design: d.Name}, How: search.Draw, Faults: kinds, Most: 16}
		report, err := search.Search(context.Background(), registry, space, search.Options{To: runs})
		if err != nil {
			return "", err
		}
		rows = append(rows, []string{strings.ReplaceAll(group, "+", ", "), d.Name, fmt.Sprint(runs), found(report)})
	}
	return table("faults | design | runs | violated, and in how many runs", rows), nil
}

// found is what a search came to, in a cell of a table.
func found(report search.Report) string {
	var kinds []string
	for _, f := range report.Kinds() {
		kinds = append(kinds, fmt.Sprintf("%s %d", f.Kind, f.Runs))
	}
	if len(kinds) == 0 {
		return "nothing"
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ", ")
}
