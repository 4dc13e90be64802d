package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

func startServers(t *testing.T, n int) []*redisproc.Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("REDLOCK_REQUIRE_REDIS") == "1" {
			t.Fatal(err)
		}
		t.Skip("there is no redis-server; install it to run this test")
	}
	servers := make([]*redisproc.Server, n)
	for i := range servers {
		server, err := redisproc.Start(t.Context(), redisproc.Config{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, server.Close()) })
		servers[i] = server
	}
	return servers
}

func addrsOf(servers []*redisproc.Server) []string {
	addrs := make([]string, len(servers))
	for i, server := range servers {
		addrs[i] = server.Addr()
	}
	return addrs
}

// runTask runs a task as the process does.
func runTask(t *testing.T, task Task) Result {
	t.Helper()
	input, err := json.Marshal(task)
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	require.Zero(t, Run(bytes.NewReader(input), &stdout, &stderr), stderr.String())
	var result Result
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &result))
	return result
}

// A separate process has no race detector; this test has one.
func TestTasks(t *testing.T) {
	addrs := addrsOf(startServers(t, 3))
	cycles := runTask(t, Task{Addrs: addrs, TTL: 10 * time.Second, Long: 100 * time.Millisecond, Workers: 4, Keys: 2})
	require.NotNil(t, cycles.Cycles)
	assert.Positive(t, cycles.Cycles.PerSecond)
	assert.Positive(t, cycles.Cycles.ClientCPU)

	held := runTask(t, Task{Addrs: addrs, TTL: time.Second, Leases: 200})
	require.NotNil(t, held.Held)
	assert.Equal(t, 200, held.Held.Leases)
	assert.GreaterOrEqual(t, held.Held.Seconds, 1.0)
	assert.NotZero(t, held.Held.Heap) // of so few leases it is less than what other garbage differs by
}

// A lease that ends early counts as lost. Here all end because their server's data is gone.
func TestLostLeasesAreCounted(t *testing.T) {
	const leases = 20
	server := startServers(t, 1)[0]
	flushed := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { flushed <- flushOnceHeld(ctx, server, leases) }()
	// Long enough for the deadlines of leases that were extended just before, also if the server is emptied
	// seconds after that.
	held := runTask(t, Task{Addrs: []string{server.Addr()}, TTL: 2 * time.Second, Long: 6 * time.Second, Leases: leases})
	cancel()
	require.NoError(t, <-flushed, "not all leases were extended")
	assert.Equal(t, leases, held.Held.Lost)
}

// flushOnceHeld empties a server when all leases have been extended. Before that, a client may not have
// taken in the grant of a key that is there: it would ask again.
func flushOnceHeld(ctx context.Context, server *redisproc.Server, leases int) error {
	left := make(map[string]int, leases) // by key: its remaining time in milliseconds
	for i := range leases {
		left[fmt.Sprintf("held-%d", i)] = -1
	}
	for ctx.Err() == nil && len(left) > 0 {
		for key, before := range left {
			reply, err := server.MustAsk("PTTL", key)
			if err != nil {
				return err
			}
			now, err := strconv.Atoi(strings.TrimPrefix(reply, ":"))
			switch {
			case err != nil:
				return err
			case before >= 0 && (now > before || now == -2): // extended, or on a busy machine already lost
				delete(left, key)
			default:
				left[key] = now
			}
		}
	}
	_, err := server.MustAsk("FLUSHALL")
	return errors.Join(err, ctx.Err())
}

func TestWrongTask(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Equal(t, 2, Run(strings.NewReader("no task"), &stdout, &stderr))
	assert.Contains(t, stderr.String(), "the task:")
}
