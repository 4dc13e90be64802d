//go:build unix

package instance

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum/wire"
)

// TestHungServer stops the server: every request has its vote when its time ends, with or without a
// connection, and unsent requests are never sent afterwards.
func TestHungServer(t *testing.T) {
	for name, warm := range map[string]bool{"connected": true, "connecting": false} {
		t.Run(name, func(t *testing.T) {
			s := instancetest.Start(t, instancetest.Config{})
			r := open1(t, redis.Options{Addr: s.Addr(), ConnMaxLifetime: maxLifetime}, Config{})
			if warm {
				require.NoError(t, r.Connect(within(t)))
			}
			s.Pause()
			for i, req := range every() {
				if req.Op != wire.Tick {
					req.Keys = []string{"hung"}
				}
				vote := make(votes, 1)
				if warm && i == 0 {
					late := pending(t, r, req, vote)
					underWay(t, r, 1)
					late()
				} else {
					r.Send(req, 20*time.Millisecond, vote)
				}
				// Sent only over the one existing connection.
				require.Equal(t, !warm || i > 0, failed(t, <-vote, context.DeadlineExceeded).Unsent, "%v", req.Op)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			_, err := r.Probe(ctx, wire.Known{})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			s.Resume()
			want := wire.Granted
			if warm { // the server carries out what is in its socket: that is why there are pending deletes
				want = wire.Refused
			}
			eventually(t, func() bool { return r.Do(within(t), request(wire.Look, "hung", "")).Outcome == want }, name)
		})
	}
}

// TestHungServerCostsLittle sends a hung server far more than it may cost: goroutines and connections stay
// few, each request has its vote, and the instance is back with the first answer.
func TestHungServerCostsLittle(t *testing.T) {
	r, s := real(t, Config{})
	works(t, r)
	goroutines := runtime.NumGoroutine()
	s.Pause()
	const n = 10_000
	var got collected
	most := 0
	for i := range n {
		r.Send(acquire("k", value()), 30*time.Millisecond, got.of(i))
		if i%500 == 0 {
			time.Sleep(2 * time.Millisecond) // the pace of many callers
			most = max(most, runtime.NumGoroutine())
		}
	}
	sent := 0
	for _, v := range got.all(t, n) {
		require.Equal(t, wire.Failed, v.Outcome)
		if !v.Unsent {
			sent++
		}
	}
	require.LessOrEqual(t, most, goroutines+4*(maxLinks+1))
	require.LessOrEqual(t, int(r.Client().PoolStats().TotalConns), maxLinks+1)
	require.LessOrEqual(t, sent, maxLinks*maxBatch, "each of these is a pending delete")
	s.Resume()
	eventually(t, func() bool { return r.Do(within(t), request(wire.Look, "x", "")).Outcome == wire.Granted }, "it isn't back")
}

// TestLateAnswerKeepsTheConnection: an answer after its calls have timed out is useless, but no reason to dial.
func TestLateAnswerKeepsTheConnection(t *testing.T) {
	f := startHeld(t, grants)
	r := open1(t, redis.Options{Addr: f.addr, ConnMaxLifetime: maxLifetime}, Config{})
	require.NoError(t, r.Connect(within(t)))
	vote := make(votes, 1)
	late := pending(t, r, acquire("k", value()), vote)
	underWay(t, r, 1)
	late()
	require.False(t, failed(t, <-vote, context.DeadlineExceeded).Unsent)
	f.release()
	only(t, r)
	works(t, r)
	require.Equal(t, 1, f.connections())
}

// TestStandstill: while this process stands still, as a container does that has used up its share of the
// processor, requests come to their end and replies arrive. The replies count. What isn't answered then is
// late, and what wasn't sent isn't sent any more.
func TestStandstill(t *testing.T) {
	r, s := real(t, Config{})
	run := runOf(t, r)
	const timeout = 50 * time.Millisecond
	still := func(meanwhile func()) (sent, waits votes) {
		sent, waits = newVotes(), newVotes()
		s.Pause()
		r.Send(in(run, acquire("k", value())), timeout, sent)
		underWay(t, r, 1)
		r.pipe.mu.Lock()
		c := &call{req: in(run, acquire("other", value())), to: waits, deadline: time.Now().Add(timeout)}
		r.pipe.queue[rankAcquire] = append(r.pipe.queue[rankAcquire], c)
		time.Sleep(2 * timeout) // the timer waits for the lock
		meanwhile()
		r.pipe.mu.Unlock()
		return sent, waits
	}
	sent, waits := still(func() {
		s.Resume()
		time.Sleep(timeout) // and behind it the reply
	})
	granted(t, <-sent)
	require.True(t, failed(t, <-waits, context.DeadlineExceeded).Unsent)
	asker(t, r)("DEL", "k")

	sent, waits = still(func() {})
	failed(t, <-sent, context.DeadlineExceeded)
	failed(t, <-waits, context.DeadlineExceeded)
	s.Resume()
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
			require.ErrorAs(t, v.Err, new(*net.OpError))
		}
		_, err := r.Probe(within(t), wire.Known{})
		require.ErrorIs(t, err, ErrConnection)
	}
}

// TestNoConnectionToSpare waits for the client's only connection: for as long as its PoolTimeout, or until the
// request's time ends.
func TestNoConnectionToSpare(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	r := open1(t, redis.Options{Addr: s.Addr(), PoolSize: 1, PoolTimeout: 20 * time.Millisecond}, Config{})
	conn := r.Client().Conn()
	require.NoError(t, conn.Ping(within(t)).Err())
	require.True(t, failed(t, r.Do(within(t), acquire("k", "v")), ErrBusyClient).Unsent)
	require.NoError(t, conn.Close())
	eventually(t, func() bool { return r.Do(within(t), acquire("k", "v")).Outcome == wire.Granted }, "it isn't taken")
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
			v := failed(t, r.Do(within(t), acquire("k", value())), c.kind)
			require.True(t, v.Unsent)
			require.ErrorContains(t, v.Err, c.says)
			require.Equal(t, c.permanent, isPermanent(v.Err))
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
	require.ErrorContains(t, v.Err, "a port that speaks TLS does (use rediss://), or a proxy that refuses HELLO")
	require.ErrorIs(t, v.Err, ErrConnection)
	require.False(t, isPermanent(v.Err), "a server that goes down does the same")

	// Redis waits for the end of a line, which a handshake doesn't have; another server answers.
	unchecked := Config{TLS: &tls.Config{InsecureSkipVerify: true}}
	r = open(t, "rediss://"+s.Addr()+"?dial_timeout=100ms", unchecked)
	v = failed(t, r.Do(within(t), acquire("k", value())), wire.ErrTimeout)
	require.True(t, v.Unsent)
	require.ErrorContains(t, v.Err, "or use redis://")
	other := startPeer(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 16))
		_, _ = io.WriteString(conn, "-ERR Protocol error\r\n")
		_, _ = io.Copy(io.Discard, conn)
	})
	v = failed(t, open(t, "rediss://"+other, unchecked).Do(within(t), acquire("k", value())), ErrTLS)
	require.True(t, v.Unsent)
	require.ErrorContains(t, v.Err, "redis:// for this one")
	require.True(t, isPermanent(v.Err))
}

// TestSubscriptionsKeepTheirConnection, and options that were hardened twice.
func TestHardenedTwice(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	opt := Harden(unhurriedOptions(redis.Options{Addr: s.Addr(), ConnMaxLifetime: 20 * time.Second}))
	opt.ConnMaxLifetime = 10 * time.Second
	for _, opt := range []*redis.Options{opt, Harden(opt)} {
		r := of(t, opt)
		works(t, r)
		require.Equal(t, patience+2*10*time.Second, r.ConnLife(), "it is that of the options as they are")
		require.NoError(t, r.Close())
	}
}

// TestCloseEndsDials: Close ends a TLS handshake that the server does not answer.
func TestCloseEndsDials(t *testing.T) {
	for _, query := range []string{"", "&master_name=m", "&cluster=true"} {
		began, ended := make(chan struct{}, 9), make(chan struct{}, 9)
		addr := startPeer(t, func(conn net.Conn) {
			began <- struct{}{}
			_, _ = io.Copy(io.Discard, conn)
			ended <- struct{}{}
		})
		r, err := Open("rediss://"+addr+"?dial_timeout=1h"+query, Config{})
		require.NoError(t, err)
		failed := make(chan error, 1)
		go func() { failed <- r.Connect(context.Background()) }()
		<-began
		require.NoError(t, r.Close())
		require.Error(t, <-failed)
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatalf("%q: a dial goes on after Close", query)
		}
	}
}
