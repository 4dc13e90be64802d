//go:build unix

package instance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// processor is the processor of a server that carries out one command after the other.
type processor struct {
	each time.Duration // the time of a command
	turn chan struct{} // not a Mutex, because waiting for one stops virtual time
}

func newProcessor(each time.Duration) *processor {
	return &processor{each: each, turn: make(chan struct{}, 1)}
}

// connect returns a connection on which the server reads commands as fast as it carries them out.
// Later commands wait, as in a socket's buffer.
func (p *processor) connect(server net.Conn) net.Conn {
	client, middle := net.Pipe()
	sent := make(chan []byte, 1<<16)
	go func() {
		defer close(sent)
		for {
			chunk := make([]byte, 64<<10)
			n, err := middle.Read(chunk)
			if err != nil {
				return
			}
			sent <- chunk[:n]
		}
	}()
	go func() {
		for chunk := range sent {
			p.turn <- struct{}{}
			// A value and a script's hash have 40 bytes, so this counts each lock and each command
			// once.
			time.Sleep(p.each * time.Duration(bytes.Count(chunk, []byte("$40\r\n"))))
			<-p.turn
			_, _ = server.Write(chunk) // if it fails, so does the other direction
		}
		_ = server.Close()
	}()
	go func() {
		defer func() { _ = middle.Close() }()
		chunk := make([]byte, 64<<10)
		for {
			n, err := server.Read(chunk)
			if err != nil {
				return
			}
			if _, err := middle.Write(chunk[:n]); err != nil {
				return
			}
		}
	}()
	return client
}

// TestOverload holds leases on five servers, and asks for new ones at four times the rate that the
// servers can serve, for four TTLs. Leases are kept, refused attempts get the reason, and new locks
// are still acquired.
//
// Time is virtual: it passes only when every goroutine waits for it. So the speed of this machine
// has no effect. Its load has one: it changes the order of goroutines at one moment, and so which
// calls share a batch. New locks are counted after two TTLs, because the first burst is late, and its
// deletes take the servers between one and four seconds. In ten runs no lease was lost, a fifth of the
// extensions failed, and there were 255 to 415 locks in the last two TTLs. Without admission control no
// extension is in time, all leases are lost, no attempt is refused at once, and there are no locks then.
// The bounds are ratios within the run, between these.
func TestOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const (
			each     = 4 * time.Millisecond // 250 commands a second
			capacity = 100                  // locks a second: two commands each, besides the extensions
			leases   = 25
			ttl      = 3 * time.Second
		)
		cluster, err := embedded.StartPiped(5)
		require.NoError(t, err)
		defer func() { require.NoError(t, cluster.Close()) }()
		var instances []wire.Instance
		for i := range 5 {
			server, cpu := cluster.Server(i), newProcessor(each)
			client := redis.NewClient(instance.Harden(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
				conn, err := server.Dial()
				if err != nil {
					return nil, err
				}
				return cpu.connect(conn), nil
			}}))
			defer func() { require.NoError(t, client.Close()) }()
			inst, err := instance.New(client, instance.Config{Name: fmt.Sprint("s", i), VouchedRunID: server.RunID(), FixedAddress: true})
			require.NoError(t, err)
			defer func() { require.NoError(t, inst.Close()) }()
			instances = append(instances, inst)
		}
		var lost, extended, failed atomic.Int64
		locks, err := quorum.New(quorum.Config{
			TTL: ttl, MaxTTL: ttl, InstanceTimeout: 300 * time.Millisecond,
			Hooks: quorum.Hooks{
				Lost: func(e quorum.LeaseEvent) { lost.Add(1) },
				RoundDecided: func(_ context.Context, e quorum.RoundEnd) {
					if e.Op == wire.Extend && e.Err == nil {
						extended.Add(1)
					} else if e.Op == wire.Extend {
						failed.Add(1)
					}
				},
			},
		}, instances...)
		require.NoError(t, err)
		defer func() { require.NoError(t, locks.Close(t.Context())) }()

		var held []*quorum.Lease
		for i := range leases {
			lease, err := locks.Acquire(t.Context(), fmt.Sprint("held-", i))
			require.NoError(t, err)
			lease.KeepAlive()
			held = append(held, lease)
		}

		var tries sync.WaitGroup
		var early, won, refused, others atomic.Int64
		began := time.Now()
		for n := 0; time.Since(began) < 4*ttl; n++ {
			tries.Go(func() {
				lease, err := locks.TryAcquire(t.Context(), fmt.Sprint("wanted-", n))
				switch {
				case err == nil:
					if time.Since(began) < 2*ttl {
						early.Add(1)
					} else {
						won.Add(1)
					}
					_ = lease.Release(t.Context()) // a failed delete is repeated
				case errors.Is(err, wire.ErrOverloaded):
					refused.Add(1)
				default:
					others.Add(1)
				}
			})
			time.Sleep(time.Second / (4 * capacity))
		}
		tries.Wait()
		t.Logf("%d locks, then %d in %v; %d were refused at once, %d failed otherwise; %d extensions, %d failed",
			early.Load(), won.Load(), time.Since(began)-2*ttl, refused.Load(), others.Load(), extended.Load(), failed.Load())
		assert.Less(t, lost.Load(), int64(leases/2), "leases lost")
		assert.Less(t, failed.Load(), 4*extended.Load(), "extensions are in time")
		assert.Greater(t, won.Load(), int64(capacity*2*ttl.Seconds()/10), "new locks don't starve")
		assert.Greater(t, refused.Load(), 3*others.Load(), "most of what can't be served is refused at once")
		for _, lease := range held {
			if lease.Err() == nil {
				require.NoError(t, lease.Release(t.Context()))
			}
		}
		require.NoError(t, locks.Settle(t.Context()))
	})
}

// TestSilentSubscription: a connection can be lost without a sign, and a subscription that hears
// nothing for a while asks.
func TestSilentSubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cluster, err := embedded.StartPiped(1)
		require.NoError(t, err)
		defer func() { require.NoError(t, cluster.Close()) }()
		sub, err := cluster.Instances()[0].(*instance.Redis).Subscribe(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, sub.Close()) }()
		over := make(chan error, 1)
		go func() {
			_, err := sub.Next()
			over <- err
		}()
		time.Sleep(time.Minute)
		require.Empty(t, over, "it is answered")
		cluster.Server(0).Pause()
		select {
		case err := <-over:
			require.ErrorIs(t, err, wire.ErrTimeout)
		case <-time.After(time.Minute):
			require.Fail(t, "it still waits")
		}
	})
}
