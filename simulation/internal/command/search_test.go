package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
	"github.com/redquorum/redlock/simulation/search/history"
	"github.com/redquorum/redlock/simulation/search/judge"
)

// said runs a command and returns its exit code and output.
func said(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
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
		code, stdout, stderr := said(t.Context(), "explore", "-seeds", "0:80", "-design", "setnx", "-faults", "pause,evict", "-workers", workers, "-out", out, "-porcupine", filepath.Join(out, "page.html"))
		require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
		assert.Contains(t, stderr, "kinds of violations")
		for _, words := range []string{"mixed with setnx: seeds 0:80, 80 runs", "two holders: ", "never free: ", "shrunk from", "a process crashed", "never happened", "porcupine: "} {
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
		page, err := os.ReadFile(filepath.Join(out, "page.html"))
		require.NoError(t, err)
		assert.Contains(t, string(page), "<html")
		outputs = append(outputs, strings.ReplaceAll(stdout, out, "OUT"))
	}
	assert.Equal(t, outputs[0], outputs[1])
}

// Each finding says what it breaks: an assumption, a promise, or a promise of the library alone.
func TestExploreSaysWhatIsBroken(t *testing.T) {
	long.Test(t, "a thousand runs, of the same code as in TestExplore")
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	code, stdout, stderr := said(t.Context(), "explore", "-workload", "crowd", "-seeds", "0:100", "-faults", "split-brain", "-workers", "2", "-out", t.TempDir())
	require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
	assert.Contains(t, flat(stdout), "breaks assumption 3 (a vote stands for its TTL): ")

	code, stdout, stderr = said(t.Context(), "explore", "-seeds", "0:600", "-faults", "suspend", "-workers", "2", "-out", t.TempDir())
	require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
	assert.Regexp(t, `breaks assumption 2 \(servers count a TTL at about the client's rate, and their clocks don't jump\): the clocks of a suspended machine, c\d's, stood still`, flat(stdout))
	assert.Contains(t, stderr, "assumptions are broken, no promise is")
	assert.NotContains(t, stdout, "BUG")

	code, stdout, stderr = said(t.Context(), "explore", "-within", "-seeds", "0:300", "-workers", "2", "-out", t.TempDir())
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)
	assert.Contains(t, stdout, "seeds 0:300, within the assumptions, 300 runs")
	assert.Contains(t, stdout, "no violation")
	assert.Contains(t, stdout, "a key was evicted", "it never happened")

	code, stdout, stderr = said(t.Context(), "explore", "-within", "-design", "setnx", "-seeds", "0:100", "-workers", "1", "-out", t.TempDir())
	require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
	assert.Contains(t, flat(stdout), "no assumption is broken: setnx does not keep the library's promise 3 (liveness)")
	assert.Contains(t, stderr, "setnx does not keep all of the library's promises")
}

// If the library itself breaks a promise, that is called a bug.
func TestBugsAreCalledSo(t *testing.T) {
	s := searching{searchFlags: searchFlags{design: "default"}, registry: registry()}
	bug := search.Blame{Promise: 1}
	assert.Equal(t, "breaks promise 1 (mutual exclusion): the assumptions cover all that went wrong. THIS IS A BUG", s.blamed(bug, "mixed"))
	findings := []search.Finding{{Kind: record.TwoHolders, Cause: search.Covered}, {Kind: record.TwoHolders, Cause: search.Observed}}
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
	assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "a process crashed", "beside a zero stands what never happened")
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

func TestExhaust(t *testing.T) {
	long.Test(t, "hundreds of runs, of the same code as in search's own test of single faults")
	code, stdout, stderr := said(t.Context(), "exhaust", "X1", "-faults", "pause,crash", "-lengths", "12s", "-workers", "1", "-out", t.TempDir(), "-pairs", "-most", "30")
	require.Equal(t, exitFail, code, "%s%s", stdout, stderr)
	assert.Regexp(t, `every single fault in X1 with default, seed 0: \d\d+ runs`, stdout)
	assert.Regexp(t, `(?m)^lost update +pause c1 +\d+  at operation \d+ for 1[25]s$`, stdout)
	assert.Regexp(t, `pairs of faults: 30 runs of the \d+ that there are`, stdout)
	assert.Contains(t, stdout, "cases 0:30, 30 runs")
}

func TestReplay(t *testing.T) {
	path := recorded(t)
	page := filepath.Join(t.TempDir(), "page.html")
	code, stdout, stderr := said(t.Context(), "replay", path, "-porcupine", page)
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)
	for _, words := range []string{"S1 with default, seed 4, 2 faults", "LOST UPDATE", "the trace is the recorded one, byte for byte", "porcupine: exclusion broken, tokens holds, resource broken"} {
		assert.Contains(t, stdout, words)
	}
	assert.FileExists(t, page)

	code, stdout, _ = said(t.Context(), "replay", "-trace", path)
	require.Equal(t, exitOK, code)
	assert.Contains(t, stdout, "VIOLATION lost update")
	code, stdout, _ = said(t.Context(), "replay", "-quiet", path)
	require.Equal(t, exitOK, code)
	assert.Len(t, strings.Split(strings.TrimSpace(stdout), "\n"), 2)
}

// The judge knows locks only.
func TestNoSecondOpinionOnSemaphores(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	code, _, stderr := said(t.Context(), "explore", "-design", "semaphore-of-servers", "-faults", "flush", "-seeds", "0:100", "-out", t.TempDir(), "-porcupine", page)
	require.Equal(t, exitUsage, code, stderr)
	assert.Contains(t, stderr, "lets in 2: leave it out")
	assert.NoFileExists(t, page)
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

func TestShrink(t *testing.T) {
	path := recorded(t)
	code, stdout, stderr := said(t.Context(), "shrink", path)
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)
	assert.Contains(t, stdout, "lost update: shrunk from 2 faults to 1 fault, in ")
	assert.Contains(t, stdout, "pause of c1, at its write number 1, for ")
	small := strings.TrimSuffix(path, ".json") + "-small.json"
	code, stdout, stderr = said(t.Context(), "replay", "-quiet", small)
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)

	again := filepath.Join(t.TempDir(), "again.json")
	code, stdout, stderr = said(t.Context(), "shrink", "-kind", "two holders", "-o", again, small)
	require.Equal(t, exitOK, code, "%s%s", stdout, stderr)
	assert.FileExists(t, again)
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
	cutOff, edited := write(string(text[:len(text)/2])), write(strings.Replace(string(text), `"seed": 4`, `"seed": 5`, 1))
	version := write(strings.Replace(string(text), `"version": 1`, `"version": 7`, 1))
	unknown := write(strings.Replace(string(text), `"S1"`, `"S99"`, 1))
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"replay"}, "which replay file?"},
		{[]string{"replay", "nowhere.json"}, "no such file"},
		{[]string{"replay", cutOff}, "cut off"},
		{[]string{"replay", edited}, "edited or damaged"},
		{[]string{"replay", version}, "version 7"},
		{[]string{"replay", unknown}, "edited or damaged"},
		{[]string{"replay", good, "more"}, "unexpected argument"},
		{[]string{"shrink", cutOff}, "cut off"},
		{[]string{"shrink", "-kind", "rain", good}, `-kind is "rain"`},
		{[]string{"shrink"}, "which replay file?"},
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
		{[]string{"exhaust"}, "which scenario?"},
		{[]string{"exhaust", "S99"}, `no workload "S99"`},
		{[]string{"exhaust", "S1", "-lengths", "0s"}, "is no length"},
		{[]string{"exhaust", "S1", "-lengths", "soon"}, "invalid duration"},
		{[]string{"worker", "search", "now"}, "unexpected argument"},
		{[]string{"worker", "now"}, `no workers for "now"`},
	} {
		code, stdout, stderr := said(t.Context(), test.args...)
		assert.Equal(t, exitUsage, code, "%q: %s%s", test.args, stdout, stderr)
		assert.Contains(t, strings.ToLower(stderr), strings.ToLower(test.says), "%q", test.args)
	}
}

// The judges agree on every design, as history.Of says: porcupine finds what the
// simulation's checks find, except for stale writes under leases without tokens, and for unanswered
// requests.
func TestTheJudgesAgreeOnEveryDesign(t *testing.T) {
	long.Test(t, "many runs, of the same code as in search's own test of the judges")
	violent := []fault.Kind{fault.Pause, fault.Evict, fault.Flush, fault.Restart, fault.Failover, fault.Duplicate, fault.Delay}
	r := registry()
	broken := 0
	for name, seeds := range map[string]uint64{"mixed": 20, "crowd": 5} {
		w, err := r.Workload(name)
		require.NoError(t, err)
		for _, d := range r.Designs {
			if d.Group == designs.Semaphores {
				continue // the judge's model is a lock
			}
			cfg := w.Base
			d.Apply(&cfg)
			for seed := range seeds {
				setup := search.Setup{Workload: w.Name, Design: d.Name, Seed: seed, Schedule: simulation.Draw(seed, cfg, violent, 10, w.Span)}
				if !agree(t, r, setup) {
					broken++
				}
			}
		}
	}
	assert.Greater(t, broken, 50)
}

// agree plays a setup and requires that the judge finds what the checks find; it reports whether
// that is nothing.
func agree(t *testing.T, r search.Registry, setup search.Setup) bool {
	t.Helper()
	result, err := r.Play(setup)
	require.NoError(t, err)
	operations := history.Of(result.Log, result.Ended)
	verdict, err := judge.Check(operations, 0)
	require.NoError(t, err)
	kinds := result.Kinds()
	found := func(kind record.ViolationKind) bool { return slices.Contains(kinds, kind) }
	unanswered := slices.ContainsFunc(operations, func(o judge.Operation) bool { return o.Outcome == judge.Unknown })
	tokenless := slices.ContainsFunc(operations, func(o judge.Operation) bool { return o.Kind == judge.Lock && o.Token == 0 })
	crooked := slices.ContainsFunc(setup.Schedule, func(f fault.Fault) bool {
		return f.Kind == fault.Suspend || f.Process != "" && (f.Kind == fault.Step || f.Kind == fault.Rate)
	})
	where := fmt.Sprintf("%s, seed %d: %v, %v", setup.Design, setup.Seed, verdict, kinds)
	assert.Equal(t, found(record.TokenOrder), verdict.Tokens == judge.Broken, where)
	if !crooked {
		assert.Equal(t, found(record.TwoHolders), verdict.Exclusion == judge.Broken, where)
	}
	damaged := found(record.LostUpdate) || found(record.StaleWrite)
	if verdict.Resource == judge.Broken {
		assert.True(t, damaged, where)
	} else if !unanswered && (!tokenless || found(record.LostUpdate)) {
		assert.False(t, damaged, where)
	}
	return verdict.Holds()
}

// Every workload can be played with every design that it names.
func TestRegistryIsSound(t *testing.T) {
	r := registry()
	name := regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	seen := map[string]bool{}
	for _, w := range r.Workloads {
		require.Regexp(t, name, w.Name)
		require.False(t, seen[w.Name], "%s is there twice", w.Name)
		seen[w.Name] = true
		_, err := r.Play(search.Setup{Workload: w.Name, Design: "default"})
		require.NoError(t, err, w.Name)
	}
	for _, d := range r.Designs {
		_, err := r.Play(search.Setup{Workload: "mixed", Design: d.Name})
		require.NoError(t, err, d.Name)
	}
}
