package book_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

func init() {
	generators["scenario-list"] = func([]string) (string, error) { return scenarioList(), nil }
	generators["design-list"] = func([]string) (string, error) { return designList(), nil }
}

// shownDesigns are the columns of the list of scenarios.
var shownDesigns = []string{"setpx-cad", "redlock", "default", "token-admit"}

// severity are the kinds of violations in scenarios, the worst first.
var severity = []record.ViolationKind{record.LostUpdate, record.StaleWrite, record.TokenOrder, record.TwoHolders, record.Overvalued, record.NoProgress}

// worst is how a scenario ends with a design, with the worst violation alone; "" if nothing is violated.
func worst(s scenarios.Scenario, d designs.Design) string {
	v := s.Verdicts[d.Name]
	if i := slices.IndexFunc(severity, func(k record.ViolationKind) bool { return slices.Contains(v.Kinds, k) }); i >= 0 {
		v.Kinds = severity[i : i+1]
	}
	s.Verdicts = map[string]scenarios.Verdict{d.Name: v}
	return strings.TrimPrefix(strings.TrimPrefix(holds(s, d), "holds"), ": ")
}

// scenarioList has a row for each scenario. Its verdicts are those that the tests of the package
// check. The last column has the designs that are played in this scenario alone.
func scenarioList() string {
	var rows [][]string
	for _, s := range scenarios.All() {
		row := []string{fmt.Sprintf(`<a id="%s"></a>%s`, strings.ToLower(s.ID), s.ID), s.Title}
		for _, name := range shownDesigns {
			cell := "–"
			if _, known := s.Verdicts[name]; known {
				cell = worst(s, designs.Design{Name: name})
			}
			row = append(row, cell)
		}
		var own []string
		for _, d := range s.Variants {
			own = append(own, fmt.Sprintf("`%s`: %s", d.Name, cmp.Or(worst(s, d), "holds")))
		}
		rows = append(rows, append(row, strings.Join(own, "<br>")))
	}
	return table("| what happens | `"+strings.Join(shownDesigns, "` | `")+"` | its own designs", rows)
}

// designList has a table for each group of designs. redlocksim list describes those of a single scenario.
func designList() string {
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
