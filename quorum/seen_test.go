package quorum_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// A name leads to another server for a moment, in which one client marks that server, and back. There a
// client is refused a lock that another one has got since. When the name moves again, the mark is older
// than that lease, and its age must not count.
func TestARefusalShowsThatTheServerWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1, func(cfg *quorum.Config) {
			cfg.MaxTTL, cfg.TTL, cfg.Lab.ClockMonitor = 30*time.Second, 30*time.Second, quorum.Off
		})
		f.servers[0].SetIdentity(nil)
		second := quorumtest.NewServer("A", nil)
		second.Restart(false) // it has no mark
		time.Sleep(5 * time.Minute)
		var paths []*path
		var clients []*quorum.Coordinator
		for range 3 {
			p := newPath(f.servers[0])
			c := f.newCoordinatorOn(f.cfg, []wire.Instance{p})
			lease := f.acquireBy(c, "k")
			require.NoError(t, lease.Release(f.ctx))
			paths, clients = append(paths, p), append(clients, c)
		}
		time.Sleep(time.Minute)

		paths[2].to.Store(second)
		_, err := clients[2].TryAcquire(f.ctx, "other")
		require.Error(t, err, "a new server doesn't vote")
		paths[2].to.Store(f.servers[0])
		time.Sleep(15 * time.Second)
		lease, err := clients[1].TryAcquire(f.ctx, "k")
		require.NoError(t, err)
		_, err = clients[0].TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrTaken)

		paths[0].to.Store(second)
		for lease.Validity() > 0 {
			_, err := clients[0].TryAcquire(f.ctx, "k")
			require.Error(t, err, "the lease has %v left", lease.Validity())
			time.Sleep(500 * ms)
		}
	})
}
