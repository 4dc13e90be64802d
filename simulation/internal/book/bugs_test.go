package book_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

func init() {
	generators["bugs"] = func([]string) (string, error) { return bugCounts() }
}

// finders are what found bugs, as the list's lines begin, and in the words of the table.
var finders = [][2]string{
	{"reader", "readers of the code"},
	{"simulation", "the simulation, the matrix, random faults, model checking, mutants"},
	{"virtual time", "programs in virtual time"},
	{"real servers", "programs on real servers and databases"},
	{"program", "other programs"},
	{"tests", "tests, and a measurement"},
}

// bugCounts counts the lines of the list of bugs, by what found them.
func bugCounts() (string, error) {
	text, err := os.ReadFile("reference/bugs.md")
	if err != nil {
		return "", err
	}
	left := strings.Count(string(text), "\n- ")
	var rows [][]string
	for _, f := range finders {
		n := strings.Count(string(text), "\n- "+f[0]+":") + strings.Count(string(text), "\n- "+f[0]+", ")
		rows = append(rows, []string{f[1], strconv.Itoa(n)})
		left -= n
	}
	if left != 0 {
		return "", fmt.Errorf("%d lines begin with none of %q, which found the bug", left, finders)
	}
	return table("found by | bugs", rows), nil
}
