//go:build unix

package instance_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// farSet are servers behind far links, and how to connect to them.
type farSet struct {
	links []*redisproc.Link
	opt   redis.Options
}

// far puts a link in front of each server.
func far(t testing.TB, servers []*instancetest.Server, setup time.Duration, trips ...time.Duration) *farSet {
	t.Helper()
	f := &farSet{}
	for i, trip := range trips {
		l := linkTo(t, servers[i])
		l.Far(trip, setup)
		f.links = append(f.links, l)
	}
	return f
}

// open opens a Coordinator with clients of its own, which trusts the servers.
func (f *farSet) open(t testing.TB, cfg quorum.Config) *quorum.Coordinator {
	t.Helper()
	var instances []wire.Instance
	for _, l := range f.links {
		opt := f.opt
		opt.Addr = l.Addr()
		client := redis.NewClient(instance.Harden(&opt))
		t.Cleanup(func() { _ = client.Close() })
		r, err := instance.New(client, instance.Config{})
		require.NoError(t, err)
		t.Cleanup(func() { _ = r.Close() })
		instances = append(instances, r)
	}
	c, err := quorum.New(cfg, instances...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, c.Close(ctx))
	})
	require.NoError(t, c.Trust(t.Context()))
	return c
}

func (f *farSet) connections() (n int) {
	for _, l := range f.links {
		n += l.Connections()
	}
	return n
}

func threeServers(t testing.TB) []*instancetest.Server {
	t.Helper()
	var all []*instancetest.Server
	for range 3 {
		all = append(all, instancetest.Start(t, instancetest.Config{}))
	}
	return all
}

// TestFarServers: where a connection takes longer to make than InstanceTimeout, a lock is taken after
// a pause in which all connections have ended, kept while they are replaced, handed to a waiter in
// another process, and given back, and no key is left.
//
// The timeouts are ten times what an exchange takes here, so that a busy machine doesn't decide.
func TestFarServers(t *testing.T) {
	t.Parallel()
	servers := threeServers(t)
	for _, s := range servers {
		rules := []string{"ACL", "SETUSER", "far", "on", ">secret", "~*", "+@all"}
		if instancetest.Since(t, 6, 2) {
			rules = append(rules, "&*")
		}
		s.MustAsk(rules...)
	}
	const slow = time.Second
	for name, trips := range map[string][]time.Duration{
		"near":  {0, 0, 0},
		"far":   {40 * time.Millisecond, 40 * time.Millisecond, 40 * time.Millisecond},
		"mixed": {time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := far(t, servers, slow, trips...)
			f.opt = redis.Options{Username: "far", Password: "secret", ConnMaxLifetime: 50 * time.Millisecond, DialTimeout: 4 * time.Second}
			cfg := quorum.Config{InstanceTimeout: 400 * time.Millisecond, MaxTTL: 20 * time.Second}
			cfg.TTL = 2 * time.Second
			c, other := f.open(t, cfg), f.open(t, cfg)
			for _, try := range []string{"at the start", "after a pause"} {
				before := f.connections()
				if try == "after a pause" {
					time.Sleep(4200 * time.Millisecond) // ConnLife, after which all connections have ended
				}
				lease, err := c.TryAcquire(t.Context(), name)
				require.NoError(t, err, try)
				require.NoError(t, lease.Release(t.Context()), try)
				if try == "after a pause" {
					require.Greater(t, f.connections(), before)
				}
			}
			lease, err := c.Acquire(t.Context(), name)
			require.NoError(t, err)
			lease.KeepAlive()
			waiter := make(chan error, 1)
			go func() {
				lease, err := other.Acquire(t.Context(), name)
				if err == nil {
					err = lease.Release(t.Context())
				}
				waiter <- err
			}()
			// Two TTLs, and several ConnMaxLifetimes.
			for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				require.NoError(t, lease.Err())
			}
			require.NoError(t, lease.Release(t.Context()))
			require.NoError(t, <-waiter)
			for _, s := range servers {
				require.Eventually(t, func() bool { return s.MustAsk("EXISTS", name) == ":0" }, 10*time.Second, 5*time.Millisecond)
			}
		})
	}
}

// TestTooFarForTheTimeout: where InstanceTimeout is too short for the distance, the first round that
// is lost and Verify say so, and with the timeout that they name locks are taken.
func TestTooFarForTheTimeout(t *testing.T) {
	t.Parallel()
	servers := threeServers(t)
	const trip = 200 * time.Millisecond
	f := far(t, servers, 0, trip, trip, trip)
	c := f.open(t, quorum.Config{InstanceTimeout: 20 * time.Millisecond})
	_, err := c.TryAcquire(t.Context(), "k")
	require.ErrorIs(t, err, quorum.ErrNoQuorum)
	require.ErrorIs(t, err, quorum.ErrTimeout)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	var distance *wire.DistanceError
	require.ErrorAs(t, err, &distance)
	require.GreaterOrEqual(t, distance.RoundTrip, trip)
	require.GreaterOrEqual(t, distance.Setup, 2*trip)
	require.Equal(t, 20*time.Millisecond, distance.Timeout)
	require.ErrorContains(t, err, "set quorum.Config.InstanceTimeout to "+distance.Enough().String())
	report, err := c.Verify(t.Context())
	require.NoError(t, err)
	for _, r := range report.Instances {
		require.Len(t, r.Notes, 2, "%v", r.Notes) // the other is about persistence
		require.Contains(t, r.Notes[0], "too far away for an InstanceTimeout of 20ms")
	}

	cfg := quorum.Config{InstanceTimeout: distance.Enough()}
	cfg.TTL = max(10*time.Second, distance.TTL())
	lease, err := f.open(t, cfg).TryAcquire(t.Context(), "other")
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
}

// TestBadInstanceHoldsUpNobody: one that can't be connected to costs the others' round nothing.
func TestBadInstanceHoldsUpNobody(t *testing.T) {
	t.Parallel()
	servers := threeServers(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, in the kernel, and never answers
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	var instances []wire.Instance
	for i, addr := range []string{servers[0].Addr(), servers[1].Addr(), l.Addr().String()} {
		client := redis.NewClient(instance.Harden(&redis.Options{Addr: addr, DialTimeout: 10 * time.Second}))
		defer func() { _ = client.Close() }()
		r, err := instance.New(client, instance.Config{Name: fmt.Sprint("s", i), FixedAddress: true})
		require.NoError(t, err)
		defer func() { _ = r.Close() }()
		instances = append(instances, r)
	}
	c, err := quorum.New(quorum.Config{InstanceTimeout: time.Second}, instances...)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(context.Background())) }()
	require.NoError(t, c.Trust(t.Context(), "s0", "s1"))
	began := time.Now()
	var all sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	for i := range 20 {
		all.Go(func() {
			lease, err := c.TryAcquire(t.Context(), fmt.Sprint("k", i))
			if err == nil {
				err = lease.Release(t.Context())
			}
			mu.Lock()
			failures = append(failures, err)
			mu.Unlock()
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(failures...))
	require.Less(t, time.Since(began), 8*time.Second, "it didn't wait for DialTimeout")
}
