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
		Designs: []report.Choice{
			{Name: "setpx-del", Head: [2]string{"one Redis,", "SET NX PX"}},
			{Name: "redlock", Head: [2]string{"Redlock as", "documented"}},
			{Name: "default", Head: [2]string{"this", "library"}},
		},
		Note: "A lock fails if two clients hold it at once.",
	}
	for j, f := range m.Faults {
		s.Faults = append(s.Faults, report.Choice{Name: f.Name, Words: f.Title})
		s.Cells = append(s.Cells, []report.Cell{m.At(1, j), m.At(2, j), m.At(3, j)})
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
