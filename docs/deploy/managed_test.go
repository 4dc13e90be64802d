//go:build unix

package deploy_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// without configures a server without some commands, which answers like a hosted one.
func without(commands ...string) []string {
	var args []string
	for _, command := range commands {
		args = append(args, "--rename-command", command, "")
	}
	return args
}

// What the library does with servers that hide what hosted servers hide, as the table in
// docs/deploying.md says.
func TestManaged(t *testing.T) {
	for _, kind := range []struct {
		name   string
		args   []string
		verify error // nil: it is fit
		locks  error // nil: it gives locks
		hidden []string
	}{
		{"ElastiCache, Azure Cache", slices.Concat(without("CONFIG", "DEBUG", "SHUTDOWN"), []string{"--maxmemory-policy", "noeviction"}), nil, nil, []string{"CONFIG"}},
		{"Memorystore", slices.Concat(without("ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "OBJECT"), []string{"--maxmemory-policy", "noeviction"}), nil, nil, []string{"CONFIG"}},
		{"the default policy of most", []string{"--maxmemory-policy", "volatile-lru"}, quorum.ErrEviction, nil, nil},
		{"MemoryDB, and every cluster", []string{"--cluster-enabled", "yes"}, quorum.ErrNotMaster, quorum.ErrNotMaster, nil},
	} {
		t.Run(kind.name, func(t *testing.T) {
			server := instancetest.Start(t, instancetest.Config{Args: kind.args})
			servers, err := instance.OpenAll(instance.Config{}, server.URL())
			require.NoError(t, err)
			defer func() { require.NoError(t, servers.Close()) }()
			locks, err := quorum.New(quorum.Config{InstanceTimeout: 9 * time.Second, TTL: 20 * time.Second}, servers.Instances()...)
			require.NoError(t, err)
			defer func() { require.NoError(t, locks.Close(context.Background())) }()
			_ = locks.Trust(t.Context())

			report, err := locks.Verify(t.Context())
			if kind.verify == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, kind.verify)
			}
			for _, command := range kind.hidden {
				assert.Contains(t, strings.Join(report.Instances[0].Identity.Hidden, "; "), command)
			}
			lease, err := locks.TryAcquire(t.Context(), "orders:42")
			if kind.locks != nil {
				require.ErrorIs(t, err, kind.locks)
				return
			}
			require.NoError(t, err)
			require.NoError(t, lease.Extend(t.Context()))
			require.NoError(t, lease.Release(t.Context()))
		})
	}
}
