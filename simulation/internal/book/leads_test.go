package book_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// order is the reading order of the pages, and their order on the map. Pages that aren't listed are
// for reference.
var order = []string{
	"getting-started.md", "choosing.md", "using.md", "fencing.md", "testing.md", "migrating.md", "deploying.md", "running.md",
	"troubleshooting.md", "settings.md", "guarantees.md", "debate.md", "evidence.md",
}

// Every page leads to the next one and to the map. It has one title, and first says for whom it is.
func TestEveryPageLeadsOn(t *testing.T) {
	for i, page := range order {
		last := lastParagraph(t, page)
		assert.Contains(t, last, "](README.md)", "%s doesn't end with the map", page)
		if i+1 < len(order) {
			assert.Contains(t, last, "]("+order[i+1]+")", "%s doesn't end with the next page", page)
		}
	}
	for _, page := range append(pagesIn(t, "."), pagesIn(t, "reference")...) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		titles := regexp.MustCompile(`(?m)^# .*$`).FindAllString(withoutCode(string(text)), -1)
		assert.Len(t, titles, 1, "%s has %d titles", page, len(titles))
		assert.True(t, strings.HasPrefix(string(text), "# "), "%s doesn't begin with its title", page)
		if page == "README.md" {
			continue
		}
		up := "](README.md)"
		if filepath.Dir(page) != "." {
			up = "](../README.md)"
		}
		assert.Contains(t, lastParagraph(t, page), up, "%s doesn't end with the map", page)
		if filepath.Dir(page) == "." {
			assert.True(t, forWhom.Match(text), "%s doesn't say for whom it is", page)
		}
	}
}

var forWhom = regexp.MustCompile(`^# .*\n\nFor `)

func lastParagraph(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	parts := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	return parts[len(parts)-1]
}

// The map lists the pages in reading order.
func TestMapIsInOrder(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	at := 0
	for _, page := range order {
		i := strings.Index(string(text)[at:], "]("+page+")")
		require.GreaterOrEqual(t, i, 0, "the map hasn't %s behind those before it", page)
		at += i
	}
}

// Each generated part is printed once: a second copy makes readers look for the difference.
func TestNothingIsGeneratedTwice(t *testing.T) {
	where := map[string]string{}
	once := func(page, what string) {
		if first, is := where[what]; is {
			t.Errorf("%q is on %s and on %s: link to the first", what, first, page)
		}
		where[what] = page
	}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, part := range generatedPart.FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(part[1])
			switch words[0] {
			case "verdicts": // one table may have several scenarios
				for _, id := range words[1:] {
					once(page, "verdicts "+id)
				}
			case "code":
				for _, name := range words[2:] {
					once(page, "code "+words[1]+" "+name)
				}
			default:
				once(page, part[1])
			}
		}
	}
	assert.Greater(t, len(where), 60)
}
