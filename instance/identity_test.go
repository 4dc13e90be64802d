//go:build unix

package instance_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum"
)

// one is a newcomer that vouches for its server.
func one(t *testing.T, addr string, ttl time.Duration) *quorum.Coordinator {
	t.Helper()
	c := newcomer(t, addr, ttl)
	require.NoError(t, c.Trust(t.Context()))
	return c
}

// newcomer is a Coordinator of a client of its own on the one server at an address. A
// majority of one shows whose vote counts without any luck.
func newcomer(t *testing.T, addr string, ttl time.Duration) *quorum.Coordinator {
	t.Helper()
	client := redis.NewClient(instance.Harden(&redis.Options{Addr: addr, DialTimeout: 200 * time.Millisecond, ConnMaxLifetime: 200 * time.Millisecond}))
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	inst, err := instance.New(client, instance.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inst.Close()) })
	c, err := quorum.New(quorum.Config{Terms: quorum.Terms{TTL: ttl}, MaxTTL: ttl + inst.ConnLife(), InstanceTimeout: ttl / 5}, inst)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	return c
}

// A server is restarted without its data behind a proxy that keeps its clients'
// connections. The holder's lease runs on, and nobody else gets one before it is over.
func TestRestartBehindAFrontend(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := instancetest.Start(t, instancetest.Config{})
	front, err := redisproc.NewFrontend(s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, front.Close()) })
	const ttl = 2 * time.Second
	a, b := one(t, front.Addr(), ttl), one(t, front.Addr(), ttl)
	warm, err := b.TryAcquire(t.Context(), "other")
	require.NoError(t, err)
	require.NoError(t, warm.Release(t.Context()))

	first, err := a.TryAcquire(t.Context(), "k")
	require.NoError(t, err)
	s.Kill()
	s.Restart()
	_, err = b.TryAcquire(t.Context(), "k")
	for ; strings.Contains(err.Error(), "server closed the connection"); _, err = b.TryAcquire(t.Context(), "k") {
		require.NotErrorIs(t, err, quorum.ErrOtherRun)
	}
	require.ErrorIs(t, err, quorum.ErrOtherRun)
	require.ErrorIs(t, err, quorum.ErrQuarantined)
	second, err := b.Acquire(t.Context(), "k")
	require.NoError(t, err)
	require.Zero(t, first.Validity(), "two leases at once")
	require.Greater(t, second.Token(), first.Token())
}

// The same server comes back with a snapshot: tokens go on above those that it gave
// since.
func TestOlderCounterBehindAFrontend(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := instancetest.Start(t, instancetest.Config{})
	front, err := redisproc.NewFrontend(s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, front.Close()) })
	c := one(t, front.Addr(), time.Second)
	take := func() fencing.Token {
		lease, err := c.Acquire(t.Context(), "k")
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))
		return lease.Token()
	}
	take()
	s.MustAsk("SAVE")
	var last fencing.Token
	for range 5 {
		last = take()
	}
	s.Kill()
	s.Restart()
	require.Greater(t, take(), last)
}

// An address is moved to another server while both run, and connections to the old one
// live on: whichever of them a command reaches, one Coordinator has one lease on a key,
// and it notices the other server although no connection breaks.
func TestSwitchedAddress(t *testing.T) {
	t.Parallel() // it waits most of the time
	servers := instancetest.StartN(t, 2, instancetest.Config{})
	link, err := redisproc.NewLink(servers[0].Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = link.Close() })
	c := one(t, link.Addr(), 2*time.Second)
	held, err := c.TryAcquire(t.Context(), "held")
	require.NoError(t, err)
	held.KeepAlive()
	link.Switch(servers[1].Addr())

	deadline := time.Now().Add(15 * time.Second)
	for round := 0; ; round++ {
		require.True(t, time.Now().Before(deadline), "nobody noticed the other server")
		var group sync.WaitGroup
		leases := make(chan *quorum.Lease, 3)
		quarantined := false
		for range cap(leases) {
			group.Go(func() {
				if lease, err := c.TryAcquire(t.Context(), "k"); err == nil {
					leases <- lease
				}
			})
		}
		group.Wait()
		close(leases)
		require.LessOrEqual(t, len(leases), 1, "two leases at once")
		for lease := range leases {
			_ = lease.Release(t.Context())
		}
		report, _ := c.Verify(t.Context())
		if quarantined = report.Instances[0].Quarantine != nil; quarantined {
			break
		}
	}
	// The lease that the old server knows isn't extended there any more: another
	// client may have the new one's vote.
	<-held.Done()
	require.ErrorIs(t, held.Err(), quorum.ErrLost)
	require.Equal(t, "$-1", servers[1].MustAsk("GET", "held"))
}

// An address is moved to a spare server that has been up for longer than a quarantine
// lasts, and a client that has seen neither starts. The lease that rests on the first
// server's vote runs on, and the client gets none before it is over.
func TestSpareServerBehindAnAddress(t *testing.T) {
	t.Parallel() // it waits most of the time
	servers := instancetest.StartN(t, 2, instancetest.Config{})
	link, err := redisproc.NewLink(servers[0].Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = link.Close() })
	const ttl = 2 * time.Second
	a := one(t, link.Addr(), ttl)
	time.Sleep(2*ttl + time.Second) // uptimes are rounded down
	first, err := a.TryAcquire(t.Context(), "k")
	require.NoError(t, err)
	link.Switch(servers[1].Addr())

	b := newcomer(t, link.Addr(), ttl)
	_, err = b.TryAcquire(t.Context(), "k")
	require.NoError(t, first.Err())
	require.ErrorIs(t, err, quorum.ErrQuarantined)
	require.ErrorContains(t, err, "no client has used this name for this server before")
	second, err := b.Acquire(t.Context(), "k")
	require.NoError(t, err)
	require.Zero(t, first.Validity(), "two leases at once")
	require.Greater(t, second.Token(), first.Token())
}

// A replica that takes writes does nothing, although it has its master's replication ID.
func TestWritableReplicaIsNotAsked(t *testing.T) {
	servers := instancetest.StartN(t, 2, instancetest.Config{Args: []string{"--replica-read-only", "no", "--repl-diskless-sync-delay", "0"}})
	master, replica := servers[0], servers[1]
	replicate(t, replica, master)
	r, err := instance.Open(master.URL(), instance.Config{})
	require.NoError(t, err)
	defer r.Close()
	id, err := r.Probe(t.Context())
	require.NoError(t, err)
	other, err := instance.Open(replica.URL(), instance.Config{})
	require.NoError(t, err)
	defer other.Close()
	twin, err := other.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, id.ReplID, twin.ReplID)
	require.Empty(t, twin.Run())

	cmd := quorum.Command{Op: quorum.Acquire, Key: "k", Value: "v", TTL: time.Minute, Fence: true, CounterTTL: time.Hour, Ahead: time.Minute, Set: quorum.Set{N: 1, Q: 1}}
	require.Equal(t, quorum.Granted, other.Do(t.Context(), cmd).Outcome, "it does take writes")
	for _, op := range []quorum.Op{quorum.Acquire, quorum.Extend, quorum.Raise, quorum.Restore} {
		cmd := cmd
		cmd.Op, cmd.Key, cmd.Token, cmd.Run = op, "l", 1, id.Run()
		vote := other.Do(t.Context(), cmd)
		require.ErrorIs(t, vote.Err, quorum.ErrOtherRun, "%v", op)
		require.ErrorIs(t, vote.Err, quorum.ErrNotMaster, "%v", op)
		require.True(t, vote.Unsent, "%v", op)
	}
	require.Equal(t, "$-1", replica.MustAsk("GET", "l"))
}

// replicate makes a server another's replica, and waits until it has its data.
func replicate(t *testing.T, replica, master *instancetest.Server) {
	t.Helper()
	host, port, _ := strings.Cut(master.Addr(), ":")
	replica.MustAsk("REPLICAOF", host, port)
	require.Eventually(t, func() bool {
		return strings.Contains(replica.MustAsk("INFO", "replication"), "master_link_status:up")
	}, 30*time.Second, 5*time.Millisecond)
}

// A master is demoted and promoted again without a restart, so that its run ID stays.
// It lacks what was granted in between, and so doesn't vote for MaxTTL.
func TestDemotedAndPromotedAgain(t *testing.T) {
	t.Parallel() // it waits most of the time
	servers := instancetest.StartN(t, 2, instancetest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}})
	s, meanwhile := servers[0], servers[1]
	const ttl = 2 * time.Second
	c := one(t, s.Addr(), ttl)
	lease, err := c.TryAcquire(t.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
	before := s.MustAsk("INFO", "server")

	replicate(t, s, meanwhile)
	_, err = c.TryAcquire(t.Context(), "k")
	require.ErrorIs(t, err, quorum.ErrNotMaster)
	s.MustAsk("REPLICAOF", "NO", "ONE")
	require.Equal(t, field(before, "run_id"), field(s.MustAsk("INFO", "server"), "run_id"))
	_, err = c.TryAcquire(t.Context(), "k")
	require.ErrorIs(t, err, quorum.ErrQuarantined)

	// A client that begins now can't know when it was promoted.
	group, err := instance.OpenAll(instance.Config{}, s.URL())
	require.NoError(t, err)
	defer group.Close()
	id, err := group.Members()[0].Probe(t.Context())
	require.NoError(t, err)
	require.True(t, id.Promoted)

	again, err := c.Acquire(t.Context(), "k")
	require.NoError(t, err)
	require.Greater(t, again.Token(), lease.Token())
}

func field(info, name string) string {
	_, rest, _ := strings.Cut(info, name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}
