//go:build unix

package instance_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// one is a newcomer that trusts its server.
func one(t *testing.T, addr string, ttl time.Duration) client {
	t.Helper()
	c := newcomer(t, addr, ttl)
	require.NoError(t, c.Trust(t.Context()))
	return c
}

// newcomer is a Coordinator with its own client on the one server at an address. With a majority of
// one the result doesn't depend on luck.
func newcomer(t *testing.T, addr string, ttl time.Duration) client {
	t.Helper()
	bare := redis.NewClient(instance.Harden(&redis.Options{Addr: addr, DialTimeout: 200 * time.Millisecond, ConnMaxLifetime: 200 * time.Millisecond}))
	t.Cleanup(func() { require.NoError(t, bare.Close()) })
	inst, err := instance.New(bare, instance.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inst.Close()) })
	c, err := quorum.New(quorum.Config{Terms: quorum.Terms{TTL: ttl}, MaxTTL: ttl + inst.ConnLife(), InstanceTimeout: ttl / 5, ClockEvery: time.Minute}, inst)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	return client{c}
}

// A server is restarted without its data behind a proxy that keeps its clients' connections. The
// holder's lease stays valid, and no other client gets one before it ends.
func TestRestartBehindAFrontend(t *testing.T) {
	t.Parallel() // it waits most of the time
	patiently(t, 2*time.Second, func(story *story) {
		s := instancetest.Start(t, instancetest.Config{})
		front := frontend(t, s.Addr())
		a, b := one(t, front.Addr(), story.ttl), one(t, front.Addr(), story.ttl)
		warm, err := b.TryAcquire(t.Context(), "other")
		require.NoError(t, err)
		b.release(t, warm)

		first, err := a.TryAcquire(t.Context(), "k")
		require.NoError(t, err)
		s.Kill()
		s.Restart()
		err = b.notices(t, "k")
		story.excluded(err, first)
		second, err := b.Acquire(t.Context(), "k")
		require.NoError(t, err)
		require.Zero(t, first.Validity(), "two leases at once")
		require.Greater(t, second.Token(), first.Token())
	})
}

// The same server comes back with a snapshot: tokens continue above those that it gave since.
func TestOlderCounterBehindAFrontend(t *testing.T) {
	t.Parallel() // it waits most of the time
	s := instancetest.Start(t, instancetest.Config{})
	front := frontend(t, s.Addr())
	c := one(t, front.Addr(), time.Second)
	take := func() fencing.Token {
		lease, err := c.Acquire(t.Context(), "k")
		require.NoError(t, err)
		c.release(t, lease)
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

// An address moves to another server while both run, and connections to the old one stay open.
// Whichever server a request reaches, only one Coordinator has a lease on a key, and it notices the
// other server although no connection breaks.
func TestSwitchedAddress(t *testing.T) {
	t.Parallel() // it waits most of the time
	servers := instancetest.StartN(t, 2, instancetest.Config{})
	link := linkTo(t, servers[0])
	c := one(t, link.Addr(), 2*time.Second)
	held, err := c.TryAcquire(t.Context(), "held")
	require.NoError(t, err)
	held.KeepAlive()
	link.Switch(servers[1].Addr())

	deadline := time.Now().Add(time.Minute)
	for round := 0; ; round++ {
		require.True(t, time.Now().Before(deadline), "the other server went unnoticed")
		var group sync.WaitGroup
		leases := make(chan *quorum.Lease, 3)
		quarantined := false
		for range cap(leases) {
			group.Go(func() {
				if lease, err := c.Coordinator.TryAcquire(t.Context(), "k"); err == nil {
					leases <- lease
				}
			})
		}
		group.Wait()
		close(leases)
		valid := 0 // at one moment: each is checked before any is released
		var all []*quorum.Lease
		for lease := range leases {
			all = append(all, lease)
			if lease.Validity() > 0 {
				valid++
			}
		}
		require.LessOrEqual(t, valid, 1, "two leases at once")
		for _, lease := range all {
			_ = lease.Release(t.Context())
		}
		report, _ := c.Verify(t.Context())
		if quarantined = report.Instances[0].Quarantine != nil; quarantined {
			break
		}
	}
	// The old server's lease isn't extended there any more: another client may have the new one's
	// vote.
	<-held.Done()
	require.ErrorIs(t, held.Err(), quorum.ErrLost)
	require.Equal(t, "$-1", servers[1].MustAsk("GET", "held"))
}

// An address moves to a spare server that has been up for longer than a quarantine, and a client
// that has seen neither starts. The lease based on the first server's vote stays valid, and the
// client gets none before it ends.
func TestSpareServerBehindAnAddress(t *testing.T) {
	t.Parallel() // it waits most of the time
	patiently(t, 2*time.Second, func(s *story) {
		servers := instancetest.StartN(t, 2, instancetest.Config{})
		link := linkTo(t, servers[0])
		a := one(t, link.Addr(), s.ttl)
		time.Sleep(2*s.ttl + time.Second) // uptimes are rounded down
		first, err := a.TryAcquire(t.Context(), "k")
		require.NoError(t, err)
		link.Switch(servers[1].Addr())

		b := newcomer(t, link.Addr(), s.ttl)
		_, err = b.TryAcquire(t.Context(), "k")
		s.holds(first)
		s.excluded(err, first)
		// "no client has used this name for this server before", unless the try was repeated.
		require.ErrorContains(t, err, "it may have led to another server")
		second, err := b.Acquire(t.Context(), "k")
		require.NoError(t, err)
		require.Zero(t, first.Validity(), "two leases at once")
		require.Greater(t, second.Token(), first.Token())
	})
}

// A replica that accepts writes does nothing, although it has its master's replication ID.
func TestWritableReplicaIsNotAsked(t *testing.T) {
	t.Parallel() // it waits most of the time
	servers := instancetest.StartN(t, 2, instancetest.Config{Args: []string{"--replica-read-only", "no", "--repl-diskless-sync-delay", "0"}})
	master, replica := servers[0], servers[1]
	replicate(t, replica, master)
	// One name, so that both have the mark: only the role differs.
	r, err := instance.Open(master.URL(), instance.Config{Name: "a"})
	require.NoError(t, err)
	defer r.Close()
	id, err := r.Probe(t.Context(), wire.Known{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return replica.MustAsk("EXISTS", instance.MarkKey("a")) == ":1" }, 30*time.Second, 5*time.Millisecond)
	other, err := instance.Open(replica.URL(), instance.Config{Name: "a"})
	require.NoError(t, err)
	defer other.Close()
	twin, err := other.Probe(t.Context(), wire.Known{})
	require.NoError(t, err)
	require.Equal(t, id.ReplID, twin.ReplID)
	require.Empty(t, twin.Run())

	req := wire.Request{Op: wire.Acquire, Key: "k", Value: "v", TTL: time.Minute, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: time.Minute, Set: wire.Set{N: 1, Q: 1}}}
	require.Equal(t, wire.Granted, other.Do(t.Context(), req).Outcome, "it does take writes")
	for _, op := range []wire.Op{wire.Acquire, wire.Extend, wire.Raise, wire.Restore} {
		req := req
		req.Op, req.Key, req.Fence.Token, req.Run = op, "l", 1, id.Run()
		vote := other.Do(t.Context(), req)
		require.ErrorIs(t, vote.Err, wire.ErrOtherRun, "%v", op)
		require.ErrorIs(t, vote.Err, wire.ErrNotMaster, "%v", op)
		require.True(t, vote.Unsent, "%v", op)
	}
	require.Equal(t, "$-1", replica.MustAsk("GET", "l"))
}

// replicate makes a server another's replica, and waits until it has the data.
func replicate(t *testing.T, replica, master *instancetest.Server) {
	t.Helper()
	host, port, _ := strings.Cut(master.Addr(), ":")
	replica.MustAsk("REPLICAOF", host, port)
	require.Eventually(t, func() bool {
		return strings.Contains(replica.MustAsk("INFO", "replication"), "master_link_status:up")
	}, 2*time.Minute, 5*time.Millisecond)
}

// A master is demoted and promoted again without a restart, so its run ID stays. It lacks what was
// granted in between, and so doesn't vote for MaxTTL.
func TestDemotedAndPromotedAgain(t *testing.T) {
	t.Parallel() // it waits most of the time
	patiently(t, 2*time.Second, func(story *story) {
		servers := instancetest.StartN(t, 2, instancetest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}})
		s, meanwhile := servers[0], servers[1]
		c := one(t, s.Addr(), story.ttl)
		lease, err := c.TryAcquire(t.Context(), "k")
		require.NoError(t, err)
		c.release(t, lease)
		before := s.MustAsk("INFO", "server")

		replicate(t, s, meanwhile)
		_, err = c.TryAcquire(t.Context(), "k")
		require.ErrorIs(t, err, wire.ErrNotMaster)
		promoted := time.Now()
		s.MustAsk("REPLICAOF", "NO", "ONE")
		require.Equal(t, field(before, "run_id"), field(s.MustAsk("INFO", "server"), "run_id"))
		_, err = c.TryAcquire(t.Context(), "k")
		story.quarantined(err, promoted)

		// A client that starts now can't know when it was promoted.
		group, err := instance.OpenAll(instance.Config{}, s.URL())
		require.NoError(t, err)
		defer group.Close()
		id, err := group.Members()[0].Probe(t.Context(), wire.Known{})
		require.NoError(t, err)
		require.True(t, id.Promoted)

		again, err := c.Acquire(t.Context(), "k")
		require.NoError(t, err)
		require.Greater(t, again.Token(), lease.Token())
	})
}

func field(info, name string) string {
	_, rest, _ := strings.Cut(info, name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// named is a client for an instance's name, with its own address.
func named(t *testing.T, name, addr string) *instance.Redis {
	t.Helper()
	bare := redis.NewClient(instance.Harden(&redis.Options{Addr: addr, DialTimeout: 200 * time.Millisecond, ConnMaxLifetime: 200 * time.Millisecond}))
	t.Cleanup(func() { _ = bare.Close() })
	inst, err := instance.New(bare, instance.Config{Name: name})
	require.NoError(t, err)
	t.Cleanup(func() { _ = inst.Close() })
	return inst
}

// knowing is a Coordinator that has identified its servers, and waited until they vote.
func knowing(t *testing.T, ttl time.Duration, edit func(*quorum.Config), insts ...wire.Instance) client {
	t.Helper()
	c := starting(t, ttl, edit, insts...)
	l, err := c.Acquire(t.Context(), "before")
	require.NoError(t, err)
	c.release(t, l)
	return c
}

func starting(t *testing.T, ttl time.Duration, edit func(*quorum.Config), insts ...wire.Instance) client {
	t.Helper()
	cfg := quorum.Config{Terms: quorum.Terms{TTL: ttl}, MaxTTL: ttl + 400*time.Millisecond, InstanceTimeout: ttl / 5}
	if edit != nil {
		edit(&cfg)
	}
	c, err := quorum.New(cfg, insts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return client{c}
}

// A proxy turns to another server between two requests of one Probe. A client that knew the first
// one doesn't take the mixture for the same server with a new replica.
func TestAProbeOfTwoServersFails(t *testing.T) {
	t.Parallel() // it waits most of the time
	patiently(t, 2*time.Second, func(s *story) {
		servers := instancetest.StartN(t, 2, instancetest.Config{})
		a, b := servers[0].Addr(), servers[1].Addr()
		front := frontend(t, a)
		holder := knowing(t, s.ttl, nil, named(t, "x", front.Addr()))
		other := knowing(t, s.ttl, nil, named(t, "x", front.Addr()))
		held, err := holder.TryAcquire(t.Context(), "k")
		require.NoError(t, err)
		front.Route(func(request []byte) string {
			if words := words(request); len(words) == 2 && strings.EqualFold(words[0], "INFO") && words[1] == "server" {
				return a // the first of a Probe's requests
			}
			return b
		})
		_, err = other.Verify(t.Context())
		require.ErrorContains(t, err, "the answers come from two servers")
		require.ErrorContains(t, err, "the Probe is repeated")
		front.Retarget(b)
		_, err = other.TryAcquire(t.Context(), "k")
		s.holds(held)
		require.Error(t, err)

		// Each request goes to either server: no client gets a second lease.
		front.Route(func([]byte) string { return []string{a, b}[rand.IntN(2)] })
		for held.Validity() > 0 {
			_, err := other.Coordinator.TryAcquire(t.Context(), "k")
			require.False(t, err == nil && held.Validity() > 0, "two leases at once")
		}
	})
}

// A proxy answers with an error while its server is away. Clients that start, and clients that know
// the server, don't take that for a server that hides its run.
func TestAProxysErrorHidesNothing(t *testing.T) {
	t.Parallel() // it waits most of the time
	for name, starts := range map[string]bool{"a client that starts": true, "a running client": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := instancetest.Start(t, instancetest.Config{})
			front := frontend(t, s.Addr())
			const ttl = 2 * time.Second
			unprotected := func(cfg *quorum.Config) {
				cfg.Hooks.Unprotected = func(e quorum.UnprotectedEvent) { t.Error("unprotected: ", e) }
			}
			holder := knowing(t, ttl, unprotected, named(t, "x", front.Addr()))
			other := starting(t, ttl, unprotected, named(t, "x", front.Addr()))
			if !starts {
				_, _ = other.Verify(t.Context())
			}
			held, err := holder.TryAcquire(t.Context(), "k")
			require.NoError(t, err)
			s.Kill()
			_, err = other.Coordinator.TryAcquire(t.Context(), "k")
			require.Error(t, err)
			_, _ = other.Coordinator.Verify(t.Context())
			s.Restart()
			for held.Validity() > 0 {
				_, err = other.Coordinator.TryAcquire(t.Context(), "k")
				require.False(t, err == nil && held.Validity() > 0, "two leases at once")
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}

// The proxy's error hits only the mark's script, and the name leads to a spare server.
func TestAProxysErrorHidesNoMark(t *testing.T) {
	t.Parallel() // it waits most of the time
	patiently(t, 2*time.Second, func(s *story) {
		servers := instancetest.StartN(t, 2, instancetest.Config{})
		a, b := servers[0].Addr(), servers[1].Addr()
		front := frontend(t, a)
		holder := knowing(t, s.ttl, nil, named(t, "x", front.Addr()))
		time.Sleep(s.ttl) // uptimes are rounded down
		held, err := holder.TryAcquire(t.Context(), "k")
		require.NoError(t, err)
		var failed atomic.Bool
		front.Route(func(request []byte) string {
			if strings.EqualFold(words(request)[0], "EVAL") && failed.CompareAndSwap(false, true) {
				return "-ERR upstream failure\r\n"
			}
			return b
		})
		_, err = starting(t, s.ttl, nil, named(t, "x", front.Addr())).TryAcquire(t.Context(), "k")
		s.holds(held)
		require.Error(t, err, "two leases at once")
		require.True(t, failed.Load())
	})
}

// A name leads to another server and back. A client that used both renews the mark on the first
// one, and a client that was cut off meanwhile finds the new mark. The lease based on the second
// server's vote stays the only one.
func TestACutOffClientFindsTheMarkLeftAnew(t *testing.T) {
	t.Parallel() // it waits most of the time
	patiently(t, 4*time.Second, func(s *story) {
		servers := instancetest.StartN(t, 2, instancetest.Config{})
		path, otherPath := linkTo(t, servers[0]), linkTo(t, servers[0])
		cut := knowing(t, s.ttl, nil, named(t, "x", path.Addr()))
		other := knowing(t, s.ttl, nil, named(t, "x", otherPath.Addr()))
		path.Cut()
		otherPath.Switch(servers[1].Addr())
		time.Sleep(600 * time.Millisecond)
		held, err := other.Acquire(t.Context(), "k")
		require.NoError(t, err)
		held.KeepAlive()
		otherPath.Switch(servers[0].Addr())
		path.Reopen()
		time.Sleep(600 * time.Millisecond) // connections to the second server have ended
		_, err = other.Verify(t.Context())
		s.excluded(err, held)
		_, err = cut.TryAcquire(t.Context(), "k")
		s.holds(held)
		s.excluded(err, held)
		require.ErrorContains(t, err, "its mark was left anew")
	})
}

// Tokens rise although a name returns to a server with the same run and an older counter: the epoch
// differs.
func TestTokensRiseWhereANameComesBack(t *testing.T) {
	t.Parallel() // it waits most of the time
	patiently(t, time.Second, func(s *story) {
		servers := instancetest.StartN(t, 4, instancetest.Config{})
		var links []*redisproc.Link
		var insts []wire.Instance
		for i, server := range []*instancetest.Server{servers[0], servers[2], servers[3]} {
			l := linkTo(t, server)
			links, insts = append(links, l), append(insts, named(t, string("xyz"[i]), l.Addr()))
		}
		c := starting(t, s.ttl, nil, insts...)
		take := func() *quorum.Lease {
			l, err := c.Acquire(t.Context(), "k")
			require.NoError(t, err)
			return l
		}
		_ = take().Release(t.Context())
		links[2].Cut()
		links[0].Switch(servers[1].Addr())
		time.Sleep(300 * time.Millisecond)
		first := take()
		links[0].Switch(servers[0].Addr())
		links[1].Cut()
		links[2].Reopen()
		time.Sleep(300 * time.Millisecond)
		_, _ = c.Coordinator.Verify(t.Context()) // probes the server that returned
		s.holds(first)                           // so the other server's vote is evidence
		_ = first.Release(t.Context())
		require.Greater(t, take().Token(), first.Token())
	})
}

// The data is lost, and with it the mark, though the server's run ID and replication ID stay.
func TestFlushedServer(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	quiet := func(cfg *quorum.Config) { cfg.ClockEvery = time.Minute }
	for range 2 {
		c := starting(t, 10*time.Second, quiet, named(t, "x", s.Addr()))
		require.NoError(t, c.Trust(t.Context()))
		l, err := c.TryAcquire(t.Context(), "k")
		require.NoError(t, err)
		c.release(t, l)
		s.MustAsk("FLUSHALL")
		require.Error(t, c.notices(t, "k"))
		_, err = c.TryAcquire(t.Context(), "k")
		require.ErrorIs(t, err, quorum.ErrQuarantined)
	}
}

// words are a request's words.
func words(request []byte) (list []string) {
	for i, part := range strings.Split(string(request), "\r\n") {
		if i > 0 && i%2 == 0 { // the others are lengths
			list = append(list, part)
		}
	}
	return list
}

func linkTo(t testing.TB, server *instancetest.Server) *redisproc.Link {
	t.Helper()
	l, err := redisproc.NewLink(server.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func frontend(t *testing.T, target string) *redisproc.Frontend {
	t.Helper()
	front, err := redisproc.NewFrontend(target)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, front.Close()) })
	return front
}
