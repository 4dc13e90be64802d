package browser_test

import (
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/play/browser"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

func debate(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/debate.md")
	require.NoError(t, err)
	return string(text)
}

// plain is the paragraphs of a chapter's text without its styles.
func plain(text string) (all []string) {
	for _, block := range regexp.MustCompile(`(?s)<(?:p|li)>(.*?)</(?:p|li)>`).FindAllStringSubmatch(text, -1) {
		all = append(all, html.UnescapeString(regexp.MustCompile(`<[^>]+>`).ReplaceAllString(block[1], "")))
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
		assert.Contains(t, c.HTML, "<h3>What the runs say</h3><p><strong>Verdict: ", c.ID)
		assert.Contains(t, c.HTML, "<em>What would change this verdict:</em>", c.ID)
		for _, link := range regexp.MustCompile(`href="#chapter=([^"&]+)(?:&amp;base=(\w+))?"`).FindAllStringSubmatch(c.HTML, -1) {
			assert.True(t, slices.ContainsFunc(chapters, func(c browser.Chapter) bool { return c.ID == link[1] }), link[0])
			if link[2] != "" {
				_, err := scenarios.ByID(link[2])
				require.NoError(t, err)
			}
		}
		for _, file := range regexp.MustCompile(`blob/main/(docs/[^"#]+)`).FindAllStringSubmatch(c.HTML, -1) {
			assert.FileExists(t, "../../../../"+file[1])
		}
		assert.NotContains(t, c.HTML, ":</p><h3>", "it announces nothing")
		for _, paragraph := range plain(c.HTML) {
			paragraph = strings.TrimSuffix(paragraph, " see “Play” below.")
			assert.NotRegexp(t, "[*`\\[\\]]|^- ", paragraph)
			assert.True(t, strings.Contains(bare, paragraph), "%s: the debate doesn't say %s", c.ID, paragraph)
		}
		for _, r := range c.Runs {
			_, err := play.Play(play.Setup{Base: r.Base, Design: r.Design})
			require.NoError(t, err, c.ID)
		}
	}
	assert.Equal(t, browser.Chapter{ID: "1-a-holder-is-paused", Title: "A holder is paused", Right: "both: it breaks every lock that expires", HTML: chapters[1].HTML,
		Runs: []browser.ChapterRun{{Base: "S1", Design: "default", Seed: "1"}}}, chapters[1])
	for i, parts := range map[int][]string{
		0: {"during a failure: see “Play” below.</p>"},
		1: {`<h3>What they say</h3><p><em>Kleppmann, &#34;Protecting a resource with a lock&#34;:</em>`, `</p><ul><li><em>ZooKeeper.</em>`, `<a href="https://fpj.systems/`},
		2: {`(<a href="#chapter=2-redlock-has-no-fencing-tokens&amp;base=S22" rel="noreferrer">S22</a>)`},
		5: {`docs/settings.md#choose-the-drift-allowance`},
	} {
		for _, part := range parts {
			assert.Contains(t, chapters[i].HTML, part)
		}
	}
	assert.Equal(t, []browser.ChapterRun{{"S4", "redlock", "1"}, {"S4", "default", "1"}}, chapters[4].Runs)
	claims, _, _ := strings.Cut(chapters[5].HTML, "<h3>What the runs")
	assert.Len(t, plain(claims), 3, "what follows the run isn't what they say")
	assert.Equal(t, []browser.ChapterRun{{"S7", "redlock", "0"}, {"S7", "default", "0"}}, chapters[6].Runs)
}

// A change of the page's form is an error, not an empty chapter.
func TestChaptersThatCannotBeRead(t *testing.T) {
	text := debate(t)
	for what, broken := range map[string]string{
		"no table":   strings.ReplaceAll(text, "| [", "| "),
		"no section": strings.Replace(text, "## 7. Late packets", "## 7. Packets", 1),
		"no verdict": strings.Replace(text, "**Verdict: A late reply", "**A late reply", 1),
		"no run":     strings.ReplaceAll(text, "redlocksim run S2 ", "redlocksim play S2 "),
		"nothing":    "",
	} {
		require.NotEqual(t, text, broken, what)
		_, err := browser.Chapters(broken)
		require.ErrorIs(t, err, browser.ErrDebate, what)
	}
}
