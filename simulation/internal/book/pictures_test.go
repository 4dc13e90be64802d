package book_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// stories are the runs that pages tell, each with a picture.
var stories = []string{"S1 default", "S1 token-admit", "S2 default", "S3 default", "S4 redlock", "S4 default", "S6c redlock"}

// storySeed is the seed of all stories.
const storySeed = 1

func TestPictures(t *testing.T) {
	pictures := map[string]func(*testing.T) drawing.Canvas{"figures/matrix.svg": heatMap, "figures/token.svg": tokenPicture}
	for _, story := range stories {
		pictures[storyFile(story)] = func(t *testing.T) drawing.Canvas {
			s, d := told(t, story)
			c := drawing.Canvas{Title: s.ID + " with " + d.Name}
			tell(t, s, d).Draw(&c)
			return c
		}
	}
	for file, draw := range pictures {
		t.Run(file, func(t *testing.T) {
			c := draw(t)
			var svg bytes.Buffer
			require.NoError(t, c.SVG(&svg))
			keep(t, file, svg.Bytes())
		})
	}
}

// told is the scenario and the design of a story.
func told(t *testing.T, story string) (scenarios.Scenario, designs.Design) {
	t.Helper()
	id, design, _ := strings.Cut(story, " ")
	s, err := scenarios.ByID(id)
	require.NoError(t, err)
	d, err := s.Design(design)
	require.NoError(t, err)
	return s, d
}

// tell plays a scenario with a design, and checks how it ends.
func tell(t *testing.T, s scenarios.Scenario, d designs.Design) *timeline.Timeline {
	t.Helper()
	result, err := s.Play(storySeed, d)
	require.NoError(t, err)
	require.NoError(t, s.Check(result, d))
	return timeline.Of(result.Log)
}

// storyFile is the name of a story's picture.
func storyFile(story string) string {
	return "figures/" + strings.ToLower(strings.ReplaceAll(story, " ", "-")) + ".svg"
}

// picture shows a run, with the command that tells its steps: words are a scenario and a design.
func picture(t *testing.T, words []string) string {
	story := strings.Join(words, " ")
	require.Contains(t, stories, story, "there is no picture of it")
	s, d := told(t, story)
	return fmt.Sprintf("![%s, with %s](%s)\n\n```sh\n%s run %s -design %s -seed %d\n```", s.Title, d.Name, storyFile(story), runCommand, s.ID, d.Name, storySeed)
}

// tokenPicture is the README's: the same pause without and with a token check.
func tokenPicture(t *testing.T) drawing.Canvas {
	c := drawing.Canvas{Title: "The holder is paused for longer than its lease, wakes up, and writes: no lock that expires can prevent that, but a resource that checks the lock's token refuses the write."}
	for _, run := range []struct{ story, title string }{
		{"S1 default", "No token check: c2's update is lost"},
		{"S1 token-admit", "Token check: the late write is refused"},
	} {
		if c.Height > 0 {
			c.Height += 18
		}
		c.Height += 17
		c.Text("h", 0, c.Height-3, run.title)
		c.Desc += " " + run.title
		s, d := told(t, run.story)
		tell(t, s, d).Draw(&c)
	}
	return c
}

// heatColumns are the designs of the heat map, with the words above them.
var heatColumns = []struct{ design, above, below string }{
	{"setnx", "SETNX", ""},
	{"setpx-cad", "one", "Redis"},
	{"replica-async", "and a", "replica"},
	{"redlock", "plain", "Redlock"},
	{"default", "this", "library"},
	{"token-admit", "token", "seen"},
	{"idempotent", "writes", "known"},
}

// heatGroups are the headings above the faults that begin a group.
var heatGroups = map[string]string{
	"slow": "the client's process and clocks", "step-server": "the servers' clocks and memory", "hang": "the way between them",
	"delay-write": "the way to the resource, and any of these",
}

// heatMap draws the matrix for a few designs: a row for each fault, in groups.
func heatMap(t *testing.T) drawing.Canvas {
	const left, width, height = 112, 45.0, 22.0 // where the cells begin, and their size
	r := recorded(t)
	p := drawing.Canvas{Title: "How often each lock breaks", Desc: fmt.Sprintf("Runs with a violation, of %d, for each fault and each lock.", r.Seeds), Width: 430}
	for i, c := range heatColumns {
		x := left + width*(float64(i)+0.5)
		p.Text("m", x, 18, c.above)
		p.Text("m", x, 33, c.below)
	}
	y := 40.0
	for _, f := range r.Matrix.Faults {
		if group := heatGroups[f.Name]; group != "" {
			p.Text("n", 8, y+19, group)
			y += height + 4
		}
		p.Text("e", left-8, y+15, f.Name)
		for i, c := range heatColumns {
			cell := r.cell(c.design, f.Name)
			require.NotZero(t, cell.Runs, "the matrix has no cell of %q under %q", c.design, f.Name)
			x := left + width*float64(i)
			p.Box(heat(cell), x+1, y+1, width-2, height-2)
			p.Text("m", x+width/2, y+15, fmt.Sprintf("%.0f", 100*cell.Rate()))
		}
		y += height
	}
	p.Height = y + 8
	return p
}

// heat is the colour of a cell: no violation, in up to a tenth of the runs, in more.
func heat(c report.Cell) string {
	switch {
	case c.Violated == 0:
		return "yes"
	case c.Rate() <= 0.1:
		return "wait"
	default:
		return "no"
	}
}
