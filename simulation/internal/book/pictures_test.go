package book_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/matrix"
)

func init() {
	generatedFiles["figures/token.svg"] = tokenPicture
}

// tokenPicture is the README's. It is drawn from runs that are played now.
func tokenPicture() ([]byte, error) {
	opening, err := matrix.Opening()
	if err != nil {
		return nil, err
	}
	var svg bytes.Buffer
	err = opening.SVG(&svg)
	return svg.Bytes(), err
}

// Every figure is on a page. Links are checked, so every picture of a page is there.
func TestFiguresAreShown(t *testing.T) {
	files, err := filepath.Glob("figures/*.svg")
	require.NoError(t, err)
	text := everything(t)
	for _, file := range files {
		assert.Contains(t, text, filepath.ToSlash(file)+")", "no page shows it")
	}
}
