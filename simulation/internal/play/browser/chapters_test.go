package browser_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/play/browser"
)

func debate(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/debate.md")
	require.NoError(t, err)
	return string(text)
}

// plain is a chapter's text without its styles.
func plain(blocks []browser.Block) (all []string) {
	for _, b := range blocks {
		var text strings.Builder
		for _, s := range b.Spans {
			text.WriteString(s.Text)
		}
		all = append(all, text.String())
	}
	return all
}

// The chapters are the debate's arguments: nothing is left out of its table, all text is the
// debate's, no markup is left, and every run can be played.
func TestChapters(t *testing.T) {
	text := debate(t)
	chapters, err := browser.Chapters(text)
	require.NoError(t, err)
	assert.Len(t, chapters, 10)
	link := regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
	bare := strings.Join(strings.Fields(strings.NewReplacer("*", "", "`", "").Replace(link.ReplaceAllString(text, "$1"))), " ")
	for _, c := range chapters {
		assert.True(t, strings.HasPrefix(plain(c.Verdict)[0], "Verdict: "), c.ID)
		for _, paragraph := range append(plain(c.Claims), plain(c.Verdict)...) {
			assert.NotRegexp(t, "[*`\\[\\]]|^- ", paragraph)
			assert.True(t, strings.Contains(bare, paragraph), "%s: the debate doesn't say %s", c.ID, paragraph)
		}
		for _, r := range c.Runs {
			_, err := play.Play(play.Setup{Base: r.Base, Design: r.Design})
			require.NoError(t, err, c.ID)
		}
	}
	assert.Equal(t, browser.Chapter{ID: "1-a-holder-is-paused", Title: "A holder is paused", Right: "both: it breaks every lock that expires", Claims: chapters[1].Claims, Verdict: chapters[1].Verdict,
		Runs: []browser.ChapterRun{{Base: "S1", Design: "default", Seed: "1"}}}, chapters[1])
	first := chapters[1].Claims[0].Spans
	assert.Equal(t, browser.Span{Style: "em", Text: `Kleppmann, "Protecting a resource with a lock":`}, first[0])
	assert.Contains(t, chapters[1].Verdict[1].Spans[2].Href, "https://fpj.systems/")
	assert.True(t, chapters[1].Verdict[1].Item)
	assert.Equal(t, []browser.ChapterRun{{"S4", "redlock", "1"}, {"S4", "monitor", "1"}}, chapters[4].Runs)
	assert.Len(t, chapters[5].Claims, 3, "what follows the run isn't what they say")
	assert.Equal(t, []browser.ChapterRun{{"S6c", "redlock", "1"}}, chapters[5].Runs, "the section plays it twice")
}

// A change of the page's form is an error, not an empty chapter.
func TestChaptersThatCannotBeRead(t *testing.T) {
	text := debate(t)
	for what, broken := range map[string]string{
		"no table":   strings.ReplaceAll(text, "| [", "| "),
		"no section": strings.Replace(text, "## 7. Late packets", "## 7. Packets", 1),
		"no verdict": strings.Replace(text, "**Verdict: antirez is right.**", "antirez is right.", 1),
		"no run":     strings.ReplaceAll(text, "redlocksim run S2 ", "redlocksim play S2 "),
		"nothing":    "",
	} {
		require.NotEqual(t, text, broken, what)
		_, err := browser.Chapters(broken)
		require.ErrorIs(t, err, browser.ErrDebate, what)
	}
}
