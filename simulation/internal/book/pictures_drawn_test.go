package book_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/drawing"
)

func allPictures(t *testing.T) []*drawing.Canvas {
	t.Helper()
	round, err := drawRound()
	require.NoError(t, err)
	quarantine, err := drawQuarantine()
	require.NoError(t, err)
	return []*drawing.Canvas{round, quarantine, drawLease(), drawDomains(), drawDecision()}
}

// No letter is cut off, whatever the reader's font, and every class has a style.
func TestPicturesAreWhole(t *testing.T) {
	for _, p := range allPictures(t) {
		assert.Empty(t, p.Outside(), p.Title)
		assert.NotEmpty(t, p.Title)
		assert.NotEmpty(t, p.Desc)
		for _, s := range p.Shapes {
			for _, class := range strings.Fields(s.Class) {
				assert.Contains(t, drawing.Style(), ".rl ."+class, "%s: nothing says how %s looks", p.Title, class)
			}
		}
	}
}

// The run for a picture shows what the picture says.
func TestRuns(t *testing.T) {
	round, err := drawRound()
	require.NoError(t, err)
	assert.Contains(t, round.Desc, "5 servers are asked at once. 3 said yes within")
	quarantine, err := drawQuarantine()
	require.NoError(t, err)
	assert.Contains(t, quarantine.Desc, "first lock at 30.3 s")
	assert.Equal(t, 4, strings.Count(quarantine.Inline(), ">quarantine<"), "three at the start, and one after the restart")
}

// Every error that a picture names is one of package quorum.
func TestErrorsExist(t *testing.T) {
	known := map[string]bool{}
	files, err := filepath.Glob("../quorum/*.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`(?m)^\s*(?:var )?(Err[A-Z]\w+)\s+= `).FindAllSubmatch(text, -1) {
			known[string(found[1])] = true
		}
	}
	named := 0
	for _, p := range allPictures(t) {
		for _, name := range regexp.MustCompile(`\bErr[A-Z]\w+`).FindAllString(p.Inline(), -1) {
			named++
			assert.True(t, known[name], "%s: quorum has no %s", p.Title, name)
		}
	}
	assert.Greater(t, named, 10)
}
