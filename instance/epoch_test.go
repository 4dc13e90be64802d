//go:build unix

package instance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum"
)

func vouching(t *testing.T, name, addr, runID string) *instance.Redis {
	t.Helper()
	client := redis.NewClient(instance.Harden(&redis.Options{Addr: addr, DialTimeout: 200 * time.Millisecond, ConnMaxLifetime: 200 * time.Millisecond}))
	t.Cleanup(func() { _ = client.Close() })
	inst, err := instance.New(client, instance.Config{Name: name, VouchedRunID: runID})
	require.NoError(t, err)
	t.Cleanup(func() { _ = inst.Close() })
	return inst
}

// A name leads to S1, to S2, and back to S1. The client that used S2, and that has a lease
// there, probes S1 first. Its last tick or probe of S2 is longer ago than MaxTTL, but its
// last grant is a moment old: so it leaves S1's mark anew.
func TestAGrantIsEvidenceOfAVote(t *testing.T) {
	t.Parallel()
	servers := instancetest.StartN(t, 2, instancetest.Config{})
	link, err := redisproc.NewLink(servers[0].Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = link.Close() })
	const ttl = 2 * time.Second
	off := func(c *quorum.Config) { c.ClockMonitor = quorum.Off }
	a := knowing(t, ttl, off, named(t, "x", link.Addr())) // waits a quarantine on S1
	link.Switch(servers[1].Addr())
	time.Sleep(400 * time.Millisecond) // connections to S1 end
	_, err = a.TryAcquire(t.Context(), "other")
	require.Error(t, err)
	_, err = a.TryAcquire(t.Context(), "other")
	require.ErrorIs(t, err, quorum.ErrQuarantined)
	time.Sleep(3 * time.Second) // S2's quarantine is over; the probe of S2 is longer ago than MaxTTL
	held, err := a.TryAcquire(t.Context(), "k")
	require.NoError(t, err)

	link.Switch(servers[0].Addr())
	time.Sleep(400 * time.Millisecond)
	_, err = a.TryAcquire(t.Context(), "other")
	require.Error(t, err)
	_, err = a.Verify(t.Context()) // has probed S1, and is in quarantine itself
	require.ErrorIs(t, err, quorum.ErrQuarantined)

	second, err := starting(t, ttl, nil, named(t, "x", link.Addr())).TryAcquire(t.Context(), "k")
	if err == nil {
		t.Errorf("first has %v left with token %v; second has token %v (falls: %v)", held.Validity(), held.Token(), second.Token(), second.Token() <= held.Token())
		require.Zero(t, held.Validity(), "two leases at once")
	}
	require.ErrorIs(t, err, quorum.ErrQuarantined)
}

// The same with the clock monitor on, at an interval that is longer than MaxTTL.
func TestAGrantBetweenTicksIsEvidenceOfAVote(t *testing.T) {
	t.Parallel()
	servers := instancetest.StartN(t, 2, instancetest.Config{})
	link, err := redisproc.NewLink(servers[0].Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = link.Close() })
	const ttl = 2 * time.Second
	rarely := func(c *quorum.Config) { c.ClockEvery = 10 * time.Second }
	a := knowing(t, ttl, rarely, named(t, "x", link.Addr()))
	link.Switch(servers[1].Addr())
	time.Sleep(400 * time.Millisecond)
	_, _ = a.TryAcquire(t.Context(), "other")
	_, err = a.TryAcquire(t.Context(), "other")
	require.ErrorIs(t, err, quorum.ErrQuarantined)
	time.Sleep(3 * time.Second)
	held, err := a.TryAcquire(t.Context(), "k")
	require.NoError(t, err)
	link.Switch(servers[0].Addr())
	time.Sleep(400 * time.Millisecond)
	_, _ = a.TryAcquire(t.Context(), "other")
	_, err = a.Verify(t.Context())
	require.ErrorIs(t, err, quorum.ErrQuarantined)
	second, err := starting(t, ttl, nil, named(t, "x", link.Addr())).TryAcquire(t.Context(), "k")
	if err == nil {
		t.Errorf("first has %v left with token %v; second has token %v", held.Validity(), held.Token(), second.Token())
	}
	require.ErrorIs(t, err, quorum.ErrQuarantined)
}

// noticeFlush has one client take a lock, and wants another one to notice that the server
// was flushed then.
func noticeFlush(t *testing.T, s *instancetest.Server, a, b *quorum.Coordinator) {
	t.Helper()
	held, err := a.Acquire(t.Context(), "k") // the mark has to age
	require.NoError(t, err)
	s.MustAsk("FLUSHALL")
	second, err := b.TryAcquire(t.Context(), "k")
	if err == nil {
		t.Errorf("first has %v left with token %v; second has token %v", held.Validity(), held.Token(), second.Token())
	}
	require.Error(t, err, "two leases at once")
}

// A client starts while the server is a master that can't write (full, MISCONF, too few
// replicas). It gets its epoch as soon as the server can, and notices a FLUSHALL.
func TestAClientThatStartsOnAFullServerGetsAnEpochLater(t *testing.T) {
	t.Parallel()
	s := instancetest.Start(t, instancetest.Config{Args: []string{"--maxmemory-policy", "noeviction"}})
	const ttl = 2 * time.Second
	s.MustAsk("CONFIG", "SET", "min-replicas-to-write", "1")
	a, b := starting(t, ttl, nil, named(t, "x", s.Addr())), starting(t, ttl, nil, named(t, "x", s.Addr()))
	for _, c := range []*quorum.Coordinator{a, b} {
		_, err := c.TryAcquire(t.Context(), "k")
		require.Error(t, err)
	}
	s.MustAsk("CONFIG", "SET", "min-replicas-to-write", "0")
	time.Sleep(3 * time.Second) // the quarantine; the monitor ticks in it
	noticeFlush(t, s, a, b)
}

// A running client loses its epoch where the first replica comes while the server can't
// write, and gets another one later.
func TestARunningClientThatLosesTheEpochGetsAnother(t *testing.T) {
	t.Parallel()
	servers := instancetest.StartN(t, 2, instancetest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}})
	s := servers[0]
	const ttl = 2 * time.Second
	a, b := starting(t, ttl, nil, named(t, "x", s.Addr())), starting(t, ttl, nil, named(t, "x", s.Addr()))
	for _, c := range []*quorum.Coordinator{a, b} {
		require.NoError(t, c.Trust(t.Context()))
	}
	s.MustAsk("CONFIG", "SET", "min-replicas-to-write", "2")
	replicate(t, servers[1], s)
	for _, c := range []*quorum.Coordinator{a, b} {
		_, err := c.TryAcquire(t.Context(), "k")
		require.Error(t, err)
		_, err = c.TryAcquire(t.Context(), "k")
		require.Error(t, err)
		t.Log(err)
	}
	s.MustAsk("CONFIG", "SET", "min-replicas-to-write", "0")
	time.Sleep(3 * time.Second)
	noticeFlush(t, s, a, b)
}

// VouchedRunID can stay in the settings: when its server has been up for a quarantine, it
// vouches for nothing any more. A client that starts after a FLUSHALL waits.
func TestAVouchedRunIDEndsAfterAQuarantine(t *testing.T) {
	t.Parallel()
	s := instancetest.Start(t, instancetest.Config{})
	const ttl = 4 * time.Second
	runID := field(s.MustAsk("INFO", "server"), "run_id")
	a := starting(t, ttl, nil, vouching(t, "x", s.Addr(), runID))
	_, err := a.TryAcquire(t.Context(), "first")
	require.NoError(t, err)
	time.Sleep(ttl + 2600*time.Millisecond)  // uptimes are rounded down
	held, err := a.Acquire(t.Context(), "k") // the mark has to age
	require.NoError(t, err)
	s.MustAsk("FLUSHALL")
	_, _ = a.TryAcquire(t.Context(), "other") // it finds out
	_, err = a.TryAcquire(t.Context(), "other")
	require.ErrorIs(t, err, quorum.ErrQuarantined, "the client that runs waits")
	second, err := starting(t, ttl, nil, vouching(t, "x", s.Addr(), runID)).TryAcquire(t.Context(), "k")
	if err == nil {
		t.Errorf("first has %v left with token %v; second has token %v", held.Validity(), held.Token(), second.Token())
	}
	require.ErrorIs(t, err, quorum.ErrQuarantined)
}

// The first replica costs a client nothing that saw the server within the last minute, also
// where another client starts before its next command.
func TestAClientThatStartsDoesNotEndTheEpochOfAFirstReplica(t *testing.T) {
	t.Parallel()
	servers := instancetest.StartN(t, 2, instancetest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}})
	s := servers[0]
	const ttl = 10 * time.Second
	a := starting(t, ttl, nil, named(t, "x", s.Addr()))
	require.NoError(t, a.Trust(t.Context()))
	replicate(t, servers[1], s)
	_, _ = starting(t, ttl, nil, named(t, "x", s.Addr())).Verify(t.Context())
	_, err := a.Verify(t.Context())
	require.NoError(t, err)
	l, err := a.TryAcquire(t.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, l.Release(t.Context()))
}

// The right to the mark is taken from a running client's account. It waits once and goes
// on without an epoch, and has one again soon after the right was given back.
func TestARightToTheMarkThatIsTakenAndGivenBack(t *testing.T) {
	t.Parallel()
	s := instancetest.Start(t, instancetest.Config{Args: []string{"--maxmemory-policy", "noeviction"}})
	const ttl = 2 * time.Second
	s.MustAsk("ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "&*")
	client := func() *instance.Redis {
		c := redis.NewClient(instance.Harden(&redis.Options{Addr: s.Addr(), Username: "app", Password: "pw", DialTimeout: 200 * time.Millisecond, ConnMaxLifetime: 200 * time.Millisecond}))
		t.Cleanup(func() { _ = c.Close() })
		inst, err := instance.New(c, instance.Config{Name: "x"})
		require.NoError(t, err)
		t.Cleanup(func() { _ = inst.Close() })
		return inst
	}
	a, b := starting(t, ttl, nil, client()), starting(t, ttl, nil, client())
	for _, c := range []*quorum.Coordinator{a, b} {
		require.NoError(t, c.Trust(t.Context()))
	}
	s.MustAsk("ACL", "SETUSER", "app", "resetkeys", "~k*", "~{k*")
	for _, c := range []*quorum.Coordinator{a, b} {
		var err error
		for range 2 {
			_, err = c.TryAcquire(t.Context(), "k")
		}
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		if strings.Contains(err.Error(), "its data was lost") {
			t.Errorf("misleading: %v", err)
		}
	}
	s.MustAsk("ACL", "SETUSER", "app", "~*")
	time.Sleep(3 * time.Second)
	noticeFlush(t, s, a, b)
}

// Clients without the right to the mark write another run beside the counters than others
// do. Tokens rise all the same.
func TestTokensOfClientsWithAndWithoutAnEpoch(t *testing.T) {
	t.Parallel()
	s := instancetest.Start(t, instancetest.Config{})
	const ttl = 2 * time.Second
	s.MustAsk("ACL", "SETUSER", "app", "on", ">pw", "~k*", "~{k*", "+@all", "&*")
	c := redis.NewClient(instance.Harden(&redis.Options{Addr: s.Addr(), Username: "app", Password: "pw"}))
	t.Cleanup(func() { _ = c.Close() })
	inst, err := instance.New(c, instance.Config{Name: "x"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = inst.Close() })
	both := []*quorum.Coordinator{starting(t, 2*time.Second, func(c *quorum.Config) { c.MaxTTL = 10 * time.Second }, inst), starting(t, ttl, func(c *quorum.Config) { c.MaxTTL = 10 * time.Second }, named(t, "x", s.Addr()))}
	for _, c := range both {
		require.NoError(t, c.Trust(t.Context()))
	}
	var token uint64
	for i := range 200 {
		l, err := both[i%2].TryAcquire(t.Context(), "k")
		require.NoError(t, err)
		require.Greater(t, uint64(l.Token()), token)
		token = uint64(l.Token())
		require.NoError(t, l.Release(t.Context()))
	}
}
