package book_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/drawing"
)

func init() {
	draw := func(name string, make func() (*drawing.Canvas, error)) {
		generatedFiles["figures/"+name+".svg"] = func() ([]byte, error) {
			p, err := make()
			if err != nil {
				return nil, err
			}
			var svg bytes.Buffer
			err = p.SVG(&svg)
			return svg.Bytes(), err
		}
	}
	words := func(p *drawing.Canvas) func() (*drawing.Canvas, error) {
		return func() (*drawing.Canvas, error) { return p, nil }
	}
	draw("round", drawRound)
	draw("quarantine", drawQuarantine)
	draw("lease", words(drawLease()))
	draw("domains", words(drawDomains()))
	draw("decision", words(drawDecision()))
}

// Every picture is drawn by the code and shown on a page.
func TestFigures(t *testing.T) {
	shown := map[string]bool{}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`\]\([^)]*?(figures/[a-z0-9-]+\.svg)\)`).FindAllStringSubmatch(string(text), -1) {
			assert.Contains(t, generatedFiles, found[1], "%s shows a picture that nothing draws", page)
			shown[found[1]] = true
		}
	}
	files, err := filepath.Glob("figures/*.svg")
	require.NoError(t, err)
	for _, file := range files {
		assert.True(t, shown[filepath.ToSlash(file)], "no page shows %s", file)
	}
}
