package book_test

import (
	"bytes"

	"github.com/redquorum/redlock/simulation/internal/matrix"
)

func init() {
	// The README's picture is drawn from runs that are played now.
	generatedFiles["figures/token.svg"] = func() ([]byte, error) {
		opening, err := matrix.Opening()
		if err != nil {
			return nil, err
		}
		var svg bytes.Buffer
		err = opening.SVG(&svg)
		return svg.Bytes(), err
	}
}
