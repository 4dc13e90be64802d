package book_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	generators["sources"] = func([]string) (string, error) { return sourceTable() }
}

// quotesFile has what debate.md quotes. To add a quote, copy it from its source, and add it here
// with that source.
const quotesFile = "testdata/quotes.json"

// quotedSource is a source that debate.md quotes.
type quotedSource struct {
	Author  string `json:"author"`
	Title   string `json:"title"`
	Date    string `json:"date"`
	Address string `json:"address"`
	// Read is the part of it that was read.
	Read string `json:"read"`
	// Sections are the titles of its sections that are named, and Quotes its verbatim quotes.
	Sections []string `json:"sections,omitempty"`
	Quotes   []string `json:"quotes,omitempty"`
}

func readQuotes() ([]quotedSource, error) { return readRecorded[[]quotedSource](quotesFile) }

func sourceTable() (string, error) {
	sources, err := readQuotes()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, s := range sources {
		rows = append(rows, []string{s.Author, fmt.Sprintf("[%s](%s)", s.Title, s.Address), s.Date, s.Read})
	}
	return table("author | title | date | what of it was read", rows), nil
}

var quotation = regexp.MustCompile(`"([^"]+)"`)

// quotations lists the text in quotation marks on a page, without the generated parts and the code.
func quotations(page string) []string {
	page = withoutCode(generatedPart.ReplaceAllString(page, ""))
	var all []string
	for _, found := range quotation.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.Join(strings.Fields(found[1]), " "))
	}
	return all
}

// A paraphrase in quotation marks misquotes its author. So all text in quotation marks is in the
// list of quotes from the sources.
func TestDebateQuotesItsSources(t *testing.T) {
	page, err := os.ReadFile("debate.md")
	require.NoError(t, err)
	sources, err := readQuotes()
	require.NoError(t, err)
	var known []string
	for _, s := range sources {
		known = slices.Concat(known, []string{s.Title}, s.Sections, s.Quotes)
	}
	onPage := quotations(string(page))
	require.Greater(t, len(onPage), 50)
	for _, quote := range onPage {
		assert.Contains(t, known, strings.TrimSuffix(quote, ","), "debate.md quotes what is in no source in %s", quotesFile)
	}
	for _, s := range sources {
		for _, quote := range slices.Concat(s.Sections, s.Quotes) {
			assert.Contains(t, onPage, quote, "debate.md doesn't quote this of %q any more: take it out of %s", s.Title, quotesFile)
		}
	}
}
