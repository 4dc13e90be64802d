package command

import (
	"bytes"
	"context"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/matrix"
)

// Without a command: an answer that fits on any screen, and what to run next.
func TestFirstScreen(t *testing.T) {
	plan := matrix.Plan{Seeds: 2}
	for _, d := range (matrix.Result{}).Summary().Designs {
		plan.Designs = append(plan.Designs, d.Name)
	}
	for _, f := range (matrix.Result{}).Summary().Faults {
		plan.Faults = append(plan.Faults, f.Name)
	}
	require.Len(t, plan.Designs, 5)
	require.Len(t, plan.Faults, 8)
	r, err := matrix.Play(t.Context(), plan, nil)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, (&matrixRun{}).print(t.Context(), &text, r))
	out := text.String()
	assert.LessOrEqual(t, strings.Count(out, "\n"), 40, out)
	for line := range strings.Lines(out) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
	}
	for _, words := range []string{
		`(?m)^How often a lock fails, of 2 runs each:$`, `(?m)^a client is paused .* none$`, `(?m)^the network is cut `,
		`(?m)^Next:$`, `(?m)^  ` + start + ` run S1( |$)`, `(?m)^  ` + start + ` play( |$)`, `(?m)^  ` + start + ` matrix( |$)`,
	} {
		assert.Regexp(t, words, out)
	}
	assert.NotContains(t, out, "\x1b")
}

// The page has the command that makes it again, and the text has seeds that can be played.
func TestMatrixOfTwoDesigns(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	text, _ := does(t, exitOK, "matrix", "-designs", "redlock,token-admit", "-faults", "restart-empty, cut", "-seeds", "20", "-html", page)
	assert.Regexp(t, `(?m)^restart-empty: redlock [\d.]+ %, token-admit none$`, text)
	assert.Regexp(t, `(?m)^cut: redlock none, token-admit none$`, text)
	assert.Regexp(t, `redlock / restart-empty: \d+ of 20 runs: [\d.]+ % \([\d.]+ to [\d.]+ %\)`, text)
	seed := regexp.MustCompile(`redlock / restart-empty: .*two\s+holders\s+in\s+\d+,\s+first\s+with\s+seed\s+(\d+)`).FindStringSubmatch(strings.ReplaceAll(text, "\n    ", " "))
	require.NotNil(t, seed)
	story, _ := does(t, exitOK, "run", "restart-empty", "-design", "redlock", "-seed", seed[1])
	assert.Contains(t, story, "TWO HOLDERS")

	written, err := os.ReadFile(page)
	require.NoError(t, err)
	command := start + " matrix -designs redlock,token-admit -faults 'restart-empty, cut' -seeds 20 -html " + page
	for _, words := range []string{command, "(judged by the data)", "no run should break this lock, because ", "<code>" + start + " run restart-empty -design redlock -seed "} {
		assert.Contains(t, html.UnescapeString(string(written)), words)
	}
	again, _ := does(t, exitOK, words(t, command)...)
	assert.Equal(t, text, again)
}

// Ctrl-C: the results so far are shown, and that they are incomplete.
func TestMatrixIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"-html", ""}, {"matrix"}} {
		code, out, errs := said(ctx, args...)
		require.Equal(t, exitInterrupted, code, "%q", args)
		assert.Regexp(t, `^INTERRUPTED after 0 of \d\d\d+ runs\. Only\s+these are counted\.`, out, "%q", args)
		assert.Contains(t, errs, "interrupted: this is what had been played")
	}
	r, err := (&matrixRun{plan: matrix.Plan{Seeds: 50}}).page(matrix.Result{Runs: 3, Planned: 70})
	require.NoError(t, err)
	assert.Equal(t, "INTERRUPTED after 3 of 70 runs. Only these are counted.", r.Notes[0])
	assert.Contains(t, r.Title, "as far as it was played")
	assert.Equal(t, "of 0:50", r.Seeds)
}
