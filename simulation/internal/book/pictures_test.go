package book_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/drawing"
)

func init() {
	generatedFiles["figures/token.svg"] = tokenPicture
}

// tokenPicture is the README's: the same pause without and with a token check.
func tokenPicture() ([]byte, error) {
	c := drawing.Canvas{Title: "The holder is paused for longer than its lease, wakes up, and writes: no lock that expires can prevent that, but a resource that checks the lock's token refuses the write."}
	for _, run := range []struct{ design, title string }{
		{"default", "No token check: c2's update is lost"},
		{"token-admit", "Token check: the late write is refused"},
	} {
		_, _, tl, err := tell([]string{"S1", run.design})
		if err != nil {
			return nil, err
		}
		if c.Height > 0 {
			c.Height += 18
		}
		tl.Draw(&c, run.title)
	}
	var svg bytes.Buffer
	err := c.SVG(&svg)
	return svg.Bytes(), err
}

// Every figure is on a page. Links are checked, so every picture of a page is there.
func TestFiguresAreShown(t *testing.T) {
	files, err := filepath.Glob("figures/*.svg")
	require.NoError(t, err)
	text := everything(t)
	for _, file := range files {
		assert.True(t, strings.Contains(text, filepath.ToSlash(file)+")"), "no page shows %s", file)
	}
}
