package command

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/search"
)

// recorded writes a replay file of a run in which a pause breaks the lock.
func recorded(t *testing.T) string {
	t.Helper()
	file, err := search.Record(registry(), search.Setup{Workload: "S1", Design: "default", Seed: 4, Schedule: simulation.Schedule{
		{Kind: fault.Hang, Server: "A", At: 5e8, For: 123456789},
		{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: 17123456789},
	}}, record.LostUpdate)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "found.json")
	require.NoError(t, file.Save(path))
	return path
}

// The findings are the same with one worker and with two, and so are the files, which can be
// replayed.
func TestExplore(t *testing.T) {
	var outputs []string
	for _, workers := range []string{"1", "2"} {
		out := t.TempDir()
		code, stdout, stderr := said(t.Context(), "explore", "-seeds", "0:80", "-design", "setnx", "-faults", "pause,evict", "-workers", workers, "-out", out)
		require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
		assert.Contains(t, stderr, "kinds of violations")
		for _, words := range []string{"mixed with setnx: seeds 0:80, 80 runs", "two holders: ", "never free: ", "shrunk from", "kinds of events never happened"} {
			assert.Contains(t, strings.Join(strings.Fields(stdout), " "), words)
		}
		files, err := filepath.Glob(filepath.Join(out, "redlock-mixed-setnx-*.json"))
		require.NoError(t, err)
		assert.GreaterOrEqual(t, len(files), 2)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			stdout += string(text)
			code, replayed, errs := said(t.Context(), "replay", file)
			require.Equal(t, exitOK, code, "%s%s", replayed, errs)
			assert.Contains(t, replayed, "byte for byte")
			assert.Contains(t, replayed, "what happened", "the story is told")
		}
		outputs = append(outputs, strings.ReplaceAll(stdout, out, "OUT"))
	}
	assert.Equal(t, outputs[0], outputs[1])
}

// Each finding says what it breaks: an assumption, a promise, or a promise of the library alone.
func TestExploreSaysWhatIsBroken(t *testing.T) {
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	code, stdout, stderr := said(t.Context(), "explore", "-workload", "crowd", "-seeds", "0:100", "-faults", "split-brain", "-workers", "2", "-out", t.TempDir())
	require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
	assert.Contains(t, flat(stdout), "breaks assumption 3 (a vote stands for its TTL): ")

	code, stdout, stderr = said(t.Context(), "explore", "-within", "-design", "setnx", "-seeds", "0:100", "-workers", "1", "-out", t.TempDir())
	require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
	assert.Contains(t, flat(stdout), "no assumption is broken: setnx does not keep the library's promise 3 (liveness)")
	assert.Contains(t, stderr, "setnx does not keep all of the library's promises")
}

// If the library itself breaks a promise, that is called a bug.
func TestBugsAreCalledSo(t *testing.T) {
	s := searching{design: "default", registry: registry()}
	bug := search.Blame{Promise: 1}
	assert.Equal(t, "breaks promise 1 (mutual exclusion): the assumptions cover all that went wrong. THIS IS A BUG", s.blamed(bug, "mixed"))
	findings := []search.Finding{{Kind: record.TwoHolders}, {Kind: record.TwoHolders, Assumption: 1}}
	require.EqualError(t, s.sum("mixed", findings, 1), "1 kind of violation was found: 1 breaks a PROMISE, a bug of the library")
	require.EqualError(t, s.sum("mixed", append(findings, search.Finding{Kind: record.NeverFree}), 2), "2 kinds of violations were found: 2 break a PROMISE, a bug of the library")
	for _, d := range designs.All() {
		s.design = d.Name
		assert.Equal(t, slices.Contains([]string{"default", "token-write", "token-admit", "idempotent"}, d.Name), s.promises("mixed"), d.Name)
	}
}

func TestExploreFindsNothing(t *testing.T) {
	code, stdout, stderr := said(t.Context(), "explore", "-seeds", "40", "-faults", "cut", "-workers", "1", "-out", t.TempDir())
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)
	assert.Contains(t, stdout, "no violation")
	assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "kinds of events never happened", "beside a zero stands what never happened")
}

// An interrupted exploration reports its findings so far.
func TestExploreIsInterrupted(t *testing.T) {
	code, stdout, stderr := said(t.Context(), "explore", "-seeds", "0:", "-for", "300ms", "-faults", "cut", "-workers", "2", "-out", t.TempDir())
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)
	assert.Regexp(t, `the time is up: continue with seeds \d+:`, stdout)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr = said(ctx, "explore", "-seeds", "0:1000000", "-workers", "1", "-out", t.TempDir())
	require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
	assert.Contains(t, stdout, "interrupted: continue with seeds 0:1000000")
	assert.Contains(t, stderr, "interrupted")
}

// A file whose run has another outcome now, as after a change of the code.
func TestReplayThatDiffers(t *testing.T) {
	for says, change := range map[string]func(*search.File){
		"differs from the recorded one": func(f *search.File) { f.Digest = strings.Repeat("0", 64) },
		"doesn't reproduce":             func(f *search.File) { f.Violations, f.About = nil, "" },
	} {
		path := recorded(t)
		file, err := search.Load(registry(), path)
		require.NoError(t, err)
		change(&file)
		require.NoError(t, file.Save(path))
		code, stdout, stderr := said(t.Context(), "replay", "-quiet", path)
		assert.Equal(t, exitFail, code, "%s%s", stdout, stderr)
		assert.Contains(t, stderr, says)
	}
}
