//go:build unix

package instance

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// startPeer starts a server that sends text on each connection: first at once, then after each
// message it reads, and after the last for as long as the connection stands.
func startPeer(t testing.TB, say func(conn net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[conn] = true
			mu.Unlock()
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				say(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

// TestRefusedAtTheDoor: if a server refuses the connection, our error has its reason.
func TestRefusedAtTheDoor(t *testing.T) {
	door := func(text string) string {
		return "redis://" + startPeer(t, func(conn net.Conn) {
			_, _ = io.WriteString(conn, text)
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
		})
	}
	for name, c := range map[string]struct {
		url       string
		kind      error
		says      string
		permanent bool
	}{
		"protected mode": {door("-DENIED Redis is running in protected mode because no password is set. In this mode...\r\n"), ErrProtected, "requirepass", true},
		"max clients":    {door("-ERR max number of clients reached\r\n"), ErrMaxClients, "raise its maxclients", false},
		"TLS":            {door("\x15\x03\x01\x00\x02\x02\x46"), ErrNotRedis, "use rediss://", true},
		"ssh":            {door("SSH-2.0-OpenSSH_9.6\r\n"), ErrNotRedis, "SSH-2.0", true},
		"a huge text":    {door("$2000000000\r\nx"), ErrNotRedis, "it begins with", true},
		"a huge array":   {door("*2147483647\r\n:1\r\n"), ErrNotRedis, "it begins with", true},
		"http":           {door("HTTP/1.1 400 Bad Request\r\n\r\n"), ErrNotRedis, "a web server", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, c.url, Config{})
			for range 3 {
				v := failed(t, r.Do(within(t), acquire("k", value())), c.kind)
				require.True(t, v.Unsent)
				require.ErrorContains(t, v.Err, c.says)
				require.Equal(t, c.permanent, isPermanent(v.Err))
			}
			_, err := r.Probe(within(t), wire.Known{})
			require.ErrorIs(t, err, c.kind)
			_, err = r.Subscribe(within(t))
			require.ErrorIs(t, err, c.kind)
		})
	}
}

// TestTheWrongPort: the errors for TLS to a plain port, and plain to a TLS port, name the fix.
func TestTheWrongPort(t *testing.T) {
	s, secured := secure(t, newAuthority(t), "127.0.0.1", inAnHour())
	r := open(t, strings.Replace(secured, "rediss://", "redis://", 1), Config{})
	v := r.Do(within(t), acquire("k", value()))
	require.True(t, v.Unsent)
	require.ErrorContains(t, v.Err, "if the port speaks TLS, use rediss://")
	require.ErrorIs(t, v.Err, ErrConnection)
	require.False(t, isPermanent(v.Err), "a server that goes down does the same")

	// Redis waits for the end of a line, which a handshake doesn't have; another server answers.
	unchecked := Config{TLS: &tls.Config{InsecureSkipVerify: true}}
	r = open(t, "rediss://"+s.Addr(), unchecked)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	v = r.Do(ctx, acquire("k", value()))
	require.True(t, v.Unsent)
	require.ErrorIs(t, v.Err, context.DeadlineExceeded)
	require.ErrorContains(t, v.Err, "or redis:// for this one")
	votes := make(votes, 1)
	r.Send(acquire("k", value()), 100*time.Millisecond, votes)
	v = <-votes
	require.True(t, v.Unsent)
	require.ErrorIs(t, v.Err, context.DeadlineExceeded)
	require.ErrorContains(t, v.Err, "or redis:// for this one")

	other := startPeer(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 16))
		_, _ = io.WriteString(conn, "-ERR Protocol error\r\n")
		_, _ = io.Copy(io.Discard, conn)
	})
	v = failed(t, open(t, "rediss://"+other, unchecked).Do(within(t), acquire("k", value())), ErrTLS)
	require.True(t, v.Unsent)
	require.ErrorContains(t, v.Err, "redis:// for this one")
	require.True(t, isPermanent(v.Err))

	// A server that has answered once speaks TLS: then it hangs.
	r = open(t, secured, unchecked)
	granted(t, r.Do(within(t), acquire("k", value())))
	require.NotContains(t, r.pipe.endedBy(ctx).Error(), "TLS")
}

// TestConnectionsAreWatchedOnce: a client whose options are hardened twice watches each connection once, and
// go-redis can still see if it was closed.
func TestConnectionsAreWatchedOnce(t *testing.T) {
	r, s := real(t, Config{})
	conn, err := r.Client().Options().Dialer(within(t), "tcp", s.Addr())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, ok := conn.(syscall.Conn)
	require.True(t, ok)
	conn2, err := watchHandshake(func(context.Context, string, string) (net.Conn, error) { return conn, nil }, time.Minute)(t.Context(), "", "")
	require.NoError(t, err)
	require.Same(t, conn, conn2, "once")
}

// A connection is older than its maximum age as soon as the machine was suspended for that long,
// which go-redis's clock doesn't show.
func TestNothingIsSentOnAnOldConnection(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	open := func(ctx context.Context, maxAge time.Duration) net.Conn {
		conn, err := watchHandshake(dial, maxAge)(ctx, "tcp", s.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	old := open(within(t), 0)
	_, err := old.Write([]byte("PING\r\n"))
	require.ErrorIs(t, err, ErrConnection)
	require.ErrorContains(t, err, "another server")
	_, err = old.(syscall.Conn).SyscallConn()
	require.ErrorIs(t, err, ErrConnection, "go-redis makes another one, and no command fails")

	for _, conn := range []net.Conn{
		open(within(t), time.Hour),
		open(context.WithValue(within(t), dialOnce{}, new(atomic.Bool)), 0), // a subscription
	} {
		_, err := conn.Write([]byte("PING\r\n"))
		require.NoError(t, err)
		_, err = conn.(syscall.Conn).SyscallConn()
		require.NoError(t, err)
	}

	// A batch takes another one.
	r := open1(t, &redis.Options{Addr: s.Addr(), DialTimeout: 10 * time.Second}, Config{})
	granted(t, r.Do(within(t), acquire("k", value())))
	before := onlyConnection(t, r)
	require.True(t, before.net.usable())
	before.net.maxAge = 0
	require.False(t, before.net.usable())
	granted(t, r.Do(within(t), acquire("other", value())))
	require.NotSame(t, before, onlyConnection(t, r))

	r = open1(t, &redis.Options{Addr: s.Addr(), DialTimeout: time.Second, ConnMaxLifetime: 3 * time.Second, ConnMaxLifetimeJitter: time.Second}, Config{})
	require.Equal(t, 5*time.Second, r.ConnLife())
	require.Equal(t, 37*time.Second, open1(t, &redis.Options{Addr: s.Addr()}, Config{AddressLag: 30 * time.Second}).ConnLife())
	require.Zero(t, open1(t, &redis.Options{Addr: s.Addr()}, Config{FixedAddress: true}).ConnLife())
}

// open1 opens an instance on a client with these options.
func open1(t *testing.T, opt *redis.Options, cfg Config) *Redis {
	t.Helper()
	client := redis.NewClient(Harden(opt))
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	r, err := New(client, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// TestReplicaTimeout: WAIT ends early enough for its answer to arrive, so that missing replicas
// don't look like a server that hangs.
func TestReplicaTimeout(t *testing.T) {
	var waits atomic.Pointer[[]string]
	f := startFake(t, func(args []string) string {
		if args[0] == "WAIT" {
			waits.Store(&args)
			return ":0\r\n"
		}
		return scriptReply(args, "1", "", 0, "5")
	})
	for _, c := range []struct {
		own, timeout time.Duration
		want         string
	}{
		{30 * time.Millisecond, 0, "30"},
		{0, 0, "100"},
		{0, time.Hour, "100"},
		{70 * time.Millisecond, time.Hour, "70"},
	} {
		r := open(t, "redis://"+f.addr, Config{Replicas: 2, ReplicaTimeout: c.own})
		ctx := context.Background()
		if c.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, c.timeout)
			defer cancel()
		}
		v := failed(t, r.Do(ctx, acquire("k", value())), wire.ErrNotReplicated)
		require.ErrorContains(t, v.Err, "0 of 2 within "+c.want+"ms")
		require.Equal(t, []string{"WAIT", "2", c.want}, *waits.Load())
	}

	// Below the remaining time of the calls, for each.
	now := time.Now()
	b := &batch{pipe: &pipe{r: &Redis{}}, began: now, calls: []*call{
		{req: acquire("a", "v"), deadline: now.Add(30 * time.Millisecond)},
		{req: acquire("b", "v"), deadline: now.Add(81 * time.Millisecond)},
		{req: request(wire.Look, "b", "v"), deadline: now.Add(time.Hour)},
	}}
	require.Equal(t, 40*time.Millisecond, b.replicaTimeout())
	b.calls = b.calls[:1]
	require.Equal(t, 15*time.Millisecond, b.replicaTimeout())
	b.calls[0].deadline = now
	require.Equal(t, time.Millisecond, b.replicaTimeout(), "0 would wait forever")
}
