package book_test

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

func init() {
	generators["story"] = story
	generators["steps"] = steps
	generators["verdicts"] = verdicts
	generators["designs"] = designTable
}

// story plays a scenario with a design (and a seed, 1 if none is given) and tells
// what happened, as `redlocksim run` does.
func story(words []string) (string, error) {
	if len(words) < 2 || len(words) > 3 {
		return "", fmt.Errorf("want a scenario, a design and perhaps a seed, got %q", words)
	}
	seed := uint64(1)
	if len(words) == 3 {
		var err error
		if seed, err = strconv.ParseUint(words[2], 10, 64); err != nil {
			return "", err
		}
	}
	s, err := scenarios.ByID(words[0])
	if err != nil {
		return "", err
	}
	d, err := s.Design(words[1])
	if err != nil {
		return "", err
	}
	result, err := s.Play(seed, d)
	if err != nil {
		return "", err
	}
	if err := s.Check(result, d); err != nil {
		return "", err
	}
	var text bytes.Buffer
	title := fmt.Sprintf("$ go run ./simulation/cmd/redlocksim run %s -design %s -seed %d", s.ID, d.Name, seed)
	if err := timeline.Of(result.Log).Text(&text, timeline.TextOptions{Title: title}); err != nil {
		return "", err
	}
	return "```text\n" + text.String() + "```", nil
}

// steps describes scenarios: what happens in them, what breaks, what helps, and
// who said so.
func steps(words []string) (string, error) {
	var b strings.Builder
	for _, id := range words {
		s, err := scenarios.ByID(id)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "**%s: %s.** Taken for granted: %s. Broken by that: %s. What helps: %s.\n\n", s.ID, s.Title, s.Assumption, s.Breaks, s.Helps)
		for i, step := range s.Steps {
			fmt.Fprintf(&b, "%d. %s\n", i+1, step)
		}
		fmt.Fprintf(&b, "\nSource: %s.\n\n", strings.TrimSuffix(s.Source, "."))
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// verdicts plays scenarios with every design that they have a verdict for, and
// tabulates how they ended.
func verdicts(words []string) (string, error) {
	if len(words) == 0 {
		return "", errors.New("want scenarios")
	}
	var rows [][]string
	for _, id := range words {
		s, err := scenarios.ByID(id)
		if err != nil {
			return "", err
		}
		var endings []string
		by := map[string][]string{}
		for _, d := range s.Designs() {
			result, err := s.Play(1, d)
			if err != nil {
				return "", err
			}
			if err := s.Check(result, d); err != nil {
				return "", err
			}
			end := ending(s, d)
			if by[end] == nil {
				endings = append(endings, end)
			}
			by[end] = append(by[end], "`"+d.Name+"`")
		}
		for _, end := range endings {
			rows = append(rows, []string{s.ID + ": " + s.Title, end, strings.Join(by[end], ", ")})
		}
	}
	return table("scenario | how it ends | for these designs", rows), nil
}

// ending is what the run's check has just held the verdict to.
func ending(s scenarios.Scenario, d designs.Design) string {
	v := s.Verdicts[d.Name]
	switch {
	case v.Safe():
		return "nothing is violated"
	case v.AtLeast > 0:
		return fmt.Sprintf("**%s**, in %.0f %% of the runs at least", v, 100*v.AtLeast)
	default:
		return "**" + v.String() + "**"
	}
}

// designTable describes designs.
func designTable(words []string) (string, error) {
	var rows [][]string
	for _, name := range words {
		d, err := designs.ByName(name)
		if err != nil {
			return "", err
		}
		rows = append(rows, []string{"`" + d.Name + "`", d.Title, d.Promises, d.Breaks, d.Source})
	}
	return table("design | what it is | what its users expect | what breaks it | taught by", rows), nil
}
