package main

import (
	"bytes"
	"flag"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// The go tool keeps a result until a file of this module has changed, and the pages are none. An empty list of
// files keeps no result.
func TestMain(m *testing.M) {
	code := m.Run()
	if list := flag.Lookup("test.testlogfile").Value.String(); list != "" {
		if err := os.Truncate(list, 0); err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}

// Every page of the docs is there, every link on every page leads to a place that is there, and
// nothing is loaded from elsewhere.
func TestLinks(t *testing.T) {
	out := filepath.Join(t.TempDir(), "site")
	var said bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-out", out, "-pages-only"}, &said, io.Discard))
	require.Contains(t, said.String(), "index.html")
	ids, links := map[string]map[string]bool{}, map[string][]string{}
	require.NoError(t, filepath.WalkDir(out, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(out, file)
		if err != nil || filepath.Ext(file) != ".html" {
			ids[name] = map[string]bool{}
			return err
		}
		text, err := os.ReadFile(file)
		ids[name], links[name] = read(t, text)
		return err
	}))
	root, err := repository()
	require.NoError(t, err)
	for _, folder := range []string{"docs", "docs/reference"} {
		pages, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
		require.NoError(t, err)
		require.NotEmpty(t, pages)
		for _, page := range pages {
			assert.Contains(t, ids, folder+"/"+strings.TrimSuffix(filepath.Base(page), ".md")+".html", "no page leads to it")
		}
	}
	inside := 0
	for page, targets := range links {
		for _, target := range targets {
			to, err := url.Parse(target)
			require.NoError(t, err, page)
			if to.IsAbs() {
				continue
			}
			inside++
			name := page
			if to.Path != "" {
				name = filepath.Join(filepath.Dir(page), to.Path)
			}
			if assert.Contains(t, ids, name, "%s links %s", page, target) && to.Fragment != "" {
				assert.True(t, ids[name][to.Fragment], "%s links %s", page, target)
			}
		}
	}
	require.Greater(t, inside, 1000)
}

// read returns the names to which links can lead on a page, and the page's links. What a browser loads
// on its own has to be in the folder.
func read(t *testing.T, page []byte) (ids map[string]bool, links []string) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	require.NoError(t, err)
	ids = map[string]bool{}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				assert.False(t, ids[a.Val], "two elements are %q", a.Val)
				ids[a.Val] = true
			case a.Key == "href" && n.Data == "a":
				links = append(links, a.Val)
			case a.Key == "src":
				assert.NotContains(t, a.Val, "://")
				links = append(links, a.Val)
			}
		}
	}
	return ids, links
}

func TestBadFlags(t *testing.T) {
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "old.html"), nil, 0o600))
	for says, args := range map[string][]string{
		"say where to":       nil,
		"and nothing else":   {"-out", "x", "y"},
		"give an empty":      {"-out", full},
		"flag provided but ": {"-in", "x"},
	} {
		require.ErrorContains(t, run(t.Context(), args, io.Discard, io.Discard), says)
	}
}
