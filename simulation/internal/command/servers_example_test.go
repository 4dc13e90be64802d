//go:build unix

package command

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
)

// startServers starts three servers that break on request, and ends them with the test. does has steps carried out.
func startServers(t *testing.T) (urls []string, does func(steps string)) {
	t.Helper()
	cmd := exec.Command("redlocksim", "servers", "-n", "3")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { // they also end if this process is killed
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait())
	})
	var started struct {
		HTTP    string
		Servers []struct{ Address string }
	}
	require.NoError(t, json.NewDecoder(out).Decode(&started))
	for _, server := range started.Servers {
		urls = append(urls, "redis://"+server.Address)
	}
	return urls, func(steps string) {
		t.Helper()
		answer, err := http.Post(started.HTTP, "text/plain", strings.NewReader(steps))
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", steps, text)
	}
}

func TestLockWithBrokenServers(t *testing.T) {
	onPath(t) // this checkout's redlocksim; in a project of your own it is installed
	urls, does := startServers(t)
	locks, err := redlock.Open(quorum.Config{TTL: 20 * time.Second, InstanceTimeout: 9 * time.Second}, urls...) // a test machine is busy
	require.NoError(t, err)
	defer func() { require.NoError(t, locks.Close(context.Background())) }()
	require.NoError(t, locks.Trust(t.Context())) // the servers are new

	does("stop A")
	lease, err := locks.TryAcquire(t.Context(), "orders:42")
	require.NoError(t, err, "B and C are a majority")
	does("cut B")
	require.ErrorIs(t, lease.Extend(t.Context()), quorum.ErrNotExtended)
	does("heal B")
	require.NoError(t, lease.Extend(t.Context()))
	require.NoError(t, lease.Release(t.Context()))
}
