package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
	// Claims is what both sides say, and Verdict what this library's authors say.
	Claims  []Block `json:"claims"`
	Verdict []Block `json:"verdict"`
	// Runs are those that the section plays, the first one first.
	Runs []ChapterRun `json:"runs"`
}

// Block is a paragraph, or an item of a list.
type Block struct {
	Item  bool   `json:"item"`
	Spans []Span `json:"spans"`
}

// Span is a piece of text in one style: "" is plain, "em", "strong", "code", or "link" with Href.
type Span struct {
	Style string `json:"style"`
	Text  string `json:"text"`
	Href  string `json:"href,omitempty"`
}

// ChapterRun is a run by name, see play.Setup.
type ChapterRun struct {
	Base   string `json:"base"`
	Design string `json:"design"`
	Seed   string `json:"seed"`
}

// ErrDebate is wrapped by the error for a text without the form of docs/debate.md.
var ErrDebate = errors.New("browser: " + debate + " can't be read")

var (
	contentsRow = regexp.MustCompile(`(?m)^\| \[([^\]]+)\]\(#([^)]+)\) \| (.+) \|$`)
	heading     = regexp.MustCompile(`(?m)^## (.+)\n`)
	notAnchor   = regexp.MustCompile(`[^a-z0-9 -]`)
	chapterRun  = regexp.MustCompile(`redlocksim run (\S+) -design (\S+)(?: -seed (\d+))?`)
	notProse    = regexp.MustCompile("(?m)^(?:```|\\||<|!\\[|#+ )")
	inline      = regexp.MustCompile("\\*\\*(.+?)\\*\\*|\\*(.+?)\\*|`([^`]+)`|\\[([^\\]]+)\\]\\(([^)]+)\\)")
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
	for _, row := range contentsRow.FindAllStringSubmatch(text, -1) {
		c := Chapter{ID: row[2], Title: row[1], Right: row[3]}
		c.read(sections[c.ID])
		if len(c.Claims) == 0 || len(c.Verdict) == 0 || len(c.Runs) == 0 {
			return nil, fmt.Errorf("%w: section #%s has %d paragraphs of claims, %d of a verdict and %d runs, want some of each", ErrDebate, c.ID, len(c.Claims), len(c.Verdict), len(c.Runs))
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

func (c *Chapter) read(section string) {
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
		case verdict || inVerdict:
			inVerdict = true
			c.Verdict = append(c.Verdict, blocks(paragraph)...)
		case inClaims:
			c.Claims = append(c.Claims, blocks(paragraph)...)
		}
	}
}

// blocks reads a paragraph, or a list.
func blocks(text string) []Block {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	if !strings.HasPrefix(text, "- ") {
		return []Block{{Spans: spans(text)}}
	}
	var all []Block
	for _, item := range strings.Split("\n"+text, "\n- ")[1:] {
		all = append(all, Block{Item: true, Spans: spans(item)})
	}
	return all
}

// spans reads a paragraph's text. Of a link inside the documentation only the text is kept, because
// the page is also where the documentation isn't.
func spans(text string) []Span {
	text = strings.Join(strings.Fields(text), " ")
	var all []Span
	add := func(s Span) {
		switch {
		case s.Text == "":
		case s.Style == "" && len(all) > 0 && all[len(all)-1].Style == "":
			all[len(all)-1].Text += s.Text
		default:
			all = append(all, s)
		}
	}
	end := 0
	for _, m := range inline.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		add(Span{Text: text[end:m[0]]})
		end = m[1]
		add(Span{Style: "strong", Text: group(1)})
		add(Span{Style: "em", Text: group(2)})
		add(Span{Style: "code", Text: group(3)})
		if href := group(5); strings.HasPrefix(href, "https://") || strings.HasPrefix(href, "http://") {
			add(Span{Style: "link", Text: group(4), Href: href})
		} else {
			add(Span{Text: group(4)})
		}
	}
	add(Span{Text: text[end:]})
	return all
}
