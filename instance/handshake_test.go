//go:build unix

package instance

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"runtime"
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

// pour writes a text over and over until the connection ends.
func pour(conn net.Conn, first, text string) {
	buf := make([]byte, 512)
	if _, err := conn.Read(buf); err != nil {
		return
	}
	if _, err := io.WriteString(conn, first); err != nil {
		return
	}
	chunk := []byte(strings.Repeat(text, 1+(64<<10)/len(text))) // once, because thrifty counts it, too
	for {
		if _, err := conn.Write(chunk); err != nil {
			return
		}
	}
}

// thrifty checks that f allocates little.
func thrifty(t *testing.T, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

// TestHostileGreeting: the client gives up a peer that answers the greeting with as much as it can
// before that costs memory. Nothing was sent, and nothing keeps running.
func TestHostileGreeting(t *testing.T) {
	for name, p := range map[string]struct{ first, text string }{
		"a text of 2 GB":            {"$2000000000\r\n", "x"},
		"an array of 2^31":          {"*2147483647\r\n", ":1\r\n"},
		"a map":                     {"%1000000000\r\n", ":1\r\n"},
		"a set":                     {"~1000000000\r\n", ":1\r\n"},
		"an error in a text":        {"!2000000000\r\n", "x"},
		"a text in an array":        {"*14\r\n$2000000000\r\n", "x"},
		"nested arrays":             {"", "*1\r\n"},
		"nested wide arrays":        {"", "*1024\r\n"},
		"texts in an array":         {"*1000\r\n", "$65000\r\n" + strings.Repeat("x", 65000) + "\r\n"},
		"a status without an end":   {"+", "x"},
		"a length with many zeros":  {"$" + strings.Repeat("0", 1000) + "2000000000\r\n", "x"},
		"an error without an end":   {"-ERR ", "x"},
		"a text before its command": {"+OK\r\n+PONG\r\n$2000000000\r\n", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := startPeer(t, func(conn net.Conn) { pour(conn, p.first, p.text) })
			r := open(t, "redis://"+addr, Config{})
			var v wire.Vote
			thrifty(t, func() { v = r.Do(within(t), acquire("k", value())) })
			require.Equal(t, wire.Failed, v.Outcome)
			require.True(t, v.Unsent, "%v", v.Err)
			require.ErrorIs(t, v.Err, ErrNotRedis)
			require.Less(t, len(v.Err.Error()), 1000)
		})
	}
}

// TestHostileSubscription: neither the reply to SUBSCRIBE, PUBLISH or PING nor a notification can
// fill the memory.
func TestHostileSubscription(t *testing.T) {
	const huge = "$200000000\r\nx"
	for name, test := range map[string]struct{ to, reply string }{
		"a text to SUBSCRIBE":      {"SUBSCRIBE", huge},
		"elements to SUBSCRIBE":    {"SUBSCRIBE", "*20000000\r\n"},
		"nested arrays":            {"SUBSCRIBE", strings.Repeat("*1\r\n", 1<<20)},
		"many texts":               {"SUBSCRIBE", "*1000\r\n" + strings.Repeat(bulk(strings.Repeat("x", 1<<15)), 1000)},
		"a line to SUBSCRIBE":      {"SUBSCRIBE", "+" + strings.Repeat("x", 32<<20)},
		"a text to PUBLISH":        {"PUBLISH", huge},
		"elements to PUBLISH":      {"PUBLISH", "*20000000\r\n"},
		"a line to PUBLISH":        {"PUBLISH", ":" + strings.Repeat("1", 32<<20)},
		"a text in a notification": {"message", huge},
		"a text to PING":           {"PONG", "*2\r\n" + huge},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var subscriber net.Conn
			var channel string
			hostile := []byte(test.reply)
			addr := startPeer(t, func(conn net.Conn) {
				for from := bufio.NewReader(conn); ; {
					args, err := readCommand(from)
					if err != nil {
						return
					}
					mu.Lock()
					command := strings.ToUpper(args[0])
					reply := "+OK\r\n"
					switch command {
					case "HELLO":
						reply = "-ERR unknown command 'HELLO'\r\n"
					case "SUBSCRIBE":
						subscriber, channel = conn, args[1]
						reply = "*3\r\n" + bulk("subscribe") + bulk(channel) + ":1\r\n"
					case "PUBLISH":
						reply = ":1\r\n"
						if test.to == "message" {
							_, _ = io.WriteString(subscriber, "*3\r\n"+bulk("message")+bulk(channel))
							_, _ = subscriber.Write(hostile)
							break
						}
						_, _ = io.WriteString(subscriber, "*3\r\n"+bulk("message")+bulk(channel)+bulk(""))
						if test.to == "PONG" {
							_, _ = subscriber.Write(hostile) // as if the client had asked
						}
					}
					mu.Unlock()
					if command == test.to {
						_, err = conn.Write(hostile)
					} else {
						_, err = io.WriteString(conn, reply)
					}
					if err != nil {
						return
					}
				}
			})
			r := open(t, "redis://"+addr, Config{})
			thrifty(t, func() {
				s, err := r.Subscribe(within(t))
				if err == nil { // the reply to PING may come later
					_, err = s.Next()
				}
				require.ErrorIs(t, err, ErrReply)
				require.Less(t, len(err.Error()), 1000)
			})
		})
	}
}

// TestEndlessLine: a line without an end can't fill the memory.
func TestEndlessLine(t *testing.T) {
	line := "+" + strings.Repeat("x", 4<<20)
	r := open(t, "redis://"+startFake(t, func([]string) string { return line }).addr, Config{})
	thrifty(t, func() { failed(t, r.Do(within(t), acquire("k", value())), ErrReply) })
	thrifty(t, func() { require.ErrorIs(t, r.Client().Get(within(t), "k").Err(), ErrReply) })
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

// TestTheGreetingEnds: the bounds apply to the greeting, not to the caller's own commands over the
// same connections; and go-redis can still see if a connection was closed.
func TestTheGreetingEnds(t *testing.T) {
	r, s := real(t, Config{})
	long := strings.Repeat("x", 4*maxLimited)
	require.NoError(t, r.Client().Set(within(t), "long", long, 0).Err())
	got, err := r.Client().Get(within(t), "long").Result()
	require.NoError(t, err)
	require.Equal(t, long, got)
	for range maxLimitedElements + 1 { // each with its own answer
		require.NoError(t, r.Client().Ping(within(t)).Err())
	}

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
	r := open1(t, &redis.Options{Addr: s.Addr(), ConnMaxLifetime: maxLifetime}, Config{})
	granted(t, r.Do(within(t), acquire("k", value())))
	before := onlyConnection(t, r)
	require.True(t, before.net.usable())
	before.net.maxAge = 0
	require.False(t, before.net.usable())
	granted(t, r.Do(within(t), acquire("other", value())))
	require.NotSame(t, before, onlyConnection(t, r))

	r = open1(t, &redis.Options{Addr: s.Addr(), DialTimeout: time.Second, ConnMaxLifetime: 3 * time.Second, ConnMaxLifetimeJitter: time.Second}, Config{})
	require.Equal(t, 5*time.Second, r.ConnLife())
	require.Equal(t, 37*time.Second, open1(t, &redis.Options{Addr: s.Addr(), DialTimeout: 2 * time.Second}, Config{AddressLag: 30 * time.Second}).ConnLife())
	require.Zero(t, open1(t, &redis.Options{Addr: s.Addr()}, Config{FixedAddress: true}).ConnLife())
}

// open1 opens an instance on a client with these options.
func open1(t *testing.T, opt *redis.Options, cfg Config) *Redis {
	t.Helper()
	client := redis.NewClient(Harden(unhurriedOptions(*opt)))
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	r, err := New(client, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// TestGreets recognizes go-redis's greeting.
func TestGreets(t *testing.T) {
	for text, want := range map[string]bool{
		"*2\r\n$5\r\nhello\r\n$1\r\n2\r\n":                                     true,
		"*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$1\r\np\r\n":                           true,
		"*2\r\n$6\r\nselect\r\n$1\r\n3\r\n":                                    true,
		"*1\r\n$4\r\nping\r\n":                                                 true,
		"*3\r\n$6\r\nclient\r\n$7\r\nsetname\r\n$1\r\nx\r\n":                   true,
		"*4\r\n$6\r\nclient\r\n$7\r\nsetinfo\r\n$8\r\nLIB-NAME\r\n$1\r\nx\r\n": true,
		"*2\r\n$6\r\nclient\r\n$4\r\nlist\r\n":                                 false,
		"*2\r\n$6\r\nclient\r\n":                                               false,
		"*3\r\n$7\r\nEVALSHA\r\n$1\r\nx\r\n$1\r\n0\r\n":                        false,
		"*2\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n":                                 false,
		"PING\r\n":                                                             false,
		"":                                                                     false,
		"\r\n\r\nping\r\n\r\n":                                                 false,
	} {
		require.Equal(t, want, isHandshake([]byte(text)), "%q", text)
	}
}

// FuzzReplyBounds: however the input is cut, the accepted part is short, and nothing panics.
func FuzzReplyBounds(f *testing.F) {
	for _, seed := range []string{"+OK\r\n", "$5\r\nhello\r\n", "*2\r\n:1\r\n$-1\r\n", "$2000000000\r\n", "*1\r\n*1\r\n", "$" + strings.Repeat("0", 40) + "1\r\n", "\n\n$\n*\n", "%-1\r\n"} {
		f.Add([]byte(seed), 3, false, false)
		f.Add([]byte(seed), 3, true, true)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int, always, over bool) {
		whole, parts := replyLimits{always: always}, replyLimits{always: always}
		bad := whole.take(text, over)
		var badParts *handshakeError
		cut = max(1, min(cut, len(text)))
		for rest := text; len(rest) > 0 && badParts == nil; {
			n := min(cut, len(rest))
			badParts = parts.take(rest[:n], over)
			rest = rest[n:]
		}
		require.Equal(t, bad == nil, badParts == nil)
		if bad == nil {
			require.LessOrEqual(t, whole.length, maxLine)
		}
		if bad == nil && (always || !over) {
			require.LessOrEqual(t, whole.text, maxLimited+2)
			require.LessOrEqual(t, whole.elements, maxLimitedElements)
		}
	})
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
