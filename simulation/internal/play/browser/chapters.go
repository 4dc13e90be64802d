package browser

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"path"
	"regexp"
	"slices"
	"strings"
)

const library = "github.com/redquorum/redlock"

// debate is the page of the documentation whose arguments are the chapters, below the module's folder.
const debate = "docs/debate.md"

// Chapter is an argument of the debate, as docs/debate.md has it.
type Chapter struct {
	ID    string `json:"id"` // the heading's anchor
	Title string `json:"title"`
	Right string `json:"right"` // who is right
	// HTML is what both sides say, and the verdict.
	HTML string `json:"html"`
	// Runs are those that the section plays, the first one first.
	Runs []ChapterRun `json:"runs"`
}

// ChapterRun is a run by name, see play.Setup.
type ChapterRun struct {
	Base   string `json:"base"`
	Design string `json:"design"`
	Seed   string `json:"seed"`
}

// below follows what a section announces with a colon: a command, whose run the page plays below the text.
const below = "see “Play” below."

// ErrDebate is wrapped by the error for a text without the form of docs/debate.md.
var ErrDebate = errors.New("browser: " + debate + " can't be read")

var (
	contentsRow = regexp.MustCompile(`(?m)^\| \[([^\]]+)\]\(#([^)]+)\) \| (.+) \|$`)
	notAnchor   = regexp.MustCompile(`[^a-z0-9 -]`)
	chapterRun  = regexp.MustCompile(`redlocksim run (\S+) -design (\S+)(?: -seed (\d+))?`)
	docs        = "https://" + library + "/blob/main/docs/"
	notProse    = regexp.MustCompile("(?m)^(?:```|\\||<|!\\[|#+ )")
	inline      = regexp.MustCompile("\\*\\*(.+?)\\*\\*|\\*(.+?)\\*|`([^`]+)`|\\[([^\\]]+)\\]\\(([^)]+)\\)|\\b([SX][0-9]+[a-z]?)\\b")
)

// Chapters reads the arguments from the text of docs/debate.md: those of its table of contents, in
// that order. A section begins with its claims, and the verdict begins with "**Verdict"; each ends
// where something other than prose follows. The runs are the commands that the section shows. The
// error Is ErrDebate if an argument lacks one of these.
func Chapters(text string) ([]Chapter, error) {
	sections := map[string]string{}
	for _, section := range strings.Split(text, "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		sections[anchor(title)] = body
	}
	var all []Chapter
	var ids []string
	rows := contentsRow.FindAllStringSubmatch(text, -1)
	for _, row := range rows {
		ids = append(ids, row[2])
	}
	for _, row := range rows {
		c := Chapter{ID: row[2], Title: row[1], Right: row[3], Runs: runs(sections[row[2]])}
		claims, verdict := c.read(sections[c.ID], ids)
		if claims == "" || verdict == "" || len(c.Runs) == 0 {
			return nil, fmt.Errorf("%w: section #%s has claims of %d letters, a verdict of %d and %d runs, want some of each", ErrDebate, c.ID, len(claims), len(verdict), len(c.Runs))
		}
		c.HTML = "<h3>What they say</h3>" + claims + "<h3>What the runs say</h3>" + verdict
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: it has no table of arguments", ErrDebate)
	}
	return all, nil
}

// anchor is a heading's anchor, as GitHub makes it.
func anchor(title string) string {
	return strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// runs returns the runs whose commands a section shows.
func runs(section string) (list []ChapterRun) {
	for _, m := range chapterRun.FindAllStringSubmatch(section, -1) {
		run := ChapterRun{Base: m[1], Design: m[2], Seed: cmp.Or(m[3], "0")}
		if !slices.ContainsFunc(list, func(r ChapterRun) bool { return r.Base == run.Base && r.Design == run.Design }) {
			list = append(list, run)
		}
	}
	return list
}

// read returns a section's claims and its verdict as HTML.
func (c *Chapter) read(section string, ids []string) (claims, verdict string) {
	part, inCode := &claims, false
	for _, paragraph := range strings.Split(section, "\n\n") {
		prose := !inCode && !notProse.MatchString(paragraph)
		inCode = inCode != (strings.Count(paragraph, "```")%2 == 1)
		switch {
		case prose && strings.HasPrefix(paragraph, "**Verdict"):
			part = &verdict
		case !prose && part == &verdict:
			return claims, verdict
		case !prose:
			part = nil
			if announced, ok := strings.CutSuffix(claims, ":</p>"); ok {
				claims = announced + ": " + below + "</p>"
			}
		}
		if part != nil {
			*part += c.htmlOf(paragraph, ids)
		}
	}
	return claims, verdict
}

// addressOf is the address to which a link leads: a scenario or a chapter of the page, of those with these
// IDs, or the documentation on the web, because the page is also where its files aren't.
func (c *Chapter) addressOf(link string, ids []string) string {
	file, section, _ := strings.Cut(link, "#")
	switch {
	case strings.HasPrefix(link, "http"):
		return link
	case file == "reference/scenarios.md" && section != "":
		return "#chapter=" + c.ID + "&amp;base=" + strings.ToUpper(section[:1]) + section[1:]
	case file == "" && slices.Contains(ids, section):
		return "#chapter=" + section
	case file == "":
		return docs + path.Base(debate) + link
	}
	return docs + link
}

// htmlOf makes HTML of a paragraph or of a list.
func (c *Chapter) htmlOf(text string, ids []string) string {
	text = html.EscapeString(strings.TrimSpace(text))
	if text == "" {
		return ""
	}
	list := strings.HasPrefix(text, "- ")
	if list {
		text = strings.ReplaceAll(strings.TrimPrefix(text, "- "), "\n- ", "</li><li>")
	}
	text = inline.ReplaceAllStringFunc(strings.Join(strings.Fields(text), " "), func(found string) string {
		m := inline.FindStringSubmatch(found)
		switch {
		case m[1] != "":
			return "<strong>" + m[1] + "</strong>"
		case m[2] != "":
			return "<em>" + m[2] + "</em>"
		case m[3] != "":
			return "<code>" + m[3] + "</code>"
		case m[6] != "":
			m[4], m[5] = m[6], "reference/scenarios.md#"+m[6]
		}
		return `<a href="` + c.addressOf(m[5], ids) + `" rel="noreferrer">` + m[4] + "</a>"
	})
	if list {
		return "<ul><li>" + text + "</li></ul>"
	}
	return "<p>" + text + "</p>"
}
