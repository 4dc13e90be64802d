package browser

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/play"
)

// The chapters are the arguments of docs/debate.md, in its words, with its commands, which can be played.
func TestChapters(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/debate.md")
	require.NoError(t, err)
	script, err := embedded.ReadFile("files/chapters.js")
	require.NoError(t, err)
	_, list, _ := strings.Cut(strings.TrimSuffix(string(script), ";\n"), "chapters = ")
	var chapters []struct {
		ID, Title, Right, Verdict string
		Runs                      []struct{ Base, Design, Seed string }
	}
	require.NoError(t, json.Unmarshal([]byte(list), &chapters))
	table, sections := "| --- | --- |\n", strings.Split(string(page), "\n## ")[1:]
	for i, c := range chapters {
		table += "| [" + c.Title + "](#" + c.ID + ") | " + c.Right + " |\n"
		assert.Contains(t, strings.Join(strings.Fields(sections[i]), " "), "**Verdict: "+c.Verdict+"**")
		commands := regexp.MustCompile(`redlocksim run .*`).FindAllString(sections[i], -1)
		require.Len(t, c.Runs, len(commands), c.Title)
		for j, r := range c.Runs {
			assert.Equal(t, strings.TrimSuffix("redlocksim run "+r.Base+" -design "+r.Design+" -seed "+r.Seed, " -seed 0"), commands[j])
			_, err := play.Play(play.Setup{Base: r.Base, Design: r.Design})
			require.NoError(t, err, c.Title)
		}
	}
	assert.Contains(t, string(page), table+"\n")
}
