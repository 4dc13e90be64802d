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
