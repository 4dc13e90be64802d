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

// bugLine has what found a bug, and the mutant or test that plays it again. That tests exist is checked for all pages.
var bugLine = regexp.MustCompile("^([a-z ]+)(?:, `([\\w-]+)`)?: ")

// bugCounts counts the lines of the list of bugs, by what found them and by their heading.
func bugCounts() (string, error) {
	text, err := os.ReadFile("reference/bugs.md")
	if err != nil {
		return "", err
	}
	heads, counts := []string{"found by"}, map[string][]int{}
	for _, f := range finders {
		counts[f[0]] = make([]int, strings.Count(string(text), "\n## "))
	}
	for i, section := range strings.Split(string(text), "\n## ")[1:] {
		head, list, _ := strings.Cut(section, "\n")
		heads = append(heads, strings.ToLower(head))
		for _, line := range strings.Split(list, "\n- ")[1:] {
			found := bugLine.FindStringSubmatch(line)
			if found == nil || counts[found[1]] == nil {
				return "", fmt.Errorf("this doesn't begin with what found it: %s", line)
			}
			if strings.Contains(found[2], "-") {
				if _, err := mutants.Select(found[2]); err != nil {
					return "", fmt.Errorf("%s: %w", line, err)
				}
			}
			counts[found[1]][i]++
		}
	}
	var rows [][]string
	for _, f := range finders {
		rows = append(rows, append([]string{f[1]}, strings.Fields(strings.Trim(fmt.Sprint(counts[f[0]]), "[]"))...))
	}
	return table(strings.Join(heads, " | "), rows), nil
}
