package matrix

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/report"
)

// Every argument has two sides, a verdict and evidence with the result's numbers; evidence that
// wasn't played is left out.
func TestArguments(t *testing.T) {
	all := (Result{Plan: DefaultPlan()}).Arguments()
	require.Len(t, all, 8)
	for _, a := range all {
		assert.Len(t, a.Sides, 2, a.ID)
		assert.NotEmpty(t, a.Verdict, a.ID)
		for _, e := range a.Evidence {
			assert.NotEmpty(t, e.Curve, "%s: only curves could have been played: %+v", a.ID, e)
		}
	}

	p := Plan{Designs: []string{"default", "token-admit"}, Faults: []string{"pause"}, Seeds: few(30), Scenarios: []string{"S1"}, ScenarioSeeds: 1}
	r, err := Play(t.Context(), p, Pool{})
	require.NoError(t, err)
	evidence := r.Arguments()[0].Evidence
	require.Len(t, evidence, 3)
	assert.Regexp(t, `^S1: breaks \d+ of \d+ designs$`, evidence[0].Text)
	assert.Regexp(t, `^default under pause: \d+% of \d+$`, evidence[1].Text)
	assert.Regexp(t, `^token-admit under pause: none of \d+$`, evidence[2].Text)
	assert.Equal(t, "pause", evidence[2].Fault)

	assert.Empty(t, r.evidence([]report.Evidence{{Design: "no-such", Fault: "pause"}}))
	var html strings.Builder
	require.NoError(t, report.HTML(&html, report.Report{Arguments: r.Arguments(), Matrix: r.Matrix(), Verdicts: r.Verdicts()}))
	assert.Contains(t, html.String(), `<a href="#scenario-S1">S1: breaks`)
	assert.Contains(t, html.String(), `<a href="#cell-token-admit-pause">`)
}

// The opening is the same pause twice, and ends as its titles say.
func TestOpening(t *testing.T) {
	o, err := Opening()
	require.NoError(t, err)
	require.Len(t, o.Runs, 2)
	assert.Contains(t, o.Runs[0].Log.String(), "VIOLATION lost update")
	assert.NotContains(t, o.Runs[1].Log.String(), "VIOLATION")
	for _, run := range o.Runs {
		assert.Contains(t, run.Log.String(), "suffers pause")
		assert.LessOrEqual(t, len(run.Title), 44, "it stands on one line")
	}
}
