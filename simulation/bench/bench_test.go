package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/bench/client"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// The processes of the contended part run this test program.
func TestMain(m *testing.M) {
	instanceTimeout = ttl / 4
	if len(os.Args) > 1 && os.Args[1] == contenderProcess {
		os.Exit(contendAsProcess(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func needRedis(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("REDLOCK_REQUIRE_REDIS") == "1" {
			t.Fatal(err)
		}
		t.Skip("there is no redis-server; install it to run this test")
	}
}

// measured runs the program, and reads what it writes.
func measured(t *testing.T, args string) (results Results) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), strings.Fields(args), &stdout, &stderr), stderr.String())
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &results))
	return results
}

// Every contender locks and releases, so no figure counts failures, except for rueidislock, whose
// workers sometimes hang: then it may have no figures. The test does not check the figures.
func TestEveryContenderLocks(t *testing.T) {
	needRedis(t)
	results := measured(t, "-rounds 1 -for 40ms -parts throughput -workers 1,4")
	require.Len(t, results.Throughput, 2*len(contenders()))
	hung := 0
	for _, one := range results.Throughput {
		if strings.HasPrefix(one.Contender, "rueidislock") && one.Failed > 0 {
			hung++
			continue
		}
		assert.Zero(t, one.Failed, one.Contender)
		assert.Positive(t, one.PerSecond, one.Contender)
		assert.Positive(t, one.P50, one.Contender)
		assert.GreaterOrEqual(t, one.P99, one.P50, one.Contender)
		assert.Positive(t, one.Allocs, one.Contender)
	}
	assert.Less(t, hung, 2*len(rueidislocks()), "all of them")
	assert.Equal(t, 1.0, results.Throughput[0].Ratio.Ratio, "the first is what the others are measured against")
}

// The parts that measure only this library have all their figures, and those of each round.
func TestLibraryIsMeasured(t *testing.T) {
	needRedis(t)
	results := measured(t, "-quick -parts scale,held")
	require.Len(t, results.Scale, 7)
	for _, one := range results.Scale {
		assert.Positive(t, one.PerSecond, "%+v", one)
		assert.Positive(t, one.P50, "%+v", one)
		assert.GreaterOrEqual(t, one.P99, one.P50, "%+v", one)
		assert.Positive(t, one.ClientCPU, "%+v", one)
		assert.Positive(t, one.ServerCPU, "%+v", one)
		assert.Equal(t, one.Servers == servers && one.Keys == 0, one.Ratio.Ratio == 1, "five servers and own keys are what the others are compared with: %+v", one)
	}

	require.Len(t, results.Held, 1)
	for _, one := range results.Held {
		assert.Equal(t, 2000, one.Leases)
		assert.GreaterOrEqual(t, one.Seconds, one.TTL, "at least a TTL is measured")
		assert.Greater(t, one.Heap, 500.0, "a lease takes memory")
		assert.Less(t, one.Heap, 100_000.0)
		assert.Positive(t, one.ClientCPU, "the leases are extended")
		assert.Positive(t, one.ServerCPU)
	}
}

// This checkout is measured against itself.
func TestAgainst(t *testing.T) {
	needRedis(t)
	results := measured(t, "-quick -parts throughput -workers 8 -against ../..")
	assert.Len(t, results.Against.Figures, 7)
	for _, f := range results.Against.Figures {
		if f.Figure == "failed" {
			assert.Zero(t, f.Ratio, "%+v", f)
			continue
		}
		assert.Positive(t, f.This, "%+v", f)
		assert.Positive(t, f.Other, "%+v", f)
		assert.InEpsilon(t, f.This/f.Other, f.Ratio.Ratio, 1e-9, "%+v", f)
	}
}

// The client program is that of the other folder, which has none if it is no checkout.
func TestAgainstAFolderWithoutTheLibrary(t *testing.T) {
	needRedis(t)
	folder := t.TempDir()
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitFail, run(t.Context(), []string{"-quick", "-against", folder}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "building the client program of "+folder+", which has to be a checkout of this repository")
	assert.Empty(t, stdout.String())
}

// A file of results keeps what was not measured again, with its setting.
func TestResultsOfSeveralRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	first := Results{
		Throughput: []Throughput{{Contender: "redsync"}},
		Held:       []client.Held{{Leases: 7}},
		Recorded:   map[string]Setting{"throughput": {Rounds: 1}, "held": {Rounds: 2}},
	}
	require.NoError(t, first.write(file, nil))
	second := Results{
		Throughput: []Throughput{{Contender: "redsync", Ratio: stats.Ratio{Ratio: 7}}},
		Recorded:   map[string]Setting{"throughput": {Rounds: 3}, "against": {Rounds: 4}},
	}
	require.NoError(t, second.write(file, nil))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var both Results
	require.NoError(t, json.Unmarshal(text, &both))
	assert.Equal(t, second.Throughput, both.Throughput, "measured again")
	assert.Equal(t, first.Held, both.Held, "only measured before")
	assert.Equal(t, map[string]Setting{"throughput": {Rounds: 3}, "held": {Rounds: 2}, "against": {Rounds: 4}}, both.Recorded)

	require.NoError(t, os.WriteFile(file, []byte("no results"), 0o644))
	assert.ErrorContains(t, second.write(file, nil), "has no results of this program")
}

func TestSickAndContended(t *testing.T) {
	needRedis(t)
	f, err := startFleet(t.Context(), 5)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	list := ourselves()[:1]

	for _, processes := range []int{1, 4} {
		var one Contended
		for long := time.Second; one.PerSecond == 0 && long < time.Minute; long *= 2 { // the processes may start late
			one, err = measureContended(t.Context(), list[0], f, processes, 4, long)
			require.NoError(t, err)
			assert.Zero(t, one.Failed, "%+v", one)
		}
		assert.Positive(t, one.PerSecond)
		assert.Positive(t, one.Commands, "commands are counted")
	}

	for _, state := range []string{"slow", "hung", "killed"} {
		one, err := measureSickness(t.Context(), list[0], state, 2, 100*time.Millisecond)
		require.NoError(t, err)
		assert.Zero(t, one.Failed, "%+v", one)
		assert.Positive(t, one.P50, "%+v", one)
	}
}

func TestWrongUsage(t *testing.T) {
	for args, want := range map[string]string{
		"-parts all":                 `-parts has "all"`,
		"-workers 0":                 `-workers has "0"`,
		"-workers many":              `-workers has "many"`,
		"-against ../.. -parts sick": `-parts has "sick", want some of throughput`,
		"-rounds 0":                  "-rounds is 0",
		"-for 1ms":                   "1ms",
		"more":                       "one word too many",
		"-no-such-flag 17":           "see -h",
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, exitUsage, run(t.Context(), strings.Fields(args), &stdout, &stderr), args)
		assert.Contains(t, stderr.String(), want, args)
		assert.Empty(t, stdout.String(), args)
	}
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitOK, run(t.Context(), []string{"-h"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "-workers")
}

func TestWithoutAServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitUsage, run(t.Context(), []string{"-quick"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "install it")
}
