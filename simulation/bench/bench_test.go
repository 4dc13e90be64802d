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
)

// The processes of the contended part run this test program.
func TestMain(m *testing.M) {
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

// Every contender locks and releases, so that no figure counts failures. The test does not
// check the figures.
func TestEveryContenderLocks(t *testing.T) {
	needRedis(t)
	file := filepath.Join(t.TempDir(), "bench.json")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-rounds", "1", "-for", "40ms", "-parts", "throughput", "-workers", "1,4", "-json", file}, &stdout, &stderr)
	require.Equal(t, exitOK, code, stderr.String())

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var results Results
	require.NoError(t, json.Unmarshal(text, &results))
	require.Len(t, results.Throughput, 2*(len(contenders())-len(channels())))
	for _, one := range results.Throughput {
		assert.Zero(t, one.Failed, one.Contender)
		assert.Positive(t, one.PerSecond, one.Contender)
		assert.Positive(t, one.P50, one.Contender)
		assert.GreaterOrEqual(t, one.P99, one.P50, one.Contender)
		assert.Positive(t, one.Allocs, one.Contender)
		assert.Contains(t, stdout.String(), "| "+one.Contender+" |")
	}
	assert.Equal(t, 1.0, results.Throughput[0].Ratio, "the first is what the others are measured against")
}

func TestSickAndContended(t *testing.T) {
	needRedis(t)
	f, err := startFleet(t.Context(), 5)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	list := ourselves()[:1]

	contended, err := contention(t.Context(), f, list, 1, time.Millisecond, func(string) {})
	require.NoError(t, err)
	require.Len(t, contended, 2)
	for _, one := range contended {
		assert.Zero(t, one.Failed, "%+v", one)
		assert.Positive(t, one.PerSecond)
		assert.Positive(t, one.Commands, "commands are counted")
	}

	for _, state := range []string{"slow", "hung", "killed"} {
		one, err := measureSickness(t.Context(), list[0], state, 2, 100*time.Millisecond)
		require.NoError(t, err)
		assert.Zero(t, one.Failed, "%+v", one)
		assert.Zero(t, one.LeftThere, "%+v", one)
		assert.Zero(t, one.LeftLater, "%+v", one)
	}
}

// A short overload with few leases has all figures.
func TestOverloadIsMeasured(t *testing.T) {
	needRedis(t)
	one, err := measureOverload(t.Context(), overloadCase{
		leases: 20, ttl: 2 * time.Second, warm: 50 * time.Millisecond, long: 2 * time.Second, times: 0.2, waiters: 2, patience: 2 * time.Second,
	}, func(string) {})
	require.NoError(t, err)
	assert.Positive(t, one.Capacity)
	assert.Positive(t, one.Won)
	assert.Positive(t, one.Extensions)
	assert.Positive(t, one.Tried)
	assert.Positive(t, one.Waiters)
	assert.Positive(t, one.WaitP50)
	assert.GreaterOrEqual(t, one.ExtendWorst, one.ExtendP50)
}

func TestWrongUsage(t *testing.T) {
	for args, want := range map[string]string{
		"-parts all":       `-parts has "all"`,
		"-workers 0":       `-workers has "0"`,
		"-workers many":    `-workers has "many"`,
		"-rounds 0":        "-rounds is 0",
		"-leases 0":        "-leases is 0",
		"-for 1ms":         "1ms",
		"-only nobody":     "none of the contenders",
		"more":             "one word too many",
		"-no-such-flag 17": "see -h",
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

func TestQuantile(t *testing.T) {
	assert.Zero(t, quantile(nil, 0.5))
	times := []time.Duration{1, 2, 3, 4}
	assert.Equal(t, time.Duration(3), quantile(times, 0.5))
	assert.Equal(t, time.Duration(4), quantile(times, 1))
	assert.Equal(t, 2.0, median([]float64{3, 1, 2}))
}

func TestJoin(t *testing.T) {
	joined := join([]Sickness{
		{Contender: "redlock", State: "hung", Workers: 128, PerSecond: 10, P50: 5, P99: 9, Worst: 20, Goroutines: 7, HeapMB: 3, LeftThere: 1},
		{Contender: "redlock", State: "hung", Workers: 128, PerSecond: 30, P50: 1, P99: 8, Worst: 10, Goroutines: 9, HeapMB: 2, Failed: 1},
		{Contender: "redlock", State: "hung", Workers: 128, PerSecond: 20, P50: 2, P99: 7, Worst: 11, Goroutines: 8, HeapMB: 1, LeftLater: 2, Failed: 1},
	})
	assert.Equal(t, Sickness{
		Contender: "redlock", State: "hung", Workers: 128, PerSecond: 20, P50: 2, P99: 8, Worst: 20, Goroutines: 9, HeapMB: 3,
		Failed: 2, LeftThere: 1, LeftLater: 2,
	}, joined)
}
