//go:build unix

package live

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// onServers skips the test if there is no redis-server, unless one is required. At its end no file
// is left.
func onServers(t *testing.T) {
	t.Helper()
	if _, err := (redisproc.Config{}).Find(); err != nil {
		if os.Getenv(instancetest.RequireEnv) == "1" {
			t.Fatalf("%v, and %s=1 asks for it", err, instancetest.RequireEnv)
		}
		t.Skipf("%v; install it to run this test", err)
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, entries, "files that were left")
	})
}

// named returns cases by their names.
func named(t *testing.T, names ...string) []Case {
	t.Helper()
	var cases []Case
	for _, tc := range Cases() {
		if slices.Contains(names, tc.Scenario) {
			cases = append(cases, tc)
		}
	}
	require.GreaterOrEqual(t, len(cases), len(names))
	return cases
}

// Real servers behave as the simulation predicts, in a case of each kind: clients, restarts and links. The command
// live plays all cases.
func TestRealServersAgreeWithTheSimulation(t *testing.T) {
	onServers(t)
	report, err := Run(t.Context(), "", named(t, "S2", "S7", "S10"), nil)
	require.NoError(t, err)
	require.NotEmpty(t, report.Server)
	violated, safe := 0, 0
	for _, line := range report.Lines {
		_, noCompiler := exec.LookPath("cc")
		if line.Skipped != "" && noCompiler != nil {
			continue
		}
		assert.True(t, line.OK(), "%+v", line)
		assert.Empty(t, line.Skipped)
		if len(line.Seen) > 0 {
			violated++
		} else {
			safe++
		}
	}
	assert.Positive(t, violated, "nothing was broken, so that nothing was shown")
	assert.Positive(t, safe, "nothing held, so that nothing was shown")
	assert.Zero(t, report.Disagreements)
}

// What differs from the prediction is reported: here a power cut takes what wasn't synced.
func TestDisagreement(t *testing.T) {
	onServers(t)
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	cases := named(t, "S7c")
	cases[0].Designs, cases[0].Args = []string{"redlock"}, []string{"--appendonly", "yes", "--appendfsync", "no"}
	// A client that tries once and meets a connection that ended with the server gets no vote, as predicted.
	cases[0].Schedule = strings.Replace(cases[0].Schedule, "c2 asks", "c2 waits", 1)
	cases[0].TTL = 10 // so that c1 still believes in its lease, also on a busy machine
	report, err := Run(t.Context(), "", cases, nil)
	require.NoError(t, err)
	line := report.Lines[0]
	require.Equal(t, 1, report.Disagreements, "%+v", line)
	require.False(t, line.OK())
	require.Empty(t, line.Err)
	require.Equal(t, tries, line.Plays)
	require.Equal(t, "\"c2 acquired\" happened 1 times, and mustn't", line.Differs)
	var text strings.Builder
	line.Print(&text)
	require.Contains(t, text.String(), "NOT as predicted\n    predicted: none\n    seen: stale write, two holders")
	require.Equal(t, []record.ViolationKind{record.StaleWrite, record.TwoHolders}, line.Seen)
}

// An interrupted run leaves nothing behind.
func TestInterruptedRun(t *testing.T) {
	onServers(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := 0
	_, err := Run(ctx, "", named(t, "S7", "S4b", "X1"), func(Line) {
		lines++
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, lines)
}

// Without a compiler, cases that need one are skipped with the reason. The others run.
func TestWithoutCompiler(t *testing.T) {
	onServers(t)
	server, err := (redisproc.Config{}).Find()
	require.NoError(t, err)
	t.Setenv("PATH", t.TempDir())
	cases := named(t, "S4", "S10")
	for i := range cases {
		cases[i].Designs = []string{"default"}
	}
	report, err := Run(t.Context(), server, cases, nil)
	require.NoError(t, err)
	require.Equal(t, 1, report.Skipped)
	require.Zero(t, report.Disagreements)
	require.Contains(t, report.Lines[0].Skipped, "no C compiler")
	require.Empty(t, report.Lines[1].Skipped)
}

// A report is a table that fits a terminal.
func TestFormats(t *testing.T) {
	report := Report{Server: "redis 7.0.15", Played: 3, Skipped: 1, Disagreements: 2, Took: time.Minute, Lines: []Line{
		{Scenario: "S4", Fault: "a | jump", Design: "redlock", Predicted: []record.ViolationKind{record.TwoHolders}, Seen: []record.ViolationKind{record.TwoHolders}, Agrees: true, Plays: 2},
		{Scenario: "S4", Design: "default", Predicted: nil, Seen: []record.ViolationKind{record.NeverFree}, Findings: []box.Finding{{Kind: box.NeverFree, Seq: 9, Text: "never"}}},
		{Scenario: "S7c", Design: "default", Err: strings.Repeat("the server has gone away ", 20)},
		{Scenario: "S4b", Design: "default", Skipped: "no compiler"},
	}}
	var text strings.Builder
	for _, line := range report.Lines {
		line.Print(&text)
	}
	for line := range strings.Lines(text.String()) {
		require.LessOrEqual(t, len(line), 101, "%q", line)
	}
	for _, has := range []string{"two holders, in play 2\n", "NOT as predicted", "9: never free: never", "FAILED", "skipped", "no compiler"} {
		require.Contains(t, text.String(), has)
	}
	require.Contains(t, report.Summary(), "2 not as the simulation predicts")
}

// All scenarios and designs exist, and all steps can be read.
func TestCases(t *testing.T) {
	strict := json.NewDecoder(bytes.NewReader(caseList))
	strict.DisallowUnknownFields()
	assert.NoError(t, strict.Decode(new([]Case)))
	for _, tc := range Cases() {
		assert.NotEmpty(t, tc.Fault)
		s, err := scenarios.ByID(tc.Scenario)
		if !assert.NoError(t, err) {
			continue
		}
		for _, design := range tc.Designs {
			_, err := s.Design(design)
			assert.NoError(t, err)
		}
		_, err = tc.steps(5, scenarios.Verdict{})
		assert.NoError(t, err, tc.Scenario)
	}
}
