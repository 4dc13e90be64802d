package book_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

func init() {
	generators["picture"] = picture
	for _, name := range stories {
		words := strings.Fields(name)
		generatedFiles[storyFile(words)] = func() ([]byte, error) { return storyPicture(words) }
	}
	generators["ends"] = ends
}

// stories are the runs that pages tell, each with a picture.
var stories = []string{"S1 default", "S1 token-admit", "S2 default", "S3 default", "S4 redlock", "S4 default", "S6c redlock"}

// storySeed is the seed of all stories.
const storySeed = 1

// tell plays a scenario with a design, and checks how it ends.
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

// picture shows a run, with the command that tells its steps.
func picture(words []string) (string, error) {
	if !slices.Contains(stories, strings.Join(words, " ")) {
		return "", fmt.Errorf("there is no picture of %q: add it to stories", words)
	}
	s, d, _, err := tell(words)
	return fmt.Sprintf("![%s, with %s](%s)\n\n```sh\ngo run ./simulation/cmd/redlocksim run %s -design %s -seed %d\n```",
		s.Title, d.Name, storyFile(words), s.ID, d.Name, storySeed), err
}

func storyPicture(words []string) ([]byte, error) {
	s, d, tl, err := tell(words)
	if err != nil {
		return nil, err
	}
	c := drawing.Canvas{Title: s.ID + " with " + d.Name}
	tl.Draw(&c)
	var svg bytes.Buffer
	err = c.SVG(&svg)
	return svg.Bytes(), err
}

// ends plays scenarios with a few designs, and has a row for each scenario and a column
// for each design: words are the designs, separated by commas, and the scenarios.
func ends(words []string) (string, error) {
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
				_, d, _, err := tell([]string{id, name})
				if err != nil {
					return "", err
				}
				cell = holds(s, d)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return table("scenario | `"+strings.Join(names, "` | `")+"`", rows), nil
}

// holds is the verdict that a run's check has confirmed, in a cell.
func holds(s scenarios.Scenario, d designs.Design) string {
	v := s.Verdicts[d.Name]
	switch {
	case v.Safe() && slices.Contains(v.Never, "c1 acquired") && slices.Contains(v.Never, "c2 acquired"):
		return "holds: nobody gets the lock"
	case v.Safe():
		return "holds"
	}
	return "**" + v.String() + "**"
}
