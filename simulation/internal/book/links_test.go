package book_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced       = regexp.MustCompile("(?ms)^```.*?^```$")
	rowName      = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	headingLine  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	linked       = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	unnamed      = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// withoutCode removes the fenced blocks from a page, because headings and links in them don't count.
func withoutCode(page string) string { return fenced.ReplaceAllString(page, "") }

// Every link within the repository leads somewhere, including the heading or the line that it names.
func TestLinksResolve(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, link := range markdownLink.FindAllStringSubmatch(withoutCode(string(text)), -1) {
			if !strings.Contains(link[1], "://") {
				links++
				assert.NoError(t, resolve(page, link[1]), "%s: link %s", page, link[1])
			}
		}
	}
	require.Greater(t, links, 100)
}

// resolve returns what is wrong with a link on a page.
func resolve(page, link string) error {
	path, anchor, _ := strings.Cut(link, "#")
	target := page
	if path != "" {
		target = filepath.Join(filepath.Dir(page), path)
	}
	if anchor == "" {
		_, err := os.Stat(target)
		return err
	}
	text, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	found := false
	if filepath.Ext(target) == ".md" {
		found = slices.Contains(anchors(string(text)), anchor)
	} else {
		line, err := strconv.Atoi(strings.TrimPrefix(anchor, "L"))
		found = err == nil && line >= 1 && line <= strings.Count(string(text), "\n")
	}
	if !found {
		return fmt.Errorf("%s has no heading or line #%s", target, anchor)
	}
	return nil
}

// anchors are the link names that a page gives rows of tables, and those of its headings, as GitHub makes them: lower
// case, spaces as dashes, other signs left out. No page has two headings of the same name.
func anchors(page string) (all []string) {
	for _, row := range rowName.FindAllStringSubmatch(page, -1) {
		all = append(all, row[1])
	}
	for _, heading := range headingLine.FindAllStringSubmatch(withoutCode(page), -1) {
		name := unnamed.ReplaceAllString(strings.ToLower(linked.ReplaceAllString(strings.TrimSpace(heading[1]), "$1")), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// The index links every page, and there are no other files.
func TestIndexHasEveryPage(t *testing.T) {
	index, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, page := range slices.Concat(pagesIn(t, "."), pagesIn(t, "reference")) {
		if page != "README.md" {
			assert.Contains(t, string(index), "]("+filepath.ToSlash(page)+")")
		}
	}
}
