package browser_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// With REDLOCK_PICTURES, which names a folder, it makes the documentation's pictures of the page:
//
//	REDLOCK_LONG=1 REDLOCK_PICTURES=$PWD/docs/figures go test ./simulation/internal/play/browser -run TestPictures
//
// Nothing compares them: a browser's letters differ from machine to machine.
func TestPictures(t *testing.T) {
	folder := os.Getenv("REDLOCK_PICTURES")
	if folder == "" {
		t.Skip("REDLOCK_PICTURES isn't set")
	}
	c, base := opened(t)
	// save saves the part of the page from one element's top to another one's bottom.
	save := func(name string, width int, dark bool, first, last string) {
		t.Helper()
		c.look(width, dark)
		var part struct{ Y, Height float64 }
		require.NoError(t, json.Unmarshal([]byte(c.eval(`(() => { scrollTo(0, 0); document.activeElement.blur(); const y = document.querySelector("`+first+`").getBoundingClientRect().top; return { Y: y, Height: document.querySelector("`+last+`").getBoundingClientRect().bottom - y } })()`)), &part))
		var out struct{ Data string }
		c.call("Page.captureScreenshot", map[string]any{
			"format": "webp", "quality": 35, "captureBeyondViewport": true,
			"clip": map[string]any{"x": 0, "y": max(0, part.Y-8), "width": width, "height": part.Height + 16, "scale": 1},
		}, &out)
		picture, err := base64.StdEncoding.DecodeString(out.Data)
		require.NoError(t, err)
		require.Less(t, len(picture), 120_000, "%s is too big for a page", name)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), picture, 0o644))
	}
	c.open(base+"#chapter=4-a-servers-clock-jumps&base=S4&design=redlock&seed=1", 1100, false)
	c.until(compared)
	save("play-chapter.webp", 1100, false, "h1", "#run")
	save("play-side.webp", 1280, true, "#side-title", "#side")
}
