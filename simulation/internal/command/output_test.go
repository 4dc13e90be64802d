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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/play"
)

// fullDisk is a device without space.
func fullDisk(t *testing.T) string {
	t.Helper()
	const path = "/dev/full"
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	return path
}

// A file that can't be written is reported before the first run, and an existing file is unchanged
// if a command fails for another reason.
func TestFilesAreOpenedFirst(t *testing.T) {
	dir := t.TempDir()
	nowhere := filepath.Join(dir, "nowhere", "x")
	for _, args := range [][]string{
		{"-seeds", "1000000", "-html", nowhere}, {"matrix", "-seeds", "1000000", "-html", nowhere},
	} {
		out, errs := does(t, exitFail, args...)
		assert.Empty(t, out, "%q", args)
		assert.Regexp(t, `-html: open .*no such file`, errs, "%q", args)
	}
	kept := filepath.Join(dir, "kept.json")
	require.NoError(t, os.WriteFile(kept, []byte("old"), 0o600))
	one := []string{"matrix", "-designs", "redlock", "-seeds", "1", "-html", kept, "-faults"}
	does(t, exitUsage, append(one, "rain")...)
	text, err := os.ReadFile(kept)
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "no empty file stays behind")
	does(t, exitOK, append(one, "slow")...)
	text, err = os.ReadFile(kept)
	require.NoError(t, err)
	assert.Contains(t, string(text), "<table")
}

// A full disk is reported for every kind of output.
func TestFullDisk(t *testing.T) {
	full := fullDisk(t)
	for _, args := range [][]string{
		{"list"}, {"run", "S4"}, {"matrix", "-designs", "redlock", "-faults", "slow", "-seeds", "1"},
		{"explore", "-seeds", "2", "-faults", "cut"},
	} {
		out, err := os.OpenFile(full, os.O_WRONLY, 0)
		require.NoError(t, err)
		var told bytes.Buffer
		assert.Equal(t, exitFail, Run(t.Context(), args, out, &told), "%q", args)
		assert.Equal(t, 1, strings.Count(told.String(), "no space left on device"), "%q: %s", args, told.String())
		assert.Contains(t, told.String(), "the output could not be written", "%q", args)
		require.NoError(t, out.Close())
	}
}

// Flags may be anywhere.
func TestWordsAndFlags(t *testing.T) {
	want, _ := does(t, exitOK, "run", "S4", "-seed", "3", "-design", "redlock")
	for _, args := range [][]string{{"run", "-seed", "3", "S4", "-design", "redlock"}, {"run", "-design", "redlock", "-seed", "3", "S4"}} {
		got, _ := does(t, exitOK, args...)
		assert.Equal(t, want, got, "%q", args)
	}
}

// The command that a report gives for a repetition works.
func TestRepeat(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	args := []string{"matrix", "-designs", "redlock", "-faults", "pause, cut", "-seeds", "1", "-html", page, "-workers", "2"}
	does(t, exitOK, args...)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	command := start + " matrix -designs redlock -faults 'pause, cut' -seeds 1 -html " + page + " -workers 2"
	assert.Contains(t, html.UnescapeString(string(text)), command)
	does(t, exitOK, words(t, command)...)

	assert.Equal(t, start+` live -only 'it'\''s S1'`, repeat("live", "-only", "it's S1"))
}

// words splits a command line written by repeat.
func words(t *testing.T, command string) []string {
	t.Helper()
	rest, ok := strings.CutPrefix(command, start+" ")
	require.True(t, ok, command)
	var args []string
	for _, word := range regexp.MustCompile(`'[^']*'|[^ ]+`).FindAllString(rest, -1) {
		args = append(args, strings.Trim(word, "'"))
	}
	return args
}

// The heading of an interrupted command says so, and how much is done.
func TestInterruptionIsInTheHeading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"-html", ""}, {"matrix"}} {
		var out, errs bytes.Buffer
		require.Equal(t, exitFail, Run(ctx, args, &out, &errs), "%q", args)
		assert.Regexp(t, `^INTERRUPTED after 0 of \d\d\d+ runs\. Only\s+these are counted\.`, out.String(), "%q", args)
		assert.Contains(t, errs.String(), "interrupted")
	}
	f := matrixFlags{plan: matrix.Plan{Seeds: 50}, again: "again"}
	r := f.report(matrix.Result{Runs: 3, Planned: 70})
	assert.Equal(t, "INTERRUPTED after 3 of 70 runs. Only these are counted.", r.Notes[0])
	assert.Contains(t, r.Title, "as far as it was played")
	assert.Equal(t, "of 0:50", r.Seeds)
}

// A run with a schedule on the command line is the run with the same schedule in a file, and the
// output has the hash of its trace.
func TestRunWithSchedule(t *testing.T) {
	const faults = `[{"kind": "crash", "process": "c1", "op": "write", "nth": 1}]`
	path := filepath.Join(t.TempDir(), "faults.json")
	require.NoError(t, os.WriteFile(path, []byte(faults), 0o600))
	inFile, _ := does(t, exitOK, "run", "S1", "-schedule", path)
	inline, _ := does(t, exitOK, "run", "S1", "-schedule", faults)
	assert.Equal(t, inFile, inline)
	run, err := play.Play(play.Setup{Base: "S1", Schedule: simulation.Schedule{{Kind: fault.Crash, Process: "c1", Op: "write", Nth: 1}}})
	require.NoError(t, err)
	assert.Contains(t, inline, "\ntrace: sha256 "+run.Result.Log.Digest()+"\n")
	arguments, err := play.Setup{Base: "S1", Schedule: run.Schedule}.Arguments()
	require.NoError(t, err)
	again, _ := does(t, exitOK, words(t, start+" "+arguments)...)
	assert.Equal(t, inFile, again, "the arguments play the run again")
	own, _ := does(t, exitOK, "run", "S1")
	assert.NotEqual(t, inFile, own)
	for base, says := range map[string]string{"S2": "expected: anything", "slow": "c1 CRASHES"} {
		out, _ := does(t, exitOK, "run", base, "-schedule", path)
		assert.Contains(t, out, says)
	}
}
