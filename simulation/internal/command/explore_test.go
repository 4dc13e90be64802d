package command

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/record"
)

// The printed commands play the findings again.
func TestExplore(t *testing.T) {
	out, errs := does(t, exitFail, "explore", "-seeds", "80", "-design", "setnx", "-faults", "pause,evict")
	assert.Contains(t, errs, "findings")
	for _, words := range []string{"mixed with setnx: 80 runs", "two holders: ", "never free: ", "shrunk from", "breaks assumption 3 (a vote stands for its TTL)"} {
		assert.Contains(t, out, words)
	}
	assert.Equal(t, 1, strings.Count(out, "\nnever free: "), "it needs no fault, whatever else happens")
	findings := regexp.MustCompile(`(?s)\n\n([a-z ]+): \d.*?\n  (.*?)\n.*?  (\S[^\n]* run mixed .*?)\n`).FindAllStringSubmatch(out, -1)
	require.GreaterOrEqual(t, len(findings), 2)
	for _, f := range findings {
		again := words(t, f[3])
		played, _ := does(t, exitOK, again...)
		assert.Regexp(t, "\nfound: .*"+f[1]+".*\ntrace: ", played)

		setup := play.Setup{Base: "mixed", Design: "setnx"}
		var err error
		setup.Seed, err = strconv.ParseUint(again[slices.Index(again, "-seed")+1], 10, 64)
		require.NoError(t, err)
		setup.Schedule, err = simulation.ReadSchedule([]byte(again[len(again)-1]))
		require.NoError(t, err)
		run, err := play.Play(setup)
		require.NoError(t, err)
		assert.True(t, slices.ContainsFunc(run.Result.Log.Violations(), func(v record.Violation) bool { return v.Text == f[2] }), "%s: the text is that of the smaller run", f[2])
	}
}

// A finding that no broken assumption excuses is a bug if the design is the library, and only then.
func TestExploreSaysWhatIsBroken(t *testing.T) {
	out, errs := does(t, exitFail, "explore", "-within", "-design", "setnx", "-seeds", "100")
	assert.Contains(t, out, "breaks no assumption: setnx does not keep the library's promises")
	assert.Regexp(t, `\d of \d findings without a broken assumption: setnx does not keep the library's promises`, errs)

	for _, d := range designs.All() {
		promises := slices.Contains([]string{"topup", "default", "token-write", "token-admit", "idempotent"}, d.Name)
		assert.Equal(t, promises, blame(d, "a bug") == "a bug", d.Name)
	}
}

func TestExploreFindsNothing(t *testing.T) {
	out, _ := does(t, exitOK, "explore", "-seeds", "3", "-within", "-faults", "rate,flush,failover,switch", "-most", "1")
	assert.Equal(t, "mixed with default, within the assumptions: 3 runs\nno violation\n\nThese faults never struck, so these runs say nothing about them: rate switch\n", out)
}

// An interrupted exploration reports its findings so far.
func TestExploreIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, errs := said(ctx, "explore", "-seeds", "1000000")
	require.Equal(t, exitInterrupted, code)
	assert.Contains(t, out, "mixed with default, INTERRUPTED after 0 of 1000000: 0 runs")
	assert.Contains(t, errs, "interrupted")
}
