package book_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
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

// bugLine has what found a bug, and the mutant or test that plays it again. That tests exist is checked for all pages.
var bugLine = regexp.MustCompile("(?m)^- ([a-z ]+)(?:, `([\\w-]+)`)?: ")

// bugCounts counts the lines of the list of bugs, by what found them.
func bugCounts() (string, error) {
	text, err := os.ReadFile("reference/bugs.md")
	if err != nil {
		return "", err
	}
	counts := map[string]int{}
	for _, line := range bugLine.FindAllStringSubmatch(string(text), -1) {
		counts[line[1]]++
		if strings.Contains(line[2], "-") {
			if _, err := mutants.Select(line[2]); err != nil {
				return "", fmt.Errorf("%s: %w", line[0], err)
			}
		}
	}
	total := 0
	var rows [][]string
	for _, f := range finders {
		total += counts[f[0]]
		rows = append(rows, []string{f[1], strconv.Itoa(counts[f[0]])})
	}
	if lines := strings.Count(string(text), "\n- "); total != lines {
		return "", fmt.Errorf("%d of %d lines begin with what found the bug, one of %q", total, lines, finders)
	}
	return table("found by | bugs", rows), nil
}
