package command

import (
	"bytes"
	"context"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/search"
)

// said runs a command and returns its exit code and output.
func said(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

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

func TestReplay(t *testing.T) {
	path := recorded(t)
	code, stdout, stderr := said(t.Context(), "replay", path)
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)
	for _, words := range []string{"S1 with default, seed 4, 2 faults", "LOST UPDATE", "the trace is the recorded one, byte for byte"} {
		assert.Contains(t, stdout, words)
	}

	code, stdout, _ = said(t.Context(), "replay", "-quiet", path)
	require.Equal(t, exitOK, code)
	assert.Len(t, strings.Split(strings.TrimSpace(stdout), "\n"), 2)
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

// Wrong usage is reported with the fix, and exits with 2.
func TestSearchWrongUsage(t *testing.T) {
	good := recorded(t)
	text, err := os.ReadFile(good)
	require.NoError(t, err)
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "bad.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	cutOff := write(string(text[:len(text)/2]))
	version := write(strings.Replace(string(text), `"version": 2`, `"version": 7`, 1))
	unknown := write(strings.Replace(string(text), `"S1"`, `"S99"`, 1))
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"replay"}, "which replay file?"},
		{[]string{"replay", "nowhere.json"}, "no such file"},
		{[]string{"replay", cutOff}, "cut off"},
		{[]string{"replay", version}, "version 7"},
		{[]string{"replay", unknown}, `no workload "S99"`},
		{[]string{"replay", good, "more"}, "unexpected argument"},
		{[]string{"explore", "-seeds", "5:5"}, "want A:B"},
		{[]string{"explore", "-seeds", "x"}, "want A:B"},
		{[]string{"explore", "-seeds", "-1:5"}, "want A:B"},
		{[]string{"explore", "-seeds", "1:"}, "has no end"},
		{[]string{"explore", "-faults", "rain"}, `no fault "rain"`},
		{[]string{"explore", "-design", "paper"}, `no design "paper"`},
		{[]string{"explore", "-workload", "S99"}, `no workload "S99"`},
		{[]string{"explore", "-workers", "0"}, "-workers is 0"},
		{[]string{"explore", "-for", "-1s"}, "-for is -1s"},
		{[]string{"explore", "-most", "0x10000"}, "at most 65536 faults"},
		{[]string{"explore", "-out", "/no/such/folder"}, "-out"},
		{[]string{"explore", "-out", good}, "is no folder"},
		{[]string{"explore", "now"}, "unexpected argument"},
		{[]string{"worker", "search", "now"}, "unexpected argument"},
		{[]string{"worker", "now"}, `no workers for "now"`},
	} {
		code, stdout, stderr := said(t.Context(), test.args...)
		assert.Equal(t, exitUsage, code, "%q: %s%s", test.args, stdout, stderr)
		assert.Contains(t, strings.ToLower(stderr), strings.ToLower(test.says), "%q", test.args)
	}
}
