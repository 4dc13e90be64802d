package book_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/mutants"
)

func init() {
	generators["bugs"] = func([]string) (string, error) { return bugCounts() }
}

// finders are what found bugs, as the list's lines begin, and in the words of the table.
var finders = [][2]string{
	{"reader", "readers of the code"},
	{"simulation", "the simulation, the matrix, random faults, the abstract machine, mutants"},
	{"virtual time", "programs in virtual time"},
	{"real servers", "programs on real servers and databases"},
	{"program", "other programs"},
	{"tests", "tests, and a measurement"},
}

// bugLine has what found a bug, the mutant or test that plays it again, and what broke.
var bugLine = regexp.MustCompile("(?m)^- ([a-z ]+)(?:, `([\\w-]+)`)?: (.*)$")

// bugCounts counts the lines of the list of bugs, by what found them.
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
	lines := bugLine.FindAllStringSubmatch(string(text), -1)
	if listed := strings.Count(string(text), "\n- "); listed != len(lines) {
		return "", fmt.Errorf("of %d bugs, %d are listed as the page says", listed, len(lines))
	}
	for _, line := range lines {
		by, again, what := counts[line[1]], line[2], line[3]
		if by == nil {
			return "", fmt.Errorf("finders has no %q", line[1])
		}
		if strings.Contains(again, "-") { // that tests exist is checked for all pages
			if _, err := mutants.Select(again); err != nil {
				return "", fmt.Errorf("%s: %w", what, err)
			}
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
