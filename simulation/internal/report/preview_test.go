package report_test

import (
	"bytes"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
)

// The preview has the image format of services, always shows something, and is the same for the
// same report.
func TestPreview(t *testing.T) {
	for name, r := range map[string]report.Report{
		"all": sample(t), "title": {Title: "A title — “quoted” with ümlauts…"}, "nothing": {},
		"a run": {Title: "S4", Timelines: []report.TimelineRun{{ID: "run", Log: clockJumps(t), Full: true}}},
	} {
		var out, again bytes.Buffer
		require.NoError(t, r.Preview(&out), name)
		if name == "all" {
			require.NoError(t, r.Preview(&again), name)
			assert.Equal(t, out.Bytes(), again.Bytes(), name)
		}
		assert.Less(t, out.Len(), 300_000, name)
		img, err := png.Decode(&out)
		require.NoError(t, err, name)
		assert.Equal(t, 1200, img.Bounds().Dx())
		assert.Equal(t, 630, img.Bounds().Dy())
		inked := 0
		for x := range 1200 {
			for y := range 630 {
				if red, _, _, _ := img.At(x, y).RGBA(); red < 0x8000 {
					inked++
				}
			}
		}
		if name == "nothing" {
			assert.Zero(t, inked)
		} else {
			assert.Greater(t, inked, 1000, name)
		}
	}
}
