package book_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

func init() {
	generators["story"] = story
	for _, name := range stories {
		words := strings.Fields(name)
		generatedFiles[storyFile(words)] = func() ([]byte, error) { return storyPicture(words) }
	}
	generators["ends"] = ends
	generators["verdicts"] = verdicts
}

// stories are the runs that pages tell, each with a picture.
var stories = []string{"S1 default", "S1 token-admit", "S2 default", "S3 default", "S4 redlock", "S4 monitor", "S6c redlock"}

// storySeed is the seed of all stories.
const storySeed = 1

// tell plays a scenario with a design.
func tell(words []string) (s scenarios.Scenario, d designs.Design, tl *timeline.Timeline, err error) {
	if s, err = scenarios.ByID(words[0]); err != nil {
		return s, d, nil, err
	}
	if d, err = s.Design(words[1]); err != nil {
		return s, d, nil, err
	}
	result, err := s.Play(storySeed, d)
	if err != nil {
		return s, d, nil, err
	}
	return s, d, timeline.Of(result.Log), s.Check(result, d)
}

// storyFile is the name of a story's picture.
func storyFile(words []string) string {
	return "figures/" + strings.ToLower(strings.Join(words, "-")) + ".svg"
}

// story shows a run as a picture, and behind it what happened, as `redlocksim run` tells it.
func story(words []string) (string, error) {
	if !slices.Contains(stories, strings.Join(words, " ")) {
		return "", fmt.Errorf("there is no picture of %q: add it to stories", words)
	}
	s, d, tl, err := tell(words)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	title := fmt.Sprintf("$ go run ./simulation/cmd/redlocksim run %s -design %s -seed %d", s.ID, d.Name, storySeed)
	if err := tl.Text(&text, title); err != nil {
		return "", err
	}
	return fmt.Sprintf("![%s, with %s; the steps are below](%s)\n\n<details>\n<summary>Step by step</summary>\n\n```text\n%s```\n\n</details>", s.Title, d.Name, storyFile(words), text.String()), nil
}

func storyPicture(words []string) ([]byte, error) {
	s, d, tl, err := tell(words)
	if err != nil {
		return nil, err
	}
	c := drawing.Canvas{Title: s.ID + " with " + d.Name}
	tl.Small(&c, "")
	var svg bytes.Buffer
	err = c.SVG(&svg)
	return svg.Bytes(), err
}

// ends plays scenarios with a few designs, and has a row for each scenario and a column
// for each design: words are the designs, separated by commas, and the scenarios.
func ends(words []string) (string, error) {
	if len(words) < 2 {
		return "", fmt.Errorf("want designs and scenarios, got %q", words)
	}
	names := strings.Split(words[0], ",")
	var rows [][]string
	for _, id := range words[1:] {
		s, err := scenarios.ByID(id)
		if err != nil {
			return "", err
		}
		row := []string{fmt.Sprintf("[%s](reference/scenarios.md#%s): %s", s.ID, strings.ToLower(s.ID), s.Title)}
		for _, name := range names {
			cell := ""
			if _, known := s.Verdicts[name]; known {
				if _, err := played(s, name); err != nil {
					return "", err
				}
				cell = holds(s, designs.Design{Name: name})
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return table("scenario | `"+strings.Join(names, "` | `")+"`", rows), nil
}

// holds is an ending in a cell.
func holds(s scenarios.Scenario, d designs.Design) string {
	return strings.Replace(ending(s, d), "nothing is violated", "holds", 1)
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
