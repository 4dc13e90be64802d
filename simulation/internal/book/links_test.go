package book_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Every link within the repository leads somewhere, including the heading that it names.
func TestLinksResolve(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, link := range markdownLink.FindAllStringSubmatch(withoutCode(string(text)), -1) {
			if regexp.MustCompile(`^[a-z]+://`).MatchString(link[1]) {
				continue
			}
			links++
			assert.NoError(t, resolve(page, link[1]), "%s: link %s", page, link[1])
		}
	}
	require.Greater(t, links, 100)
}

// anchorsOf caches the anchors of linked pages.
var anchorsOf sync.Map

// resolve returns what is wrong with a link on a page.
func resolve(page, link string) error {
	path, anchor, _ := strings.Cut(link, "#")
	target := page
	if path != "" {
		target = filepath.Join(filepath.Dir(page), path)
	}
	if _, err := os.Stat(target); err != nil {
		return err
	}
	if anchor == "" {
		return nil
	}
	text, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	if line, is := strings.CutPrefix(anchor, "L"); is && filepath.Ext(target) != ".md" {
		if n, err := strconv.Atoi(line); err != nil || n < 1 || n > strings.Count(string(text), "\n") {
			return &missingAnchor{target, anchor}
		}
		return nil
	}
	have, ok := anchorsOf.Load(target)
	if !ok {
		have = anchors(string(text))
		anchorsOf.Store(target, have)
	}
	if slices.Contains(have.([]string), anchor) {
		return nil
	}
	return &missingAnchor{target, anchor}
}

// missingAnchor is a link to a heading or a line that isn't there.
type missingAnchor struct{ page, anchor string }

func (e *missingAnchor) Error() string { return e.page + " has no heading or line #" + e.anchor }

// anchors are the link names that a page gives rows of tables, and those of its headings, as GitHub
// makes them: lower case, spaces as dashes, other signs left out, and a number after the second
// heading of the same name.
func anchors(page string) []string {
	var all []string
	seen := map[string]int{}
	for _, row := range regexp.MustCompile(`<a id="([^"]+)"></a>`).FindAllStringSubmatch(page, -1) {
		all = append(all, row[1])
	}
	for _, heading := range regexp.MustCompile(`(?m)^#+ +(.*)$`).FindAllStringSubmatch(withoutCode(page), -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(strings.TrimSpace(heading[1]), "$1")) {
			switch {
			case unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '_':
				b.WriteRune(r)
			case r == ' ':
				b.WriteRune('-')
			}
		}
		name := b.String()
		if n := seen[name]; n > 0 {
			all = append(all, name+"-"+strconv.Itoa(n))
		} else {
			all = append(all, name)
		}
		seen[name]++
	}
	return all
}

// withoutCode removes the fenced blocks from a page, because headings and links in them don't
// count.
func withoutCode(page string) string {
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(page, "")
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
