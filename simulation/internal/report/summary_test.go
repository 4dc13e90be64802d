package report_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
)

// summary has a cell of every kind.
func summary() report.Summary {
	m := matrix()
	s := report.Summary{
		Matrix: report.Matrix{
			Designs: []report.Axis{
				{Name: "setpx-del", Title: "one Redis,\nSET NX PX"}, {Name: "redlock", Title: "Redlock as\ndocumented"}, {Name: "default", Title: "this\nlibrary"},
			},
			Faults: m.Faults, Cells: m.Cells,
		},
		Note: "A lock fails if two clients hold it at once.",
	}
	return s
}

func TestSummaryText(t *testing.T) {
	var text strings.Builder
	require.NoError(t, summary().Text(&text))
	for line := range strings.Lines(text.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), report.SummaryWidth, line)
	}
	for _, words := range []string{"0.3%!", " ? ", "3.1%"} {
		assert.Contains(t, strings.Join(strings.Fields(text.String()), " "), words)
	}
	var b strings.Builder
	require.NoError(t, report.Summary{}.Text(&b))
	assert.Empty(t, b.String())
}
