package book_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testNames lists the test functions of some folders.
func testNames(t *testing.T, dirs ...string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(source), -1) {
				names[found[1]] = true
			}
		}
	}
	require.NotEmpty(t, names)
	return names
}

// Every sentence's test exists, and every sentence with a test is there.
func TestAlgorithmIsHeld(t *testing.T) {
	names := testNames(t, "quorum")
	for _, page := range []string{"reference/algorithm.md", "guarantees.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
			assert.True(t, names[found[1]], "%s names %s, which is no test of package quorum", page, found[1])
		}
		for name := range names {
			if page == "reference/algorithm.md" && strings.HasPrefix(name, "TestDocument") {
				assert.Contains(t, string(text), "`"+name+"`")
			}
		}
	}
}

// Every test named on a page exists in the repository.
func TestTestsOnPagesExist(t *testing.T) {
	have := map[string]bool{}
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(source, -1) {
			have[string(found[1])] = true
		}
		return err
	}))
	named := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`).FindAllString(withoutCode(string(text)), -1) {
			named++
			assert.True(t, have[found], "%s names %s, and there is no such test", page, found)
		}
	}
	require.Greater(t, named, 100)
}

// A link to code named after a symbol leads to a file that has it.
func TestLinkedSymbolsExist(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile("\\[`([\\w.]+)`\\]\\(([^)#]+\\.go)\\)").FindAllStringSubmatch(string(text), -1) {
			source, err := os.ReadFile(filepath.Join(filepath.Dir(page), found[2]))
			require.NoError(t, err)
			if found[1] == filepath.Base(found[2]) {
				continue // named after the file
			}
			symbol := found[1][strings.LastIndexByte(found[1], '.')+1:]
			assert.Regexp(t, `\b`+symbol+`\b`, string(source), "%s: %s isn't in %s", page, found[1], found[2])
			links++
		}
	}
	assert.Greater(t, links, 20)
}
