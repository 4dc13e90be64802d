//go:build unix

package instance_test

import (
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// TestFaultyInstanceCostsNothing has 128 workers lock on five servers of which one hangs, is slow,
// or is gone: the cost in goroutines, connections and time is bounded, nothing stays behind, and
// the instance recovers on its own.
func TestFaultyInstanceCostsNothing(t *testing.T) {
	// So long that a key that expires, or a wait for that, isn't taken for a delete or an answer,
	// however busy the machine is.
	const ttl = 8 * time.Minute
	var slow atomic.Bool
	for name, fault := range map[string]struct {
		begin, end func(s *instancetest.Server)
	}{
		"hung": {(*instancetest.Server).Pause, (*instancetest.Server).Resume},
		"slow": {func(*instancetest.Server) { slow.Store(true) }, func(*instancetest.Server) { slow.Store(false) }},
		"gone": {func(s *instancetest.Server) { s.Kill() }, (*instancetest.Server).Restart},
	} {
		t.Run(name, func(t *testing.T) {
			servers := instancetest.StartN(t, 5, instancetest.Config{})
			urls := make([]string, len(servers))
			for i, s := range servers {
				urls[i] = s.URL()
			}
			faulty := servers[2]
			u, err := url.Parse(faulty.URL())
			require.NoError(t, err)
			urls[2] = startProxy(t, u.Host, func() replyFate {
				f := passed
				if slow.Load() {
					f.Delay = 50 * time.Millisecond
				}
				return f
			}).URL()
			group, err := instance.OpenAll(instance.Config{FixedAddress: true}, urls...)
			require.NoError(t, err)
			defer func() { require.NoError(t, group.Close()) }()
			locks, err := quorum.New(quorum.Config{InstanceTimeout: 250 * time.Millisecond, MaxTTL: ttl, Terms: quorum.Terms{TTL: ttl}}, group.Instances()...)
			require.NoError(t, err)
			defer func() { require.NoError(t, locks.Close(t.Context())) }()
			require.NoError(t, locks.Trust(t.Context()))

			before := runtime.NumGoroutine()
			load(t, locks, 50*time.Millisecond) // warm
			fault.begin(faulty)
			most, worst, cycles := load(t, locks, 700*time.Millisecond)
			conns := int(group.Members()[2].Client().PoolStats().TotalConns)
			t.Logf("%d cycles, worst %v, %d goroutines more at most, %d connections", cycles, worst, most-before, conns)
			// The workers themselves; while a connection is new, one for each vote that waits for
			// the Probe; and a few for each batch in flight.
			require.LessOrEqual(t, most-before, 5*128)
			require.LessOrEqual(t, conns, 8)
			require.Positive(t, cycles)
			require.Less(t, worst, ttl/4, "nobody waits for a TTL")
			for i, s := range servers {
				if i != 2 {
					require.Eventually(t, func() bool { return locksOn(s) == 0 }, ttl/4, time.Millisecond, "instance %d", i)
				}
			}

			fault.end(faulty)
			well := time.Now()
			// Not Settle: deletes that found nothing are repeated for a TTL, because the SET may
			// still come.
			require.Eventually(t, func() bool { return locksOn(faulty) == 0 }, ttl/4, time.Millisecond)
			t.Logf("no lock is left there after %v", time.Since(well))
			require.Eventually(t, func() bool {
				lease, err := locks.TryAcquire(t.Context(), "again")
				if err != nil {
					return false
				}
				defer func() { _ = lease.Release(t.Context()) }()
				time.Sleep(5 * time.Millisecond)
				return name == "gone" || len(lease.Instances()) == 5 // a restarted server is in quarantine
			}, ttl/4, time.Millisecond)
		})
	}
}

// load has 128 workers lock for a while, and returns the most goroutines seen, the longest cycle
// and the number of cycles.
func load(t *testing.T, locks *quorum.Coordinator, d time.Duration) (most int, worst time.Duration, cycles int) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	var taken []time.Duration
	began := time.Now()
	for w := range 128 {
		all.Go(func() {
			var mine []time.Duration
			for time.Since(began) < d {
				from := time.Now()
				lease, err := locks.Acquire(t.Context(), fmt.Sprint("worker-", w))
				if err != nil {
					t.Error(err)
					return
				}
				// On a busy machine another server may be late, too. Its pending deletes arrive,
				// which is checked below.
				if err := lease.Release(t.Context()); err != nil && !errors.Is(err, quorum.ErrUnreachable) {
					t.Error(err)
				}
				mine = append(mine, time.Since(from))
			}
			mu.Lock()
			defer mu.Unlock()
			taken = append(taken, mine...)
		})
	}
	for time.Since(began) < d {
		most = max(most, runtime.NumGoroutine())
		time.Sleep(time.Millisecond)
	}
	all.Wait()
	return most, slices.Max(taken), len(taken)
}

// locksOn counts the locks' keys on a server.
func locksOn(s *instancetest.Server) int {
	reply, err := s.Ask("EVAL", "local n = 0 for _, k in ipairs(redis.call('KEYS', 'worker-*')) do n = n + 1 end return n", "0")
	if err != nil {
		return -1
	}
	var n int
	_, _ = fmt.Sscanf(reply, ":%d", &n)
	return n
}
