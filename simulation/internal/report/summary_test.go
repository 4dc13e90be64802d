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
			{Name: "setpx-del", Words: "SET NX PX and DEL", Head: [2]string{"one Redis,", "SET NX PX"}, Short: [2]string{"SET", "NX PX"}},
			{Name: "redlock", Words: "Redlock as documented", Head: [2]string{"Redlock as", "documented"}, Short: [2]string{"Red-", "lock"}},
			{Name: "default", Words: "this library", Head: [2]string{"this", "library"}, Short: [2]string{"this", "lib"}},
		},
		Note:        "A lock fails if two clients hold it at once.",
		Conclusions: []string{"When a client is paused, Redlock fails in 100% of the runs.", "When messages are lost, it fails in none of 1000."},
	}
	for j, f := range m.Faults {
		s.Faults = append(s.Faults, report.Choice{Name: f.Name, Words: f.Title})
		s.Cells = append(s.Cells, []report.Cell{m.At(1, j), m.At(2, j), m.At(3, j)})
	}
	return s
}

func TestSummaryText(t *testing.T) {
	for _, width := range []int{80, 60, 50} {
		var b strings.Builder
		require.NoError(t, summary().Text(&b, width))
		for line := range strings.Lines(b.String()) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, line)
		}
		for _, words := range []string{"0.3%!", " ? ", "3.1%", "it fails in none of 1000."} {
			assert.Contains(t, strings.Join(strings.Fields(b.String()), " ")+" ", words)
		}
	}
	var b strings.Builder
	require.NoError(t, report.Summary{}.Text(&b, 80))
	assert.Empty(t, b.String())
}

func TestWords(t *testing.T) {
	for want, c := range map[string]report.Cell{
		"-": {}, "none": {Runs: 5}, "?": {Runs: 5, Unreached: []string{"x"}}, "40%": {Runs: 5, Violated: 2}, "40%!": {Runs: 5, Violated: 2, Unexpected: true},
	} {
		assert.Equal(t, want, c.Word())
	}
}
