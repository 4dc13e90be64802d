package browser

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/play"
)

// The chapters are the debate's arguments: none is left out, no markup is left, and every run can be played.
func TestChapters(t *testing.T) {
	file, err := os.ReadFile("../../../../docs/debate.md")
	require.NoError(t, err)
	text := string(file)
	all, err := chapters(text)
	require.NoError(t, err)
	assert.Len(t, all, 10)
	bare := strings.Join(strings.Fields(text), " ")
	for _, c := range all {
		assert.NotRegexp(t, "[*`\\[\\]]", c.Verdict)
		assert.Contains(t, bare, c.Verdict)
		for _, r := range c.Runs {
			_, err := play.Play(play.Setup{Base: r.Base, Design: r.Design})
			require.NoError(t, err, c.ID)
		}
	}
	assert.Equal(t, "1-a-holder-is-paused", all[1].ID)
	assert.Equal(t, "A holder is paused", all[1].Title)
	assert.Equal(t, "both: it breaks every lock that expires", all[1].Right)
	assert.Equal(t, []playedRun{{"S4", "redlock", "1"}, {"S4", "default", "1"}}, all[4].Runs)
	assert.Equal(t, []playedRun{{"S7", "redlock", "0"}, {"S7", "default", "0"}}, all[6].Runs)

	// A change of the page's form is an error, not an empty chapter.
	for says, broken := range map[string]string{
		"no table":                 strings.ReplaceAll(text, "| [", "| "),
		"#7-late-packets with a":   strings.Replace(text, "## 7. Late packets", "## 7. Packets", 1),
		"#7-late-packets with a *": strings.Replace(text, "**Verdict: A late reply", "**A late reply", 1),
		"and a command":            strings.ReplaceAll(text, "redlocksim run S2 ", "redlocksim play S2 "),
	} {
		_, err := chapters(broken)
		require.ErrorContains(t, err, says)
	}
}
