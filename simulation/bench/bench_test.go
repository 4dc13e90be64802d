package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The clients run this test program, with the race detector if the tests have it.
func TestMain(m *testing.M) {
	instanceTimeout = lockTTL / 4
	if len(os.Args) > 1 && os.Args[1] == clientProcess {
		main()
		return
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

func assertCycles(t *testing.T, row Row) {
	t.Helper()
	for _, name := range []string{"cycles_per_second", "p50_us", "most_turns", "client_cpu_us_per_cycle", "allocs_per_cycle", "goroutines"} {
		assert.Positive(t, row.Figures[name], "%s: %s", row.Case, name)
	}
	assert.GreaterOrEqual(t, row.Figures["p99_us"], row.Figures["p50_us"], row.Case)
	assert.GreaterOrEqual(t, row.Figures["most_turns"], row.Figures["fewest_turns"], row.Case)
	assert.Zero(t, row.Figures["failed"], row.Case)
}

// Every contender locks and releases, so no figure counts failures, except for rueidislock, whose
// workers sometimes hang: then it may have no figures.
func TestEveryContenderLocks(t *testing.T) {
	needRedis(t)
	group := throughput(40 * time.Millisecond)[0]
	require.Len(t, group, len(contenders))
	for i := range group {
		group[i].Workers = 4
	}
	rows, err := inTurns(t.Context(), group, 1, io.Discard)
	require.NoError(t, err)
	hung := 0
	for _, row := range rows {
		if strings.HasPrefix(row.Contender, "rueidislock") && row.Figures["failed"] > 0 {
			hung++
			continue
		}
		assertCycles(t, row)
	}
	assert.Less(t, hung, 2, "all of them")
	assert.Equal(t, Ratio{1, 1, 1}, rows[0].Ratios["cycles_per_second"], "the first is what the others are compared with")
}

func TestScale(t *testing.T) {
	needRedis(t)
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), strings.Fields("-rounds 1 -for 100ms scale"), &stdout, &stderr), stderr.String())
	var results Results
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &results))
	rows := results.Parts["scale"]
	require.Len(t, rows, 7)
	for _, row := range rows {
		assertCycles(t, row)
		assert.Equal(t, row.Servers == servers && row.Keys == 0, row.Ratios["cycles_per_second"].Median == 1, "five servers and own keys are what the others are compared with: %+v", row)
	}
}

// The leases are kept for longer than a TTL.
func TestHeld(t *testing.T) {
	t.Parallel() // it mostly waits
	needRedis(t)
	c := Case{Contender: ours, Servers: servers, Processes: 1, Leases: 2000, Long: 12 * time.Second} // with fewer, the noise is larger than their memory
	f, err := measure(t.Context(), c)
	require.NoError(t, err)
	assert.Greater(t, f["heap_bytes_per_lease"], 500.0, "a lease takes memory")
	assert.Less(t, f["heap_bytes_per_lease"], 100_000.0)
	assert.Less(t, f["leases_lost"], 1000.0)
	assert.Positive(t, f["client_cpu_cores"])
	assert.Positive(t, f["server_cpu_cores"])
	assert.Positive(t, f["acquired_in_seconds"])
}

// A lease that ends early counts as lost. Here all end, because no server answers.
func TestLostLeasesAreCounted(t *testing.T) {
	t.Parallel() // it mostly waits
	needRedis(t)
	c := Case{Contender: ours, Servers: 1, State: killed, Processes: 1, Leases: 20, Long: 2 * time.Second}
	f, err := measure(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, 20.0, f["leases_lost"])
}

// All processes and workers get the lock in turns.
func TestContended(t *testing.T) {
	needRedis(t)
	groups := contended(time.Second)
	require.Len(t, groups, 2)
	for _, g := range groups {
		at := slices.IndexFunc(g, func(c Case) bool { return c.Contender == ours })
		for c := g[at]; ; c.Long *= 2 { // a busy machine may be too slow for all of them
			f, err := measure(t.Context(), c)
			require.NoError(t, err)
			if f["fewest_turns"] == 0 && c.Long < time.Minute {
				continue
			}
			assert.Positive(t, f["fewest_turns"])
			assertCycles(t, Row{Case: c, Figures: f})
			break
		}
	}
}

// One process has the lock for longer than the measurement, so that the other one's wait ends without it.
func TestWaitsEndWithTheMeasurement(t *testing.T) {
	t.Parallel() // it mostly waits
	needRedis(t)
	c := Case{Contender: "redislock", Servers: 1, Processes: 2, Workers: 1, Keys: 1, Long: 100 * time.Millisecond, Hold: 2 * time.Second}
	f, err := measure(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, []float64{0, 1, 0}, []float64{f["fewest_turns"], f["most_turns"], f["failed"]})
	assert.Greater(t, f["p50_us"], 2e6)
}

// The library gets its locks from the other servers.
func TestSick(t *testing.T) {
	needRedis(t)
	groups := sick(100 * time.Millisecond)
	require.Len(t, groups, 4)
	for _, g := range groups {
		c := g[slices.IndexFunc(g, func(c Case) bool { return c.Contender == ours })]
		c.Workers = 2
		f, err := measure(t.Context(), c)
		require.NoError(t, err)
		assertCycles(t, Row{Case: c, Figures: f})
	}
}

// A fault strikes when the clients are ready: a client of nothing but that server fails from then on.
func TestFaultsStrike(t *testing.T) {
	t.Parallel() // it mostly waits
	needRedis(t)
	for _, state := range []string{hung, killed} {
		c := Case{Contender: "redislock", Servers: 1, State: state, Processes: 1, Workers: 2, Long: 100 * time.Millisecond}
		f, err := measure(t.Context(), c)
		require.NoError(t, err)
		assert.Positive(t, f["failed"], state)
		assert.Zero(t, f["cycles_per_second"], state)
	}
	c := Case{Contender: "redislock", Servers: 1, State: slow, Processes: 1, Workers: 2, Long: 100 * time.Millisecond}
	f, err := measure(t.Context(), c)
	require.NoError(t, err)
	assert.Greater(t, f["p50_us"], micros(2*slowness), "two round trips")
}

// What went wrong in a client is in the error.
func TestClientThatFails(t *testing.T) {
	needRedis(t)
	_, err := measure(t.Context(), Case{Contender: "nobody", Servers: 1, Processes: 2})
	assert.ErrorContains(t, err, `there is no contender "nobody"`)
}

func TestWrongUsage(t *testing.T) {
	for args, want := range map[string]string{
		"all":              `there is no part "all", want some of throughput`,
		"-rounds 0":        "-rounds is 0",
		"-for 1ms":         "1ms",
		"-no-such-flag 17": "usage:",
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, exitUsage, run(t.Context(), strings.Fields(args), &stdout, &stderr), args)
		assert.Contains(t, stderr.String(), want, args)
		assert.Empty(t, stdout.String(), args)
	}
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitOK, run(t.Context(), []string{"-h"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "-rounds")
}

func TestWithoutAServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitUsage, run(t.Context(), nil, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "install it")
}
