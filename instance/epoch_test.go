//go:build unix

package instance_test

import (
	"errors"
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
	bare := redis.NewClient(instance.Harden(&redis.Options{Addr: addr, DialTimeout: 200 * time.Millisecond, ConnMaxLifetime: 200 * time.Millisecond}))
	t.Cleanup(func() { _ = bare.Close() })
	inst, err := instance.New(bare, instance.Config{Name: name, VouchedRunID: runID})
	require.NoError(t, err)
	t.Cleanup(func() { _ = inst.Close() })
	return inst
}

// A name leads to S1, to S2, and back to S1. The client that used S2, and has a lease there, probes
// S1 first. Its last tick or probe of S2 was more than MaxTTL ago, but its last grant is recent, so
// it renews S1's mark.
func TestAGrantIsEvidenceOfAVote(t *testing.T) {
	t.Parallel() // it waits most of the time
	grantIsEvidence(t, func(c *quorum.Config) { c.ClockMonitor = quorum.Off })
}

// The same with the clock monitor on, at an interval longer than MaxTTL.
func TestAGrantBetweenTicksIsEvidenceOfAVote(t *testing.T) {
	t.Parallel() // it waits most of the time
	grantIsEvidence(t, func(c *quorum.Config) { c.ClockEvery = time.Minute })
}

func grantIsEvidence(t *testing.T, edit func(*quorum.Config)) {
	patiently(t, 2*time.Second, func(s *story) {
		servers := instancetest.StartN(t, 2, instancetest.Config{})
		link, err := redisproc.NewLink(servers[0].Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = link.Close() })
		a := knowing(t, s.ttl, edit, named(t, "x", link.Addr())) // waits a quarantine on S1
		switched := time.Now()
		link.Switch(servers[1].Addr())
		time.Sleep(400 * time.Millisecond) // connections to S1 end
		_, _ = a.TryAcquire(t.Context(), "other")
		_, err = a.TryAcquire(t.Context(), "other")
		s.quarantined(err, switched)
		time.Sleep(s.ttl + time.Second) // S2's quarantine is over; its last probe is longer ago than MaxTTL
		held, err := a.TryAcquire(t.Context(), "k")
		require.NoError(t, err)

		link.Switch(servers[0].Addr())
		time.Sleep(400 * time.Millisecond)
		_, err = a.TryAcquire(t.Context(), "other")
		s.holds(held)
		require.Error(t, err)
		_, err = a.Verify(t.Context()) // has probed S1, and is quarantined itself
		s.excluded(err, held)

		_, err = starting(t, s.ttl, edit, named(t, "x", link.Addr())).TryAcquire(t.Context(), "k")
		s.excluded(err, held)
	})
}

// noticeFlush has one client take a lock, flushes the server, and expects another client to notice.
// On a slow machine, the lease has ended by then.
func noticeFlush(s *story, server *instancetest.Server, a, b client) {
	s.Helper()
	held, err := a.Acquire(s.Context(), "k") // the mark has to age
	require.NoError(s, err)
	server.MustAsk("FLUSHALL")
	_, err = b.TryAcquire(s.Context(), "k")
	if err == nil {
		require.Zero(s, held.Validity(), "two leases at once")
		s.late()
	}
}

// A client starts while the server is a master that can't write (full, MISCONF, too few replicas).
// It gets its epoch as soon as the server can, and notices a FLUSHALL.
func TestAClientThatStartsOnAFullServerGetsAnEpochLater(t *testing.T) {
	t.Parallel()
	patiently(t, 2*time.Second, func(story *story) {
		s := instancetest.Start(t, instancetest.Config{Args: []string{"--maxmemory-policy", "noeviction"}})
		s.MustAsk("CONFIG", "SET", "min-replicas-to-write", "1")
		a, b := starting(t, story.ttl, nil, named(t, "x", s.Addr())), starting(t, story.ttl, nil, named(t, "x", s.Addr()))
		for _, c := range []client{a, b} {
			_, err := c.TryAcquire(t.Context(), "k")
			require.Error(t, err)
		}
		s.MustAsk("CONFIG", "SET", "min-replicas-to-write", "0")
		time.Sleep(story.ttl + time.Second) // the quarantine; the monitor ticks in it
		noticeFlush(story, s, a, b)
	})
}

// Verify says of a server that it refuses votes, why, and what to do; and nothing when it takes writes again.
func TestVerifyOfServersThatRefuseVotes(t *testing.T) {
	t.Parallel() // it waits for a quarantine
	s := instancetest.Start(t, instancetest.Config{Args: []string{"--maxmemory-policy", "noeviction", "--save", ""}})
	c := starting(t, 5*time.Second, nil, named(t, "x", s.Addr()))
	require.NoError(t, c.Trust(t.Context()))
	for _, refusal := range []struct {
		setting, on, off string
		kind             error
		says             string
	}{
		{"maxmemory", "1", "0", instance.ErrOutOfMemory, "x: probe: it refuses votes now: instance: the server's memory is full; raise maxmemory or make room (OOM"},
		{"min-replicas-to-write", "1", "0", instance.ErrMisconf, "x: probe: it refuses votes now: instance: the server takes no writes; see to its disk and its replicas (NOREPLICAS"},
	} {
		s.MustAsk("CONFIG", "SET", refusal.setting, refusal.on)
		_, err := c.Verify(t.Context())
		_, tried := c.TryAcquire(t.Context(), "k")
		// Redis 6.0 doesn't check the replicas for scripts.
		if refusal.kind == instance.ErrOutOfMemory || instancetest.Since(t, 6, 2) {
			require.ErrorIs(t, tried, refusal.kind)
		}
		if errors.Is(tried, refusal.kind) {
			require.ErrorIs(t, err, refusal.kind)
			require.ErrorContains(t, err, refusal.says)
		} else {
			require.NoError(t, err)
		}
		s.MustAsk("CONFIG", "SET", refusal.setting, refusal.off)
		_, err = c.Verify(t.Context())
		require.NoError(t, err)
	}
}

// VouchedRunID can stay in the settings: once its server has been up for a quarantine, it has no
// effect. A client that starts after a FLUSHALL waits.
func TestAVouchedRunIDEndsAfterAQuarantine(t *testing.T) {
	t.Parallel()
	patiently(t, 4*time.Second, func(story *story) {
		began := time.Now()
		s := instancetest.Start(t, instancetest.Config{})
		runID := field(s.MustAsk("INFO", "server"), "run_id")
		a := starting(t, story.ttl, nil, vouching(t, "x", s.Addr(), runID))
		_, err := a.TryAcquire(t.Context(), "first")
		if errors.Is(err, quorum.ErrQuarantined) && time.Since(began) > story.ttl {
			story.late()
		}
		require.NoError(t, err)
		time.Sleep(story.ttl + 2600*time.Millisecond) // uptimes are rounded down
		held, err := a.Acquire(t.Context(), "k")      // the mark has to age
		require.NoError(t, err)
		s.MustAsk("FLUSHALL")
		_, _ = a.TryAcquire(t.Context(), "other") // it finds out
		_, err = a.TryAcquire(t.Context(), "other")
		story.excluded(err, held) // the running client waits
		_, err = starting(t, story.ttl, nil, vouching(t, "x", s.Addr(), runID)).TryAcquire(t.Context(), "k")
		story.excluded(err, held)
	})
}

// A running client's account loses the right to the mark. The client waits once and continues
// without an epoch, and has one again soon after it gets the right back.
func TestARightToTheMarkThatIsTakenAndGivenBack(t *testing.T) {
	t.Parallel()
	patiently(t, 2*time.Second, func(story *story) {
		s := instancetest.Start(t, instancetest.Config{Args: []string{"--maxmemory-policy", "noeviction"}})
		s.MustAsk("ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "&*")
		app := func() *instance.Redis {
			c := redis.NewClient(instance.Harden(&redis.Options{Addr: s.Addr(), Username: "app", Password: "pw", DialTimeout: 200 * time.Millisecond, ConnMaxLifetime: 200 * time.Millisecond}))
			t.Cleanup(func() { _ = c.Close() })
			inst, err := instance.New(c, instance.Config{Name: "x"})
			require.NoError(t, err)
			t.Cleanup(func() { _ = inst.Close() })
			return inst
		}
		a, b := starting(t, story.ttl, nil, app()), starting(t, story.ttl, nil, app())
		for _, c := range []client{a, b} {
			require.NoError(t, c.Trust(t.Context()))
		}
		taken := time.Now()
		s.MustAsk("ACL", "SETUSER", "app", "resetkeys", "~k*", "~{k*")
		for _, c := range []client{a, b} {
			var err error
			for range 2 {
				_, err = c.TryAcquire(t.Context(), "k")
			}
			story.quarantined(err, taken)
			require.NotContains(t, err.Error(), "its data was lost", "misleading")
		}
		s.MustAsk("ACL", "SETUSER", "app", "~*")
		time.Sleep(story.ttl + time.Second)
		noticeFlush(story, s, a, b)
	})
}

// Clients without the right to the mark record another run with the counters than others do. Tokens
// rise nevertheless.
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
	both := []client{starting(t, 2*time.Second, func(c *quorum.Config) { c.MaxTTL = 10 * time.Second }, inst), starting(t, ttl, func(c *quorum.Config) { c.MaxTTL = 10 * time.Second }, named(t, "x", s.Addr()))}
	for _, c := range both {
		require.NoError(t, c.Trust(t.Context()))
	}
	var token uint64
	for i := range 200 {
		// Not TryAcquire: on a busy machine the last lease's delete may still be in flight.
		l, err := both[i%2].Acquire(t.Context(), "k")
		require.NoError(t, err)
		require.Greater(t, uint64(l.Token()), token)
		token = uint64(l.Token())
		both[i%2].release(t, l)
	}
}
