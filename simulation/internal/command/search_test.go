package command

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// The findings are the same with one worker and with two, and the printed commands play them again.
func TestExplore(t *testing.T) {
	var outputs []string
	for _, workers := range []string{"1", "2"} {
		code, stdout, stderr := said(t.Context(), "explore", "-seeds", "80", "-design", "setnx", "-faults", "pause,evict", "-workers", workers)
		require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
		assert.Contains(t, stderr, "kinds of violations")
		for _, words := range []string{"mixed with setnx: 80 runs", "two holders: ", "never free: ", "shrunk from", "breaks assumption 3 (a vote stands for its TTL)"} {
			assert.Contains(t, stdout, words)
		}
		outputs = append(outputs, stdout)
	}
	assert.Equal(t, outputs[0], outputs[1])
	findings := regexp.MustCompile(`(?s)\n\n([a-z ]+): \d.*?\n  (\S.*? run mixed .*?)\n`).FindAllStringSubmatch(outputs[0], -1)
	require.GreaterOrEqual(t, len(findings), 2)
	for _, f := range findings {
		line := f[2][strings.LastIndex(f[2], start):]
		code, played, errs := said(t.Context(), words(t, line)...)
		require.Equal(t, exitOK, code, "%s%s", played, errs)
		assert.Regexp(t, "\nfound: .*"+f[1]+".*; expected: anything", played)
	}
}

// A finding that no broken assumption excuses is a bug if the design is the library, and only then.
func TestExploreSaysWhatIsBroken(t *testing.T) {
	code, stdout, stderr := said(t.Context(), "explore", "-within", "-design", "setnx", "-seeds", "100", "-workers", "1")
	require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
	assert.Contains(t, stdout, "breaks no assumption: setnx does not keep the library's promises")
	assert.Contains(t, stderr, "setnx does not keep the library's promises")

	x := exploration{space: search.Space{Setup: search.Setup{Design: "default"}}, registry: registry()}
	assert.Equal(t, "breaks no assumption: THIS IS A BUG", x.broken(0))
	findings := []search.Finding{{Kind: record.TwoHolders}, {Kind: record.TwoHolders, Assumption: 1}}
	require.EqualError(t, x.sum(findings, 1), "1 kind of violations: 1 BUG of the library")
	require.EqualError(t, x.sum(append(findings, search.Finding{Kind: record.NeverFree}), 2), "2 kinds of violations: 2 BUGs of the library")
	for _, d := range designs.All() {
		x.space.Design = d.Name
		assert.Equal(t, slices.Contains([]string{"default", "token-write", "token-admit", "idempotent"}, d.Name), x.promises(), d.Name)
	}
}

func TestExploreFindsNothing(t *testing.T) {
	code, stdout, stderr := said(t.Context(), "explore", "-seeds", "40", "-within", "-workers", "1")
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)
	assert.Contains(t, stdout, "no violation")
	assert.Contains(t, stdout, "never happened", "beside a zero stands what never happened")
}

// An interrupted exploration reports its findings so far.
func TestExploreIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := said(ctx, "explore", "-seeds", "1000000", "-workers", "1")
	require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
	assert.Contains(t, stdout, "mixed with default, INTERRUPTED after 0 of 1000000: 0 runs")
	assert.Contains(t, stderr, "interrupted")
}
