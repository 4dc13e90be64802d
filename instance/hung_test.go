//go:build unix

package instance

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
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
			r := open(t, s.URL()+"?read_timeout=1m&write_timeout=1m&dial_timeout=1m", Config{})
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
				}, 5*time.Second, time.Millisecond)
			} else {
				granted(t, r.Do(within(t), request(wire.Look, "hung", "")))
			}
		})
	}
}

// TestGivenUpConnecting gives calls up while their connection is greeting a hung server: they are
// not sent when the server wakes up, and the connection is there for the next ones.
func TestGivenUpConnecting(t *testing.T) {
	r, s := real(t, Config{})
	s.MustAsk("SCRIPT", "LOAD", acquireScript.source)
	s.Pause()
	ctx, cancel := context.WithCancel(context.Background())
	const timeout = 100 * time.Millisecond
	vote := make(votes, 1)
	r.Send(acquire("k", "v"), timeout, vote)
	start := time.Now()
	probe := make(chan error)
	go func() { _, err := r.Probe(ctx, wire.Known{}); probe <- err }()
	greeting := func(n uint32) func() bool {
		return func() bool { return r.Client().PoolStats().TotalConns == n }
	}
	require.Eventually(t, greeting(1), 5*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-probe, context.Canceled)
	require.True(t, failed(t, <-vote, context.DeadlineExceeded).Unsent)
	require.Less(t, time.Since(start), 30*time.Second)
	s.Resume()
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	require.EqualValues(t, 1, r.Client().PoolStats().Misses, "no other connection was made")
}

// TestHungForReadTimeout: if ReadTimeout is shorter it ends the wait, and the error isn't a
// context's.
func TestHungForReadTimeout(t *testing.T) {
	r, s := real(t, Config{})
	client := redis.NewClient(Harden(&redis.Options{Addr: s.Addr(), ReadTimeout: 50 * time.Millisecond}))
	t.Cleanup(func() { _ = client.Close() })
	quick, err := New(client, Config{})
	require.NoError(t, err)
	// On a busy machine the first tries may take longer.
	require.Eventually(t, func() bool {
		return quick.Do(context.Background(), request(wire.Look, "k", "")).Outcome == wire.Granted
	}, 10*time.Second, time.Millisecond)
	s.Pause()
	v := failed(t, quick.Do(context.Background(), acquire("k", "v")), wire.ErrTimeout)
	require.NotErrorIs(t, v.Err, context.DeadlineExceeded)
	require.False(t, v.Unsent)
	v = failed(t, quick.Do(context.Background(), acquire("k", "v")), wire.ErrTimeout)
	require.True(t, v.Unsent, "only the greeting was sent")
	var netErr net.Error
	require.ErrorAs(t, v.Err, &netErr)
	s.Resume()
	require.NotNil(t, r)
}

// TestNobodyThere: nothing was sent if no server listens.
func TestNobodyThere(t *testing.T) {
	addr, release, err := redisproc.Reserve()
	require.NoError(t, err)
	t.Cleanup(release)
	for _, url := range []string{"redis://" + addr, "rediss://" + addr, "unix:///nowhere/redis.sock", "redis://no-such-host.invalid"} {
		r := open(t, url, Config{})
		start := time.Now()
		for _, req := range every() {
			v := failed(t, r.Do(within(t), req), ErrConnection)
			require.True(t, v.Unsent)
			var op *net.OpError
			require.ErrorAs(t, v.Err, &op)
		}
		_, err := r.Probe(within(t), wire.Known{})
		require.ErrorIs(t, err, ErrConnection)
		require.Less(t, time.Since(start), 5*time.Second, "no retries")
	}
}

// TestClosed sends nothing through a closed client.
func TestClosed(t *testing.T) {
	_, s := real(t, Config{})
	r, err := Open(s.URL(), Config{})
	require.NoError(t, err)
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	for _, req := range every() {
		v := failed(t, r.Do(within(t), req), ErrClosed)
		require.True(t, v.Unsent)
		require.ErrorIs(t, v.Err, redis.ErrClosed)
	}
	_, err = r.Probe(within(t), wire.Known{})
	require.ErrorIs(t, err, ErrClosed)

	client := redis.NewClient(Harden(&redis.Options{Addr: s.Addr()}))
	defer func() { require.NoError(t, client.Close()) }()
	r, err = New(client, Config{})
	require.NoError(t, err)
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	require.NoError(t, r.Close())
	require.True(t, failed(t, r.Do(within(t), request(wire.Look, "k", "")), ErrClosed).Unsent)
	require.Eventually(t, func() bool { return client.PoolStats().TotalConns == 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, client.Ping(within(t)).Err(), "the caller's client works")
}

// TestNoConnectionToSpare waits for the client's only connection: for as long as its PoolTimeout,
// or until the context ends.
func TestNoConnectionToSpare(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	for name, test := range map[string]struct {
		pool, call time.Duration
		kind       error
	}{
		"PoolTimeout": {20 * time.Millisecond, 10 * time.Second, ErrBusyClient},
		"context":     {10 * time.Second, 5 * time.Millisecond, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			client := redis.NewClient(Harden(&redis.Options{Addr: s.Addr(), PoolSize: 1, PoolTimeout: test.pool}))
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
			}, 10*time.Second, time.Millisecond)
			granted(t, v)
		})
	}
}

// TestComesBack kills the server under load and starts it again: the instance recovers within a
// bounded time, although go-redis has stopped dialing.
func TestComesBack(t *testing.T) {
	r, s := real(t, Config{})
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	s.Kill()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 40 { // more than PoolSize dials in all
				v := r.Do(within(t), acquire("k", value()))
				if v.Outcome != wire.Failed {
					t.Error("a vote of a dead server")
				}
			}
		})
	}
	wg.Wait()
	s.Restart()
	start := time.Now()
	var v wire.Vote
	require.Eventually(t, func() bool {
		v = r.Do(within(t), request(wire.Look, "k", ""))
		return v.Outcome == wire.Granted
	}, 10*time.Second, 5*time.Millisecond)
	t.Logf("back after %v", time.Since(start))
}

// TestNothingIsLeftRunning gives up many calls at a hung server and then counts goroutines.
func TestNothingIsLeftRunning(t *testing.T) {
	_, s := real(t, Config{})
	client := redis.NewClient(Harden(&redis.Options{Addr: s.Addr(), ReadTimeout: 100 * time.Millisecond}))
	t.Cleanup(func() { _ = client.Close() })
	r, err := New(client, Config{})
	require.NoError(t, err)
	// On a busy machine the first tries may take longer than ReadTimeout.
	require.Eventually(t, func() bool {
		return r.Do(within(t), request(wire.Look, "k", "")).Outcome == wire.Granted
	}, 10*time.Second, time.Millisecond)
	before := runtime.NumGoroutine()
	s.Pause()
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			vote := make(votes, 1)
			r.Send(acquire("k", value()), 10*time.Millisecond, vote)
			failed(t, <-vote, context.DeadlineExceeded)
		})
	}
	wg.Wait()
	ended := func() bool { return runtime.NumGoroutine() <= before+1 } // one runs this condition
	if !assert.Eventually(t, ended, 10*time.Second, 10*time.Millisecond, "all must end while the server still hangs") {
		stacks := make([]byte, 1<<20)
		t.Logf("%s", stacks[:runtime.Stack(stacks, true)])
	}
	s.Resume()
}
