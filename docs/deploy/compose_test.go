//go:build unix

// Package deploy_test checks the files of docs/getting-started.md, docs/deploying.md and
// docs/running.md against their schemas and with real servers. It is a separate module, so that
// importers of the lock don't get its dependencies.
package deploy_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

// project loads compose.yaml, and checks it against the schema of the Compose
// specification.
func project(t *testing.T) *types.Project {
	t.Helper()
	details := types.ConfigDetails{WorkingDir: ".", ConfigFiles: types.ToConfigFiles([]string{"compose.yaml"})}
	p, err := loader.LoadWithContext(t.Context(), details, func(o *loader.Options) { o.SetProjectName("redlock", true) })
	require.NoError(t, err)
	return p
}

func TestCompose(t *testing.T) {
	p := project(t)
	assert.Equal(t, []string{"redis-a", "redis-b", "redis-c"}, slices.Sorted(maps.Keys(p.Services)))
	volumes, ports := map[string]bool{}, map[string]bool{}
	for name, s := range p.Services {
		require.Len(t, s.Ports, 1, name)
		assert.Equal(t, "127.0.0.1", s.Ports[0].HostIP, "%s has no password: only this machine may reach it", name)
		assert.EqualValues(t, 6379, s.Ports[0].Target)
		ports[s.Ports[0].Published] = true
		require.Len(t, s.Volumes, 1, name)
		assert.Equal(t, "/data", s.Volumes[0].Target)
		volumes[s.Volumes[0].Source] = true
	}
	assert.Len(t, ports, 3)
	assert.Len(t, volumes, 3, "two servers on one volume would be one server")
	serve(t, serverArgs(t, p.Services["redis-a"].Command))
}

// serverArgs removes the server's name from a command line, and checks that redisproc, which adds a
// port, a directory and an address, leaves the rest unchanged.
func serverArgs(t *testing.T, words []string) []string {
	t.Helper()
	require.NotEmpty(t, words)
	require.Equal(t, "redis-server", words[0])
	for _, own := range []string{"--port", "--dir", "--bind", "--daemonize"} {
		require.NotContains(t, words, own)
	}
	return words[1:]
}

// serve starts three servers with exactly these arguments, takes locks on them, and
// restarts one.
func serve(t *testing.T, args []string) {
	t.Helper()
	started := instancetest.StartN(t, 3, instancetest.Config{Args: args}) // skips the test where there is no redis-server
	var urls []string
	for _, s := range started {
		urls = append(urls, s.URL())
	}
	servers, err := instance.OpenAll(instance.Config{}, urls...)
	require.NoError(t, err)
	defer func() { require.NoError(t, servers.Close()) }()
	// On a busy machine a server may answer late, and start within minutes.
	locks, err := quorum.New(quorum.Config{
		InstanceTimeout: 30 * time.Second, MaxTTL: 10 * time.Minute, TTL: 5 * time.Minute,
	}, servers.Instances()...)
	require.NoError(t, err)
	defer func() { require.NoError(t, locks.Close(context.Background())) }()

	report, err := locks.Verify(t.Context())
	require.ErrorIs(t, err, quorum.ErrQuarantined, "they have just come up")
	for _, in := range report.Instances {
		assert.Equal(t, "noeviction", in.Identity.Eviction)
		assert.Equal(t, "aof everysec", in.Identity.Persistence)
		assert.Empty(t, in.Identity.Hidden)
	}
	require.NoError(t, locks.Trust(t.Context())) // no lock was ever taken on them
	_, err = locks.Verify(t.Context())
	require.NoError(t, err)
	lease, err := locks.TryAcquire(t.Context(), "orders:42")
	require.NoError(t, err)

	// The data is kept, and the server is in quarantine nevertheless. The others continue.
	require.NoError(t, locks.Settle(t.Context())) // its vote may not have been waited for
	counter := started[0].MustAsk("GET", "{orders:42}:redlock")
	require.Regexp(t, `\d{16}`, counter)
	started[0].Restart()
	assert.Equal(t, counter, started[0].MustAsk("GET", "{orders:42}:redlock"))
	require.Eventually(t, func() bool { // at first its connection breaks
		report, err = locks.Verify(t.Context())
		return report.Instances[0].Err == nil || errors.Is(err, quorum.ErrQuarantined)
	}, time.Minute, 10*time.Millisecond)
	require.ErrorIs(t, report.Instances[0].Err, quorum.ErrQuarantined)
	require.NoError(t, report.Instances[1].Err)
	require.NoError(t, report.Instances[2].Err)
	require.NoError(t, lease.Extend(t.Context()))
	require.NoError(t, lease.Release(t.Context()))
}

// defaultsOf returns a Config with its defaults filled in.
func defaultsOf(t *testing.T, cfg quorum.Config) quorum.Config {
	t.Helper()
	locks, err := quorum.New(cfg, quorumtest.NewServer("A", nil))
	require.NoError(t, err)
	defer func() { require.NoError(t, locks.Close(context.Background())) }()
	return locks.Config()
}
