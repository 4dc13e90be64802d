package book_test

import (
	"bytes"

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
		c.Height += 17
		c.Text("h", 0, c.Height-3, run.title)
		c.Desc += " " + run.title
		tl.Draw(&c)
	}
	var svg bytes.Buffer
	err := c.SVG(&svg)
	return svg.Bytes(), err
}
