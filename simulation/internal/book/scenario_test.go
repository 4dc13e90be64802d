package book_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// The verdicts in these tables are those that the tests of package scenarios check.

// ends has a row for each scenario and a column for each design: words are the designs, separated by commas, and the
// scenarios.
func ends(t *testing.T, words []string) string {
	names := strings.Split(words[0], ",")
	var rows [][]string
	for _, id := range words[1:] {
		s, err := scenarios.ByID(id)
		require.NoError(t, err)
		row := []string{fmt.Sprintf("[%s](reference/scenarios.md#%s): %s", s.ID, strings.ToLower(s.ID), s.Title)}
		for _, name := range names {
			cell := ""
			if v, known := s.Verdicts[name]; known {
				cell = holds(v)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return table("scenario | `"+strings.Join(names, "` | `")+"`", rows)
}

// holds is a verdict in a cell.
func holds(v scenarios.Verdict) string {
	switch {
	case !v.Safe():
		return "**" + v.String() + "**"
	case slices.Contains(v.Never, "c1 acquired") && slices.Contains(v.Never, "c2 acquired"):
		return "holds: nobody gets the lock"
	default:
		return "holds"
	}
}

// severity are the kinds of violations in scenarios, the worst first.
var severity = []record.ViolationKind{record.LostUpdate, record.StaleWrite, record.TokenOrder, record.TwoHolders, record.Overvalued, record.NoProgress}

// worst is a verdict with the worst violation alone; "" if nothing is violated.
func worst(v scenarios.Verdict) string {
	if i := slices.IndexFunc(severity, func(k record.ViolationKind) bool { return slices.Contains(v.Kinds, k) }); i >= 0 {
		v.Kinds = severity[i : i+1]
	}
	return strings.TrimPrefix(strings.TrimPrefix(holds(v), "holds"), ": ")
}

// scenarioList has a row for each scenario. The last column has the designs that are played in this scenario alone.
func scenarioList(*testing.T, []string) string {
	shown := []string{"setpx-cad", "redlock", "default", "token-admit"}
	var rows [][]string
	for _, s := range scenarios.All() {
		row := []string{fmt.Sprintf(`<a id="%s"></a>%s`, strings.ToLower(s.ID), s.ID), s.Title}
		for _, name := range shown {
			cell := "–"
			if v, known := s.Verdicts[name]; known {
				cell = worst(v)
			}
			row = append(row, cell)
		}
		var own []string
		for _, d := range s.Variants {
			own = append(own, fmt.Sprintf("`%s`: %s", d.Name, cmp.Or(worst(s.Verdicts[d.Name]), "holds")))
		}
		rows = append(rows, append(row, strings.Join(own, "<br>")))
	}
	return table("| what happens | `"+strings.Join(shown, "` | `")+"` | its own designs", rows)
}

// designList has a table for each group of designs. redlocksim list describes those of a single scenario.
func designList(*testing.T, []string) string {
	var b strings.Builder
	var rows [][]string
	all := designs.All()
	for i, d := range all {
		rows = append(rows, []string{"`" + d.Name + "`", d.Title, strings.TrimSuffix(d.Breaks, ".")})
		if i+1 == len(all) || all[i+1].Group != d.Group {
			fmt.Fprintf(&b, "## %s%s\n\n%s\n", strings.ToUpper(string(d.Group[:1])), d.Group[1:], table("design | what it is | what breaks it", rows))
			rows = nil
		}
	}
	return b.String()
}
