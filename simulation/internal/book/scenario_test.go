package book_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

func init() {
	generators["story"] = story
	generators["ends"] = ends
	generators["verdicts"] = verdicts
}

// story plays a scenario with a design (and a seed, by default 1) and tells what happened, as
// `redlocksim run` does.
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

// ends plays scenarios with a few designs, and has a row for each scenario and a column
// for each design: words are the designs, separated by commas, and the scenarios.
func ends(words []string) (string, error) {
	if len(words) < 2 {
		return "", fmt.Errorf("want designs and scenarios, got %q", words)
	}
	names := strings.Split(words[0], ",")
	head := "scenario"
	for _, name := range names {
		head += " | `" + name + "`"
	}
	var rows [][]string
	for _, id := range words[1:] {
		s, err := scenarios.ByID(id)
		if err != nil {
			return "", err
		}
		row := []string{fmt.Sprintf("[%s](reference/scenarios.md#%s): %s", s.ID, strings.ToLower(s.ID), s.Title)}
		for _, name := range names {
			if _, known := s.Verdicts[name]; !known {
				row = append(row, "")
				continue
			}
			end, err := played(s, name)
			if err != nil {
				return "", err
			}
			row = append(row, strings.Replace(end, "nothing is violated", "holds", 1))
		}
		rows = append(rows, row)
	}
	return table(head, rows), nil
}

// played plays a scenario with a design, and returns how it ended.
func played(s scenarios.Scenario, design string) (string, error) {
	d, err := s.Design(design)
	if err != nil {
		return "", err
	}
	result, err := s.Play(1, d)
	if err != nil {
		return "", err
	}
	if err := s.Check(result, d); err != nil {
		return "", err
	}
	return ending(s, d), nil
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
			end, err := played(s, d.Name)
			if err != nil {
				return "", err
			}
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

// ending is the verdict that the run's check has confirmed.
func ending(s scenarios.Scenario, d designs.Design) string {
	v := s.Verdicts[d.Name]
	switch {
	case v.Safe() && slices.Contains(v.Never, "c1 acquired") && slices.Contains(v.Never, "c2 acquired"):
		return "nothing is violated: nobody gets the lock"
	case v.Safe():
		return "nothing is violated"
	case v.AtLeast > 0:
		return fmt.Sprintf("**%s**, in %.0f %% of the runs at least", v, 100*v.AtLeast)
	default:
		return "**" + v.String() + "**"
	}
}
