package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// far is an instance in another zone.
type far struct {
	wire.Instance
	by time.Duration
}

func (f far) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	time.AfterFunc(f.by, func() { f.Instance.Send(cmd, timeout, to) })
}

// clientsNearby are clients of three servers, each of them a millisecond nearer to one server than to
// the others.
func clientsNearby(t *testing.T, n int, servers []*instancetest.Server, timeout time.Duration) []*quorum.Coordinator {
	t.Helper()
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = s.URL()
	}
	clients := make([]*quorum.Coordinator, n)
	for m := range clients {
		g, err := instance.OpenAll(instance.Config{}, urls...)
		require.NoError(t, err)
		var instances []wire.Instance
		for i, inst := range g.Instances() {
			if i != m%len(urls) {
				inst = far{inst, time.Millisecond}
			}
			instances = append(instances, inst)
		}
		cfg := quorum.Config{Owner: fmt.Sprint("zone", m), CloseAlso: g, Terms: quorum.Terms{TTL: 20 * time.Second}, InstanceTimeout: timeout}
		clients[m], err = quorum.New(cfg, instances...)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, clients[m].Close(context.Background())) })
		require.NoError(t, clients[m].Trust(t.Context()))
	}
	return clients
}

// TestOneOfThoseThatTryAtOnce has clients try at once, as cron starts a job on several machines. In
// every try exactly one gets the lock, and the others are told that it is taken.
func TestOneOfThoseThatTryAtOnce(t *testing.T) {
	tries := 10
	if os.Getenv("REDLOCK_LONG") != "" {
		tries = 200
	}
	const hung = "one server hung"
	for _, n := range []int{3, 20} {
		for _, c := range []struct {
			name    string
			tries   int
			disturb func(s *instancetest.Server)
			acquire func(c *quorum.Coordinator, ctx context.Context, key string) (*quorum.Lease, error)
		}{
			{"TryAcquire", tries, nil, (*quorum.Coordinator).TryAcquire},
			{"Acquire once", tries / 5, nil, func(c *quorum.Coordinator, ctx context.Context, key string) (*quorum.Lease, error) {
				c, err := c.WithTerms(func(t *quorum.Terms) { t.MaxTries = 1 })
				if err != nil {
					return nil, err
				}
				return c.Acquire(ctx, key)
			}},
			{"TryAcquireAll", tries / 5, nil, func(c *quorum.Coordinator, ctx context.Context, key string) (*quorum.Lease, error) {
				return c.TryAcquireAll(ctx, key, key+"/also")
			}},
			{"TryAcquireAny", tries / 5, nil, func(c *quorum.Coordinator, ctx context.Context, key string) (*quorum.Lease, error) {
				return c.TryAcquireAny(ctx, key)
			}},
			{"one server down", tries / 5, func(s *instancetest.Server) { s.Kill() }, (*quorum.Coordinator).TryAcquire},
			{hung, tries / 10, (*instancetest.Server).Pause, (*quorum.Coordinator).TryAcquire},
		} {
			t.Run(fmt.Sprintf("%d clients, %s", n, c.name), func(t *testing.T) {
				if c.name == hung && tries < 1000 {
					t.Skip("it waits for the hung server; the simulation has it, too")
				}
				servers := instancetest.StartN(t, 3, instancetest.Config{})
				timeout := 5 * time.Second // a loaded machine isn't a slow server
				if c.name == hung {
					timeout = time.Second
				}
				clients := clientsNearby(t, n, servers, timeout)
				if c.disturb != nil {
					s := servers[rand.N(3)]
					if c.disturb(s); c.name == hung {
						defer s.Resume() // so that the clients close without delay
					}
				}
				for try := range c.tries {
					tryAtOnce(t, clients, fmt.Sprint("job/", try), []time.Duration{0, 100 * time.Microsecond, 2 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}[try%5], c.acquire)
				}
			})
		}
	}
}

func tryAtOnce(t *testing.T, clients []*quorum.Coordinator, key string, jitter time.Duration, acquire func(*quorum.Coordinator, context.Context, string) (*quorum.Lease, error)) {
	t.Helper()
	leases, errs := make([]*quorum.Lease, len(clients)), make([]error, len(clients))
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			<-start
			if jitter > 0 {
				time.Sleep(rand.N(jitter))
			}
			leases[i], errs[i] = acquire(c, t.Context(), key)
		})
	}
	close(start)
	all.Wait()
	var holder *quorum.Lease
	for i, lease := range leases {
		switch {
		case lease == nil:
			require.ErrorIs(t, errs[i], quorum.ErrTaken, key)
		case holder != nil:
			require.Fail(t, "two leases", key)
		default:
			holder = lease
		}
	}
	require.NotNil(t, holder, "%s, jitter %v: nobody has the lock: %v", key, jitter, errors.Join(errs...))
	require.NoError(t, holder.Release(t.Context()))
}
