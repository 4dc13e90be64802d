package book_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/mutants"
)

func init() {
	generators["bugs"] = func([]string) (string, error) { return bugCounts() }
}

// finders are what found bugs, as the list's third column has it, and in the words of the table.
var finders = [][2]string{
	{"reader", "readers of the code"},
	{"simulation", "the simulation, the matrix, random faults, the abstract machine, mutants"},
	{"virtual time", "programs in virtual time"},
	{"real servers", "programs on real servers and databases"},
	{"program", "other programs"},
	{"tests", "tests, and a measurement"},
}

var bugRow = regexp.MustCompile(`(?m)^\| \d+ \| (.*) \| (.*) \| (.*) \|$`)

// bugCounts counts the rows of the list of bugs, by what found them.
func bugCounts() (string, error) {
	text, err := os.ReadFile("reference/bugs.md")
	if err != nil {
		return "", err
	}
	type count struct{ all, broke, two int }
	counts, sum := map[string]*count{}, count{}
	for _, f := range finders {
		counts[f[0]] = &count{}
	}
	for _, row := range bugRow.FindAllStringSubmatch(string(text), -1) {
		what, by := row[1], counts[row[2]]
		if by == nil {
			return "", fmt.Errorf("finders has no %q", row[2])
		}
		if err := playable(row[3]); err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		for _, c := range []*count{by, &sum} {
			c.all++
			if strings.Contains(what, "**") {
				c.broke++
			}
			if what := strings.ToLower(what); strings.Contains(what, "two holders") || strings.Contains(what, "two leases") {
				c.two++
			}
		}
	}
	var rows [][]string
	row := func(title string, c count) {
		rows = append(rows, []string{title, fmt.Sprint(c.all), fmt.Sprint(c.broke), fmt.Sprint(c.two)})
	}
	for _, f := range finders {
		row(f[1], *counts[f[0]])
	}
	row("all", sum)
	return table("found by | bugs | that broke a promise | of these, two holders", rows), nil
}

// playable returns what is wrong with the last column of a bug: mutants, and tests with their folders.
// That the tests exist is checked for all pages.
func playable(column string) error {
	for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(column, -1) {
		folder, test, is := strings.Cut(code[1], " ")
		if !is {
			if _, err := mutants.Select(code[1]); err != nil {
				return err
			}
		} else if found, err := filepath.Glob(filepath.Join("..", folder, "*_test.go")); err != nil || len(found) == 0 {
			return fmt.Errorf("no tests in %s for %s", folder, test)
		}
	}
	return nil
}
