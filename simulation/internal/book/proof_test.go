package book_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/mutants"
)

// ways are the rows of the page's tables, in their order.
var ways = []string{"argument", "all states", "every order", "search", "mutants", "real servers", "nothing"}

// Every promise of package quorum has a table, which says of each way what it shows, and where. So no
// promise and no way is left out.
func TestEveryPromiseSaysHowItIsShown(t *testing.T) {
	text, err := os.ReadFile("proof.md")
	require.NoError(t, err)
	promises, err := numberedItems("quorum", "guaranteed")
	require.NoError(t, err)
	var titles []string
	for _, promise := range promises {
		name, _, _ := strings.Cut(promise, ".")
		titles = append(titles, name)
	}
	sections := strings.Split(string(text), "\n## ")[1:]
	require.Greater(t, len(sections), len(titles))
	for i, section := range sections[:len(titles)] {
		title, body, _ := strings.Cut(section, "\n")
		assert.Equal(t, titles[i], title, "promises are in the order of quorum/doc.go")
		var rows []string
		for line := range strings.Lines(body) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| shown by") || strings.HasPrefix(line, "| ---") {
				continue
			}
			way := strings.TrimSpace(cells[0])
			rows = append(rows, way)
			require.Len(t, cells, 3, "%s, %s", title, way)
			what, where := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
			assert.NotEmpty(t, what, "%s, %s", title, way)
			if way != "nothing" && !strings.HasPrefix(what, "nothing") {
				assert.Contains(t, where, "](", "%s, %s: where?", title, way)
			}
		}
		assert.Equal(t, ways, rows, title)
	}
}

// Each group of mutants belongs to a promise.
func TestEveryGroupOfMutantsBelongsToAPromise(t *testing.T) {
	text, err := os.ReadFile("proof.md")
	require.NoError(t, err)
	for _, group := range mutants.Groups() {
		anchor := strings.ToLower(regexp.MustCompile(`[^A-Za-z -]`).ReplaceAllString(group.Title, ""))
		link := "(reference/lines.md#" + strings.ReplaceAll(anchor, " ", "-") + ")"
		assert.Equal(t, 1, strings.Count(string(text), link), "%s: want one link %s", group.Title, link)
	}
}
