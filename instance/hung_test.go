//go:build unix

package instance

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum/wire"
)

// TestHungServer stops the server: every Do returns when its context ends, with or without a
// connection, and unsent requests are never sent afterwards.
func TestHungServer(t *testing.T) {
	for name, warm := range map[string]bool{"connected": true, "connecting": false} {
		t.Run(name, func(t *testing.T) {
			s := instancetest.Start(t, instancetest.Config{})
			// Only the request's own time can end it within a minute.
			r := open(t, s.URL(), Config{})
			if warm { // the script as well: a stopped server can't say NOSCRIPT
				granted(t, r.Do(within(t), acquire("warm", "v")))
			}
			s.Pause()
			for i, req := range every() {
				req.Key = "hung"
				start, vote := time.Now(), make(votes, 1)
				if warm && i == 0 {
					late := pending(t, r, req, vote)
					written(t, r)
					late()
				} else {
					r.Send(req, 40*time.Millisecond, vote)
				}
				v := failed(t, <-vote, context.DeadlineExceeded)
				require.Less(t, time.Since(start), 30*time.Second, "%v", req.Op)
				// Sent only over the one existing connection.
				require.Equal(t, !warm || i > 0, v.Unsent, "%v: %v", req.Op, v.Err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 40*time.Millisecond)
			defer cancel()
			_, err := r.Probe(ctx, wire.Known{})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			s.Resume()

			if warm {
				// The server carries out what is in its socket: that is why there are pending
				// deletes.
				require.Eventually(t, func() bool {
					return r.Do(within(t), request(wire.Look, "hung", "")).Outcome == wire.Refused
				}, patience, time.Millisecond)
			} else {
				granted(t, r.Do(within(t), request(wire.Look, "hung", "")))
			}
		})
	}
}

// TestNobodyThere: nothing was sent if no server listens.
func TestNobodyThere(t *testing.T) {
	addr, release, err := redisproc.Reserve()
	require.NoError(t, err)
	t.Cleanup(release)
	for _, url := range []string{"redis://" + addr, "rediss://" + addr, "unix:///nowhere/redis.sock", "redis://" + strings.Repeat("x", 64)} { // too long for a name server to be asked
		r := open(t, url, Config{})
		for _, req := range every() {
			v := failed(t, r.Do(within(t), req), ErrConnection)
			require.True(t, v.Unsent)
			var op *net.OpError
			require.ErrorAs(t, v.Err, &op)
		}
		_, err := r.Probe(within(t), wire.Known{})
		require.ErrorIs(t, err, ErrConnection)
	}
}

// TestNoConnectionToSpare waits for the client's only connection: for as long as its PoolTimeout,
// or until the context ends.
func TestNoConnectionToSpare(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	for name, test := range map[string]struct {
		pool, call time.Duration
		kind       error
	}{
		"PoolTimeout": {20 * time.Millisecond, patience, ErrBusyClient},
		"context":     {patience, 5 * time.Millisecond, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			client := redis.NewClient(Harden(unhurriedOptions(redis.Options{Addr: s.Addr(), PoolSize: 1, PoolTimeout: test.pool})))
			t.Cleanup(func() { _ = client.Close() })
			r, err := New(client, Config{})
			require.NoError(t, err)
			conn := client.Conn()
			require.NoError(t, conn.Ping(within(t)).Err())
			ctx, cancel := context.WithTimeout(context.Background(), test.call)
			defer cancel()
			v := failed(t, r.Do(ctx, acquire(name, "v")), test.kind)
			require.True(t, v.Unsent)
			require.NoError(t, conn.Close())
			// A call that gave up may still be about to notice, and has the connection until then.
			require.Eventually(t, func() bool {
				v = r.Do(within(t), acquire(name, "v"))
				return v.Outcome != wire.Failed
			}, patience, time.Millisecond)
			granted(t, v)
		})
	}
}
