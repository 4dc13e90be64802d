package book_test

import (
	"fmt"
	"os"
	"strings"
)

func init() {
	generators["bugs"] = func([]string) (string, error) { return bugCounts() }
}

// finders are what found bugs, by words of the list's third column. The first that fits counts.
var finders = []struct{ title, words string }{
	{"readers of the code", "reader review newcomer"},
	{"the simulation, the matrix, random faults, the abstract machine, mutants", "simulation matrix machine mutant soak model sick"},
	{"programs in virtual time", "virtual"},
	{"programs on real servers and databases", "servers server PostgreSQL MariaDB SQLite redsync's proxy"},
	{"other programs", "program mistake start peer folder"},
	{"tests, and a measurement", "test tests measurement"},
}

// bugCounts counts the rows of the list of bugs.
func bugCounts() (string, error) {
	text, err := os.ReadFile("reference/bugs.md")
	if err != nil {
		return "", err
	}
	type count struct{ all, broke, two int }
	counts, sum := make([]count, len(finders)), count{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 || strings.HasPrefix(line, "| what broke") || strings.HasPrefix(line, "| ---") {
			continue
		}
		at := -1
		for i, f := range finders {
			for word := range strings.FieldsSeq(f.words) {
				if at < 0 && strings.Contains(cells[2], word) {
					at = i
				}
			}
		}
		if at < 0 {
			return "", fmt.Errorf("what found this? finders has no word for it: %s", cells[2])
		}
		for _, c := range []*count{&counts[at], &sum} {
			c.all++
			if strings.Contains(cells[0], "**") {
				c.broke++
			}
			if what := strings.ToLower(cells[0]); strings.Contains(what, "two holders") || strings.Contains(what, "two leases") {
				c.two++
			}
		}
	}
	var rows [][]string
	row := func(title string, c count) {
		rows = append(rows, []string{title, fmt.Sprint(c.all), fmt.Sprint(c.broke), fmt.Sprint(c.two)})
	}
	for i, f := range finders {
		row(f.title, counts[i])
	}
	row("all", sum)
	return table("found by | bugs | that broke a promise | of these, two holders", rows), nil
}
