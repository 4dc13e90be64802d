package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// debate is the page of the documentation whose arguments are the chapters, in the module's folder.
const debate = "docs/debate.md"

// Chapter is an argument of the debate, as docs/debate.md has it.
type Chapter struct {
	ID    string `json:"id"` // the heading's anchor
	Title string `json:"title"`
	Right string `json:"right"` // who is right
	// Claims is what both sides say, and Verdict what this library's authors say, as HTML.
	Claims  string `json:"claims"`
	Verdict string `json:"verdict"`
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
	heading     = regexp.MustCompile(`(?m)^## (.+)\n`)
	notAnchor   = regexp.MustCompile(`[^a-z0-9 -]`)
	chapterRun  = regexp.MustCompile(`redlocksim run (\S+) -design (\S+)(?: -seed (\d+))?`)
	docs        = "https://" + library + "/blob/main/docs/"
	notProse    = regexp.MustCompile("(?m)^(?:```|\\||<|!\\[|#+ )")
	inline      = regexp.MustCompile("\\*\\*(.+?)\\*\\*|\\*(.+?)\\*|`([^`]+)`|\\[([^\\]]+)\\]\\(([^)]+)\\)|\\b([SX][0-9]+[a-z]?)\\b|\\bargument ([0-9])\\b")
)

// Chapters reads the arguments from the text of docs/debate.md: those of its table of contents, in
// that order. A section begins with its claims, and the verdict begins with "**Verdict"; each ends
// where something other than prose follows. The runs are the commands that the section shows. The
// error Is ErrDebate if an argument lacks one of these.
func Chapters(text string) ([]Chapter, error) {
	sections := map[string]string{}
	at := heading.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		sections[anchor(text[m[2]:m[3]])] = text[m[1]:end]
	}
	var all []Chapter
	ids := []string{}
	for _, row := range contentsRow.FindAllStringSubmatch(text, -1) {
		ids = append(ids, row[2])
	}
	for _, row := range contentsRow.FindAllStringSubmatch(text, -1) {
		c := Chapter{ID: row[2], Title: row[1], Right: row[3]}
		c.read(sections[c.ID], ids)
		if c.Claims == "" || c.Verdict == "" || len(c.Runs) == 0 {
			return nil, fmt.Errorf("%w: section #%s has claims of %d letters, a verdict of %d and %d runs, want some of each", ErrDebate, c.ID, len(c.Claims), len(c.Verdict), len(c.Runs))
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: it has no table of arguments", ErrDebate)
	}
	return all, nil
}

// chapters returns the chapters of the module in this folder, as JSON.
func chapters(source string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(debate)))
	if err != nil {
		return nil, err
	}
	all, err := Chapters(string(text))
	if err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// anchor is a heading's anchor, as GitHub makes it.
func anchor(title string) string {
	return strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

func (c *Chapter) read(section string, ids []string) {
	for _, m := range chapterRun.FindAllStringSubmatch(section, -1) {
		run := ChapterRun{Base: m[1], Design: m[2], Seed: "0"}
		if m[3] != "" {
			run.Seed = m[3]
		}
		if !slices.ContainsFunc(c.Runs, func(r ChapterRun) bool { return r.Base == run.Base && r.Design == run.Design }) {
			c.Runs = append(c.Runs, run)
		}
	}
	inCode, inClaims, inVerdict := false, true, false
	for _, paragraph := range strings.Split(section, "\n\n") {
		fences := strings.Count(paragraph, "```")
		prose := !inCode && !notProse.MatchString(paragraph)
		inCode = inCode != (fences%2 == 1)
		verdict := strings.HasPrefix(paragraph, "**Verdict")
		switch {
		case inVerdict && !prose:
			return
		case !prose:
			inClaims = false
			if announced, ok := strings.CutSuffix(c.Claims, ":</p>"); ok {
				c.Claims = announced + ": " + below + "</p>"
			}
		case verdict || inVerdict:
			inVerdict = true
			c.Verdict += c.htmlOf(paragraph, ids)
		case inClaims:
			c.Claims += c.htmlOf(paragraph, ids)
		}
	}
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
		case m[7] != "":
			at := slices.IndexFunc(ids, func(id string) bool { return strings.HasPrefix(id, m[7]+"-") })
			if at < 0 {
				return found
			}
			m[4], m[5] = found, "#"+ids[at]
		}
		return `<a href="` + c.addressOf(m[5], ids) + `" rel="noreferrer">` + m[4] + "</a>"
	})
	if list {
		return "<ul><li>" + text + "</li></ul>"
	}
	return "<p>" + text + "</p>"
}
