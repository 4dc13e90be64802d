//go:build unix

package instance

import (
	"bufio"
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// gate is a dialer that waits before each dial.
type gate struct {
	mu    sync.Mutex
	dials int
	wait  func(ctx context.Context, dial int) // for the first dial, the second...
}

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	g.mu.Lock()
	g.dials++
	n := g.dials
	g.mu.Unlock()
	g.wait(ctx, n)
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dials
}

// TestConnectionOutlivesTheRequest: a connection that takes longer to make than any request waits
// for is there for the next request. Nothing was sent for those that gave up.
func TestConnectionOutlivesTheRequest(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	ready := make(chan struct{})
	g := &gate{wait: func(context.Context, int) { <-ready }}
	r := open1(t, &redis.Options{Addr: s.Addr(), Dialer: g.dial, ConnMaxLifetime: maxLifetime}, Config{})
	for range 3 {
		vote := make(votes, 1)
		r.Send(acquire("late", value()), 10*time.Millisecond, vote)
		require.True(t, failed(t, <-vote, context.DeadlineExceeded).Unsent)
	}
	require.False(t, r.Connected())
	close(ready)
	require.NoError(t, r.Connect(within(t)))
	require.True(t, r.Connected())
	granted(t, r.Do(within(t), acquire("k", value())))
	require.Equal(t, 1, g.count(), "one at a time, and none was closed")
	require.Equal(t, "$-1", strings.TrimSpace(s.MustAsk("GET", "late")))
	require.Positive(t, r.RoundTrip())
}

// TestConnectionsAreReplacedInTime: while another connection is being made, requests go over the
// old one, until that is too old.
func TestConnectionsAreReplacedInTime(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	ready := make(chan struct{})
	g := &gate{wait: func(_ context.Context, dial int) {
		if dial > 1 {
			<-ready
		}
	}}
	r := open1(t, &redis.Options{Addr: s.Addr(), Dialer: g.dial, ConnMaxLifetime: maxLifetime}, Config{})
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	old := onlyConnection(t, r)
	r.pipe.mu.Lock()
	old.lifetime = 0 // it is over
	r.pipe.mu.Unlock()
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	require.Eventually(t, func() bool { return g.count() == 2 }, patience, time.Millisecond)
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	require.Equal(t, 2, g.count(), "one in its place")

	old.net.maxAge = 0
	vote := make(votes, 1)
	r.Send(request(wire.Look, "k", ""), 10*time.Millisecond, vote)
	require.True(t, failed(t, <-vote, context.DeadlineExceeded).Unsent, "too old")
	close(ready)
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	require.Eventually(t, func() bool { return old.conn.Ping(within(t)).Err() != nil }, patience, time.Millisecond, "it is closed")
}

// TestReplacedConnectionsEnd: a connection is closed after the batch that is under way when another
// one takes its place.
func TestReplacedConnectionsEnd(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f := startFake(t, func(args []string) string {
		if strings.Contains(strings.Join(args, " "), "slow") {
			once.Do(func() { close(asked); <-answer })
		}
		return answerAll(args)
	})
	// Until DialTimeout is over it would have been used for longer.
	r := open1(t, &redis.Options{Addr: f.addr, ConnMaxLifetime: 10 * time.Millisecond, DialTimeout: 2 * patience}, Config{})
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	old := onlyConnection(t, r)
	require.Eventually(t, old.aged, patience, time.Millisecond)
	vote := make(votes, 1)
	r.Send(request(wire.Look, "slow", ""), time.Minute, vote)
	<-asked
	require.Eventually(t, func() bool {
		r.pipe.mu.Lock()
		defer r.pipe.mu.Unlock()
		return len(r.pipe.ready) == 1
	}, patience, time.Millisecond)
	close(answer)
	granted(t, <-vote)
	require.NotSame(t, old, onlyConnection(t, r))
}

// TestIdleInstancesDialNothing: its connection is closed when it is too old, and none takes its
// place before the next request.
func TestIdleInstancesDialNothing(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	r := open1(t, &redis.Options{Addr: s.Addr(), ConnMaxLifetime: maxLifetime}, Config{})
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	c := onlyConnection(t, r)
	r.pipe.mu.Lock()
	c.net.maxAge, c.ends = 0, time.Now()
	r.pipe.newest = c.ends
	r.pipe.warmLocked()
	r.pipe.setTimerLocked(c.ends)
	r.pipe.mu.Unlock()
	require.Eventually(t, func() bool { return r.Client().PoolStats().TotalConns == 0 }, patience, time.Millisecond)
	require.False(t, r.Connected())
	require.EqualValues(t, 1, r.Client().PoolStats().Misses)
	require.NoError(t, r.Connect(within(t)))
	require.True(t, r.Connected())
	require.EqualValues(t, 2, r.Client().PoolStats().Misses)
}

// holdHook holds the first command up before it reaches its connection.
type holdHook struct {
	held, goOn chan struct{}
	once       sync.Once
}

func (h *holdHook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h *holdHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "ping" && cmd.Name() != "hello" {
			h.hold()
		}
		return next(ctx, cmd)
	}
}
func (h *holdHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.hold()
		return next(ctx, cmds)
	}
}
func (h *holdHook) hold() {
	h.once.Do(func() {
		close(h.held)
		<-h.goOn
	})
}

// TestAbandonedBatchKeepsItsConnection: nothing of it was written, and nothing of it is written
// with the next one.
func TestAbandonedBatchKeepsItsConnection(t *testing.T) {
	for _, request := range []wire.Request{acquire("k", value()), request(wire.Look, "k", "")} { // a pipeline, and one command
		s := instancetest.Start(t, instancetest.Config{})
		hook := &holdHook{held: make(chan struct{}), goOn: make(chan struct{})}
		client := redis.NewClient(Harden(unhurriedOptions(redis.Options{Addr: s.Addr(), ConnMaxLifetime: maxLifetime})))
		client.AddHook(hook)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		r, err := New(client, Config{})
		require.NoError(t, err)
		near(r) // or the other request asks for another connection
		vote := make(votes, 1)
		late := pending(t, r, request, vote)
		<-hook.held
		late()
		require.True(t, failed(t, <-vote, context.DeadlineExceeded).Unsent)
		close(hook.goOn)
		granted(t, r.Do(within(t), acquire("other", value())))
		onlyConnection(t, r)
		require.EqualValues(t, 1, client.PoolStats().Misses, "no other connection was made")
		require.Equal(t, "$-1", strings.TrimSpace(s.MustAsk("GET", "k")))
	}
}

// TestLeftOverReplies: what a server has sent beyond its replies isn't read as the replies to the
// next batch.
func TestLeftOverReplies(t *testing.T) {
	var sent atomic.Int32
	f := startFake(t, func(args []string) string {
		reply := scriptReply(args, "0", "another", 100, "1")
		if sent.Add(1) == 1 {
			reply += scriptReply(args, "1", "", 0, "5") // a grant that nobody asked for
		}
		return reply
	})
	r := open(t, "redis://"+f.addr, Config{})
	refused(t, r.Do(within(t), acquire("k", value())))
	refused(t, r.Do(within(t), acquire("k", value())))
	require.Equal(t, 2, f.connections())
}

// TestAskedBackIsNotStale: a request that the server has asked back for is sent, though most of its
// time has passed.
func TestAskedBackIsNotStale(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	f := startFake(t, func(args []string) string {
		if args[0] == "EVALSHA" {
			close(asked)
			<-answer
			return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
		}
		return answerAll(args)
	})
	r := open(t, "redis://"+f.addr, Config{})
	near(r)
	vote := make(votes, 1)
	r.Send(acquire("k", value()), 10*time.Second, vote)
	<-asked
	r.pipe.mu.Lock()
	r.pipe.pending[0].stale = time.Now()
	r.pipe.mu.Unlock()
	close(answer)
	granted(t, <-vote)
}

// TestNoScriptFarAway: a distant server is sent a script in full for the first time, because there
// is no time for a second exchange.
func TestNoScriptFarAway(t *testing.T) {
	r, s := real(t, Config{})
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	s.MustAsk("SCRIPT", "FLUSH")
	s.MustAsk("CONFIG", "RESETSTAT")
	r.known.Clear()
	r.pipe.mu.Lock()
	r.pipe.rtt = time.Second
	r.pipe.mu.Unlock()
	granted(t, r.Do(within(t), acquire("k", value())))
	require.NotContains(t, s.MustAsk("INFO", "commandstats"), "cmdstat_evalsha:")
	granted(t, r.Do(within(t), acquire("other", value())))
	require.Contains(t, s.MustAsk("INFO", "commandstats"), "cmdstat_evalsha:calls=1,")
}

// countedConn is a connection that is counted until it is closed.
type countedConn struct {
	net.Conn
	open *atomic.Int32
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// TestBadServers: a server that makes no connection costs one at a time, and each request no more
// than its timeout. Its instance doesn't hold up Close.
func TestBadServers(t *testing.T) {
	slow := func(ctx context.Context, network, addr string) (net.Conn, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Hour):
			return nil, nil
		}
	}
	fast := (&net.Dialer{}).DialContext
	for name, test := range map[string]struct {
		hello string
		dial  func(context.Context, string, string) (net.Conn, error)
	}{
		"accepts and never answers":      {dial: fast},
		"stalls in the handshake":        {dial: fast, hello: "*14\r\n$6\r\nserver\r\n"},
		"a resolver that never answers":  {dial: slow},
		"a line that ends in its middle": {dial: fast, hello: "-ERR unknown com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := startPeer(t, func(conn net.Conn) {
				rd := bufio.NewReader(conn)
				for hello := test.hello; ; hello = "" {
					if _, err := readCommand(rd); err != nil {
						return
					}
					_, _ = conn.Write([]byte(hello))
				}
			})
			var r *Redis
			var open atomic.Int32
			var several atomic.Bool
			client := redis.NewClient(Harden(&redis.Options{Addr: addr, DialTimeout: 200 * time.Millisecond, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				r.pipe.mu.Lock()
				if r.pipe.connecting+r.pipe.conns > 1 {
					several.Store(true)
				}
				r.pipe.mu.Unlock()
				conn, err := test.dial(ctx, network, addr)
				if err != nil {
					return nil, err
				}
				open.Add(1)
				return &countedConn{Conn: conn, open: &open}, nil
			}}))
			r, err := New(client, Config{})
			require.NoError(t, err)
			for range 40 {
				vote := make(votes, 4)
				for range cap(vote) {
					r.Send(acquire("k", value()), 20*time.Millisecond, vote)
				}
				for range cap(vote) {
					v := <-vote
					require.Equal(t, wire.Failed, v.Outcome)
					require.True(t, v.Unsent)
					require.True(t, isTimeout(v.Err), "%v", v.Err)
				}
			}
			require.False(t, several.Load(), "one at a time")
			// go-redis may have made one more than it was asked for, if its dial was late.
			require.Eventually(t, func() bool { return open.Load() <= 1 }, patience, time.Millisecond, "each is closed before the next")
			require.NoError(t, r.Close())
			require.NoError(t, client.Close())
		})
	}
}

// TestClosedInstance: after Close nothing is sent or dialed, whoever made the client, and what waits
// for a dial ends with it. The client can get another instance.
func TestClosedInstance(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	dialing, over := make(chan struct{}), make(chan struct{})
	g := &gate{wait: func(_ context.Context, dial int) {
		if dial == 2 {
			close(dialing)
			<-over
		}
	}}
	defer close(over)
	client := redis.NewClient(Harden(&redis.Options{Addr: s.Addr(), Dialer: g.dial, DialTimeout: patience, ReadTimeout: patience}))
	r, err := New(client, Config{})
	require.NoError(t, err)
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	require.NoError(t, r.Close())
	require.Eventually(t, func() bool { return client.PoolStats().TotalConns == 0 }, patience, time.Millisecond)
	failed(t, r.Do(within(t), request(wire.Look, "k", "")), ErrClosed)
	require.Equal(t, 1, g.count())

	r, err = New(client, Config{})
	require.NoError(t, err)
	vote := make(votes, 1)
	r.Send(acquire("k", value()), time.Minute, vote)
	<-dialing
	require.NoError(t, r.Close())
	require.True(t, failed(t, <-vote, ErrClosed).Unsent)
	require.Eventually(t, func() bool {
		r.pipe.mu.Lock()
		defer r.pipe.mu.Unlock()
		return r.pipe.connecting == 0
	}, patience, time.Millisecond, "long before DialTimeout")
	require.NoError(t, client.Close())
}

// TestOptionsChangedAfterHarden: connections end with ConnLife of the client's options, also if those
// were changed after Harden wrapped the dialer, or hardened once more.
func TestOptionsChangedAfterHarden(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	opt := Harden(unhurriedOptions(redis.Options{Addr: s.Addr(), ConnMaxLifetime: 20 * time.Second}))
	opt.ConnMaxLifetime = 10 * time.Second
	for _, opt := range []*redis.Options{opt, Harden(opt)} {
		r := of(t, opt)
		granted(t, r.Do(within(t), request(wire.Look, "k", "")))
		require.Equal(t, patience+10*time.Second, r.ConnLife())
		require.Equal(t, r.ConnLife(), onlyConnection(t, r).net.maxAge)
		require.NoError(t, r.Close())
	}
}

// TestServerClosesAtOnce: a server that closes connections as soon as they are made isn't dialed
// without a pause.
func TestServerClosesAtOnce(t *testing.T) {
	var conns atomic.Int32
	addr := startPeer(t, func(conn net.Conn) {
		conns.Add(1)
		rd := bufio.NewReader(conn)
		for _, reply := range []string{"-ERR unknown command 'HELLO'\r\n", "+PONG\r\n"} {
			if _, err := readCommand(rd); err == nil {
				_, _ = conn.Write([]byte(reply))
			}
		}
	})
	r := open(t, "redis://"+addr, Config{})
	began := time.Now()
	const requests = 5
	for range requests {
		vote := make(votes, 1)
		r.Send(acquire("k", value()), dialPause, vote)
		require.Equal(t, wire.Failed, (<-vote).Outcome)
	}
	// One more for each request whose connection was closed only after it was written.
	require.LessOrEqual(t, int(conns.Load()), requests+1+int(time.Since(began)/dialPause))
}

// twiceHook sends everything twice.
type twiceHook struct{}

func (twiceHook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (twiceHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (twiceHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		_ = next(ctx, cmds)
		return next(ctx, cmds)
	}
}

// TestSentOnce: a client's hook can't have a batch carried out twice.
func TestSentOnce(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	r := open(t, s.URL(), Config{Replicas: 1})                                        // so that WAIT follows
	granted(t, open(t, s.URL(), Config{}).Do(within(t), acquire("another", value()))) // so that the server knows the script
	s.MustAsk("CONFIG", "RESETSTAT")
	r.Client().AddHook(twiceHook{})
	require.False(t, failed(t, r.Do(within(t), wire.Request{Op: wire.Acquire, Key: "k", Value: value(), TTL: time.Minute}), ErrClientOptions).Unsent)
	require.Contains(t, s.MustAsk("INFO", "commandstats"), "cmdstat_set:calls=1,")
}
