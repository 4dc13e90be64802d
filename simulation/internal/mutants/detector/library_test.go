package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// These tests catch mutants that no scenario can: several goroutines of one process wait
// for one lock.

// withServers runs a test with a Coordinator on five servers, in virtual time.
func withServers(t *testing.T, test func(t *testing.T, c *quorum.Coordinator, servers []*quorumtest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		servers, instances := make([]*quorumtest.Server, 5), make([]wire.Instance, 5)
		for i := range servers {
			servers[i] = quorumtest.NewServer(string(rune('A'+i)), nil)
			instances[i] = quorumtest.NotifyingServer{Server: servers[i]}
		}
		c, err := quorum.New(quorum.Config{
			RestartQuarantine: quorum.Off, InstanceTimeout: 100 * time.Millisecond,
			Cohorts: quorum.Off, // a round for each lease
			Terms:   quorum.Terms{MaxWait: 20 * time.Second},
		}, instances...)
		require.NoError(t, err)
		defer func() { assert.NoError(t, c.Close(context.Background())) }()
		test(t, c, servers)
	})
}

// A stale key on one server costs one vote, whichever server is asked first.
func TestKeyThatStaysOnOneServer(t *testing.T) {
	for stale := range 5 {
		withServers(t, func(t *testing.T, c *quorum.Coordinator, servers []*quorumtest.Server) {
			servers[stale].Put("k", "stale", wire.NoExpiry)
			for i := 1; i < 3; i++ {
				servers[(stale+i)%5].Put("k", "stale", 2*time.Second)
			}
			lease, err := c.Acquire(context.Background(), "k")
			require.NoError(t, err, "with the key on %v", servers[stale])
			require.NoError(t, lease.Release(context.Background()))
		})
	}
}
