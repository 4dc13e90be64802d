//go:build unix

package instance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// Coordinators over three servers, of which some have no Lua.

// mixed starts three servers, the first n of which have no Lua.
func mixed(t *testing.T, n int) []*instancetest.Server {
	servers := make([]*instancetest.Server, 3)
	for i := range servers {
		cfg := instancetest.Config{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}}
		if i < n {
			cfg.Args = append(cfg.Args, instancetest.WithoutLua()...)
		}
		servers[i] = instancetest.Start(t, cfg)
	}
	return servers
}

// coordinator is a separate client of the servers. If one has Lua, the wait queues are there.
// between, if not nil, is called right before each EXEC of a watched transaction.
func coordinator(t *testing.T, servers []*instancetest.Server, without int, between func(i int)) client {
	t.Helper()
	cfg := quorum.Config{Terms: quorum.Terms{TTL: 3 * time.Second}, MaxTTL: 5 * time.Second, InstanceTimeout: time.Second}
	cfg.Hooks.CannotNotify = func(e quorum.CannotNotifyEvent) {
		if without < 3 || !errors.Is(e.Err, instance.ErrCommand) {
			t.Errorf("an instance that cannot notify because of %v", e.Err)
		}
	}
	var instances []wire.Instance
	for i, s := range servers {
		inst, err := instance.Open(s.URL(), instance.Config{FixedAddress: true, Name: fmt.Sprint("s", i)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, inst.Close()) })
		if between != nil {
			inst.Client().AddHook(beforeExec{func() { between(i) }})
		}
		instances = append(instances, inst)
	}
	c, err := quorum.New(cfg, instances...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	require.NoError(t, c.Trust(t.Context()))
	return client{c}
}

// beforeExec is a hook of go-redis's.
type beforeExec struct{ do func() }

func (h beforeExec) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h beforeExec) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h beforeExec) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if strings.EqualFold(fmt.Sprint(cmds[0].Args()[0]), "ECHO") {
			h.do()
		}
		return next(ctx, cmds)
	}
}

func eachMix(t *testing.T, test func(t *testing.T, servers []*instancetest.Server, without int)) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n, " of 3 without Lua"), func(t *testing.T) {
			t.Parallel()
			test(t, mixed(t, n), n)
		})
	}
}

// TestLeasesWithoutLua: acquire, extend, hand over, release; across a restart of a server.
func TestLeasesWithoutLua(t *testing.T) {
	eachMix(t, func(t *testing.T, servers []*instancetest.Server, without int) {
		c := coordinator(t, servers, without, nil)
		report, err := c.Verify(t.Context())
		require.NoError(t, err)
		for i, inst := range report.Instances {
			said := slices.ContainsFunc(inst.Notes, func(note string) bool { return strings.Contains(note, "it runs no scripts") })
			require.Equal(t, i < without, said, "%q", inst.Notes)
		}
		// trusted waits until the servers are back: a refused dial is repeated after a pause.
		trusted := func() {
			require.Eventually(t, func() bool { return c.Trust(t.Context()) == nil }, 5*time.Second, time.Millisecond)
		}
		freed := func(s *instancetest.Server) { // a release waits for a majority
			require.Eventually(t, func() bool { return s.MustAsk("EXISTS", "k") == ":0" }, time.Second, time.Millisecond)
		}
		var last fencing.Token
		rises := func(l *quorum.Lease) {
			require.Greater(t, l.Token(), last)
			last = l.Token()
		}
		for range 3 {
			l, err := c.Acquire(t.Context(), "k")
			require.NoError(t, err)
			rises(l)
			require.NoError(t, l.Extend(t.Context()))
			require.Positive(t, l.Validity())
			require.NoError(t, l.Release(t.Context()))
		}
		for _, s := range servers {
			freed(s)
		}

		// Another server is away, so the one without Lua is needed.
		servers[2].Kill()
		l, err := c.Acquire(t.Context(), "k")
		require.NoError(t, err)
		rises(l)
		require.ElementsMatch(t, []string{"s0", "s1"}, l.Instances())
		require.NoError(t, l.Extend(t.Context()))
		require.NoError(t, l.Release(t.Context()))
		freed(servers[0])
		servers[2].Restart()
		trusted()

		// A server without Lua restarts during a lease. It no longer counts for that lease, and
		// votes again later.
		l, err = c.Acquire(t.Context(), "k")
		require.NoError(t, err)
		rises(l)
		servers[0].Restart()
		require.NoError(t, l.Release(t.Context()))
		trusted()
		servers[1].Kill()
		l, err = c.Acquire(t.Context(), "k")
		require.NoError(t, err)
		rises(l)
		require.ElementsMatch(t, []string{"s0", "s2"}, l.Instances())
		require.NoError(t, l.Release(t.Context()))
	})
}

// TestContentionWithoutLua: two clients and their goroutines want one lock, while the servers'
// counters change between the exchanges of one client. There is one holder at a time.
func TestContentionWithoutLua(t *testing.T) {
	eachMix(t, func(t *testing.T, servers []*instancetest.Server, without int) {
		raw := make([]*redis.Client, len(servers))
		for i, s := range servers {
			raw[i] = redis.NewClient(&redis.Options{Addr: s.Addr()})
			t.Cleanup(func() { require.NoError(t, raw[i].Close()) })
		}
		var changes sync.Map
		change := func(i int) {
			n, _ := changes.LoadOrStore(i, 0)
			changes.Store(i, n.(int)+1)
			if n.(int)%3 == 0 { // a retry gets through
				raw[i].Incr(context.Background(), instance.CounterKey("k"))
			}
		}
		clients := []client{coordinator(t, servers, without, change), coordinator(t, servers, without, nil)}
		var mu sync.Mutex
		var last fencing.Token
		turns := 0
		var holder *quorum.Lease
		group, ctx := errgroup.WithContext(t.Context())
		for _, c := range clients {
			for range 3 {
				group.Go(func() error {
					for range 5 {
						l, err := c.Acquire(ctx, "k")
						if err != nil {
							return err
						}
						mu.Lock()
						if holder != nil && holder.Validity() > 0 {
							t.Errorf("two holders: tokens %d and %d", holder.Token(), l.Token())
						}
						if l.Token() <= last {
							t.Errorf("token %d after %d", l.Token(), last)
						}
						holder, last = l, l.Token()
						turns++
						mu.Unlock()
						if err := l.Extend(ctx); err != nil && !slow(err) {
							return err
						}
						mu.Lock()
						holder = nil
						mu.Unlock()
						if err := l.Release(ctx); err != nil && !slow(err) && !errors.Is(err, quorum.ErrNotHeld) {
							return err
						}
					}
					return nil
				})
			}
		}
		require.NoError(t, group.Wait())
		require.Equal(t, 30, turns)
		changed := 0
		changes.Range(func(_, n any) bool { changed += n.(int); return true })
		require.Positive(t, changed, "nothing was changed in between")
	})
}
