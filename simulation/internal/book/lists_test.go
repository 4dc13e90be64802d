package book_test

import (
	"fmt"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

func init() {
	generators["scenario-list"] = func([]string) (string, error) { return scenarioList(), nil }
	generators["design-list"] = func([]string) (string, error) { return designList(), nil }
}

// shownDesigns are the columns of the list of scenarios.
var shownDesigns = []string{"setpx-cad", "redlock", "default", "token-admit"}

// scenarioList has a row for each scenario. Its verdicts are those that the tests of the package
// check. The last column has the designs that are played in this scenario alone.
func scenarioList() string {
	var rows [][]string
	for _, s := range scenarios.All() {
		row := []string{fmt.Sprintf(`<a id="%s"></a>%s`, strings.ToLower(s.ID), s.ID), s.Title}
		for _, name := range shownDesigns {
			cell := ""
			if _, known := s.Verdicts[name]; known {
				cell = holds(s, designs.Design{Name: name})
			}
			row = append(row, cell)
		}
		var own []string
		for _, d := range s.Variants {
			own = append(own, fmt.Sprintf("`%s`: %s", d.Name, holds(s, d)))
		}
		rows = append(rows, append(row, strings.Join(own, "<br>")))
	}
	return table("| what happens | `"+strings.Join(shownDesigns, "` | `")+"` | its own designs", rows)
}

// designList has a table for each group of designs, and a list of the designs in single scenarios.
func designList() string {
	var b strings.Builder
	var rows [][]string
	all := designs.All()
	for i, d := range all {
		cure := ""
		if d.Cure != "" {
			cure = "`" + d.Cure + "`"
		}
		rows = append(rows, []string{"`" + d.Name + "`", d.Title, strings.TrimSuffix(d.Breaks, "."), cure})
		if i+1 == len(all) || all[i+1].Group != d.Group {
			fmt.Fprintf(&b, "## %s%s\n\n%s\n", strings.ToUpper(string(d.Group[:1])), d.Group[1:], table("design | what it is | what breaks it | what fixes it", rows))
			rows = nil
		}
	}
	b.WriteString("## Played in one scenario alone\n\nThe library, or one of the above, with one thing changed.\n\n")
	seen := map[string]bool{}
	for _, s := range scenarios.All() {
		for _, d := range s.Variants {
			if !seen[d.Name] {
				seen[d.Name] = true
				fmt.Fprintf(&b, "- `%s`: %s\n", d.Name, d.Title)
			}
		}
	}
	return b.String()
}
