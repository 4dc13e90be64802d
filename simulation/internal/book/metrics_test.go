package book_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Metrics and attributes on pages are those of quorumotel: an alert on another name never fires,
// which nobody would notice.
func TestMetricsOnPages(t *testing.T) {
	known := map[string]bool{}
	files, err := filepath.Glob("../quorum/quorumotel/*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`"((?:redlock|error)\.[a-z_.]+)"`).FindAllStringSubmatch(string(text), -1) {
			known[found[1]] = true
		}
	}
	require.Greater(t, len(known), 15)
	require.True(t, known["redlock.outcome"])
	named := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile("`((?:redlock|error)\\.[a-z_.]+[a-z])(=[^`]*)?`").FindAllStringSubmatch(string(text), -1) {
			if slices.Contains([]string{".lua", ".svg", ".go"}, filepath.Ext(found[1])) {
				continue
			}
			named++
			assert.True(t, known[found[1]], "%s names %s, which quorumotel doesn't write", page, found[1])
		}
		for _, found := range regexp.MustCompile("`(outcome|operation|instance|reason)=").FindAllStringSubmatch(string(text), -1) {
			t.Errorf("%s has an attribute %s; its name is redlock.%s", page, found[1], found[1])
		}
	}
	assert.Greater(t, named, 10)
}
