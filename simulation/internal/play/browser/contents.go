package browser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// debate is the page of the documentation with the arguments, below the module's folder.
const debate = "docs/debate.md"

// named is a scenario, a fault of the matrix, or a design. Designs are those that the scenario has verdicts for.
type named struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Designs []named `json:"designs,omitempty"`
}

// chapter is an argument of the debate: its heading's anchor, who is right, the verdict's first sentence, and
// the runs whose commands the section shows.
type chapter struct {
	ID      string      `json:"id"`
	Title   string      `json:"title"`
	Right   string      `json:"right"`
	Verdict string      `json:"verdict"`
	Runs    []playedRun `json:"runs"`
}

// playedRun is a run by name, see play.Setup.
type playedRun struct {
	Base   string `json:"base"`
	Design string `json:"design"`
	Seed   string `json:"seed"`
}

var (
	contentsRow = regexp.MustCompile(`(?m)^\| \[([^\]]+)\]\(#([^)]+)\) \| (.+) \|$`)
	notAnchor   = regexp.MustCompile(`[^a-z0-9 -]`)
	verdict     = regexp.MustCompile(`(?s)\*\*Verdict: (.+?)\*\*`)
	command     = regexp.MustCompile(`redlocksim run (\S+) -design (\S+)(?: -seed (\d+))?`)
)

// contents returns all that a reader can choose on the page, as JSON. source is the module's folder.
func contents(source string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(debate)))
	if err != nil {
		return nil, err
	}
	var all struct {
		Scenarios []named        `json:"scenarios"`
		Faults    []named        `json:"faults"`
		Designs   []named        `json:"designs"`
		Kinds     []fault.Traits `json:"kinds"`
		Chapters  []chapter      `json:"chapters"`
	}
	if all.Chapters, err = chapters(string(text)); err != nil {
		return nil, err
	}
	for _, s := range scenarios.All() {
		all.Scenarios = append(all.Scenarios, named{s.ID, s.Title, listed(s.Designs())})
	}
	for _, f := range cells.Faults() {
		all.Faults = append(all.Faults, named{Name: f.Name, Title: f.Title})
	}
	all.Designs, all.Kinds = listed(designs.All()), fault.All()
	return json.Marshal(all)
}

// listed names designs, except for registered ones, which the page's engine doesn't have.
func listed(all []designs.Design) (list []named) {
	for _, d := range all {
		if d.Group != designs.Yours {
			list = append(list, named{Name: d.Name, Title: d.Title})
		}
	}
	return list
}

// chapters reads the arguments from the text of docs/debate.md: those of its table of contents, in that order.
func chapters(text string) (all []chapter, err error) {
	sections := map[string]string{}
	for _, section := range strings.Split(text, "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		// A heading's anchor, as GitHub makes it.
		sections[strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")] = body
	}
	for _, row := range contentsRow.FindAllStringSubmatch(text, -1) {
		c := chapter{Title: row[1], ID: row[2], Right: row[3]}
		for _, m := range command.FindAllStringSubmatch(sections[c.ID], -1) {
			c.Runs = append(c.Runs, playedRun{m[1], m[2], cmp.Or(m[3], "0")})
		}
		found := verdict.FindStringSubmatch(sections[c.ID])
		if found == nil || len(c.Runs) == 0 {
			return nil, fmt.Errorf("the page's chapters can't be read: %s needs a section #%s with a **Verdict: ...** and a command redlocksim run", debate, c.ID)
		}
		c.Verdict = strings.Join(strings.Fields(found[1]), " ")
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the page's chapters can't be read: %s has no table of arguments", debate)
	}
	return all, nil
}
