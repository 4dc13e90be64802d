//go:build unix

package instance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
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

// gate is a dialer that counts, and waits or fails while a test says so.
type gate struct {
	mu    sync.Mutex
	dials int
	fails error
	shut  chan struct{} // nil: open
	open  atomic.Int32  // connections
}

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	g.mu.Lock()
	g.dials++
	shut, err := g.shut, g.fails
	g.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if shut != nil {
		select {
		case <-shut:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	g.open.Add(1)
	return &countedConn{Conn: conn, open: &g.open}, nil
}

func (g *gate) set(shut chan struct{}, fails error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.fails = shut, fails
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dials
}

// countedConn is a connection that is counted until it is closed.
type countedConn struct {
	net.Conn
	open *atomic.Int32
	once sync.Once
}

// SyscallConn is for go-redis's check of pooled connections.
func (c *countedConn) SyscallConn() (syscall.RawConn, error) {
	return c.Conn.(syscall.Conn).SyscallConn()
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// gated is an instance with a gate, whose connections live for a minute.
func gated(t testing.TB) (*Redis, *gate) {
	t.Helper()
	s := instancetest.Start(t, instancetest.Config{})
	g := &gate{}
	return open1(t, redis.Options{Addr: s.Addr(), Dialer: g.dial, ConnMaxLifetime: maxLifetime}, Config{}), g
}

// works checks that a request is answered.
func works(t testing.TB, r *Redis) {
	t.Helper()
	granted(t, r.Do(within(t), request(wire.Look, "free", "")))
}

// age makes links older.
func age(r *Redis, by time.Duration) {
	r.pipe.mu.Lock()
	defer r.pipe.mu.Unlock()
	for _, l := range r.pipe.links {
		l.born.Mono -= by
		l.born.Wall = l.born.Wall.Add(-by)
	}
}

// TestConnectionOutlivesTheRequest: a connection that takes longer to make than any request waits
// for is there for the next request. Nothing was sent for those that gave up.
func TestConnectionOutlivesTheRequest(t *testing.T) {
	r, g := gated(t)
	ready := make(chan struct{})
	g.set(ready, nil)
	for range 3 {
		vote := make(votes, 1)
		r.Send(acquire("late", value()), 10*time.Millisecond, vote)
		require.True(t, failed(t, <-vote, context.DeadlineExceeded).Unsent)
	}
	require.False(t, r.Connected())
	close(ready)
	require.NoError(t, r.Connect(within(t)))
	require.True(t, r.Connected())
	require.Positive(t, r.RoundTrip())
	granted(t, r.Do(within(t), request(wire.Look, "late", "")))
	require.Equal(t, 1, g.count(), "one at a time, and none was closed")
}

// TestKeptWarm: a connection that grows old is replaced while nothing is asked, so that a request after any pause needs
// no dial. An instance that isn't used any more gives it up.
func TestKeptWarm(t *testing.T) {
	r, g := gated(t)
	works(t, r)
	for n := 2; n < 5; n++ {
		old := only(t, r)
		age(r, r.renewAfter())
		r.pipe.warm()
		locked(t, r, func(p *pipe) bool { return len(p.links) == 1 && len(p.idle) == 1 && p.links[0] != old }, "it isn't replaced")
		require.Equal(t, n, g.count())
		g.set(nil, errors.New("no further dial"))
		require.True(t, r.Connected())
		works(t, r)
		require.Equal(t, n, g.count())
		g.set(nil, nil)
		eventually(t, func() bool { return g.open.Load() == 1 }, "the old one isn't closed")
	}
	only(t, r)
	r.pipe.mu.Lock()
	r.pipe.last = r.pipe.last.Add(-keepWarm)
	r.pipe.mu.Unlock()
	r.pipe.warm()
	eventually(t, func() bool { return g.open.Load() == 0 }, "it keeps its connection forever")
	require.False(t, r.Connected())
	require.Equal(t, 4, g.count())
	require.NoError(t, r.Connect(within(t)))
	require.True(t, r.Connected())

	// And all of that happens on its own, as the connection ages.
	quick := open1(t, redis.Options{Addr: r.Client().Options().Addr, Dialer: g.dial, ConnMaxLifetime: 30 * time.Millisecond}, Config{})
	dials := g.count()
	require.NoError(t, quick.Connect(within(t)))
	eventually(t, func() bool { return g.count() >= dials+6 }, "it isn't renewed")
}

// TestRenewalThatFails: while no other connection can be made, the one that works is used, until it is too old.
func TestRenewalThatFails(t *testing.T) {
	r, g := gated(t)
	works(t, r)
	old := only(t, r)
	age(r, r.renewAfter())
	gone := errors.New("nobody there")
	g.set(nil, gone)
	r.pipe.warm()
	eventually(t, func() bool { return g.count() >= 3 }, "it doesn't try again")
	require.True(t, r.Connected())
	works(t, r)
	require.Same(t, old, func() *link { r.pipe.mu.Lock(); defer r.pipe.mu.Unlock(); return r.pipe.links[0] }())

	age(r, r.lifetime()-r.renewAfter())
	for range 3 {
		v := failed(t, r.Do(within(t), acquire("k", value())), ErrConnection)
		require.ErrorIs(t, v.Err, gone)
		require.True(t, v.Unsent)
	}
	eventually(t, func() bool { return g.open.Load() == 0 }, "the old one is kept")
	g.set(nil, nil)
	eventually(t, func() bool { return r.Do(within(t), acquire("k", value())).Outcome == wire.Granted }, "it doesn't come back")
}

// TestTooOld: nothing is sent on a connection that is too old, by either of two clocks: one stands still while a
// machine is suspended. With a fixed address it never is.
func TestTooOld(t *testing.T) {
	for name, make := range map[string]func(l *link, by time.Duration){
		"by the monotonic clock": func(l *link, by time.Duration) { l.born.Mono -= by },
		"by the wall clock":      func(l *link, by time.Duration) { l.born.Wall = l.born.Wall.Add(-by) },
	} {
		for _, fixed := range []bool{false, true} {
			r, g := gated(t)
			r.cfg.FixedAddress = fixed
			works(t, r)
			l := only(t, r)
			r.pipe.mu.Lock()
			make(l, r.lifetime()+1)
			r.pipe.mu.Unlock()
			shut := newGate()
			g.set(shut, nil)
			vote := newVotes()
			late := pending(t, r, acquire("k", value()), vote)
			if fixed {
				granted(t, <-vote)
			} else {
				eventually(t, func() bool { return g.count() == 2 && g.open.Load() == 0 }, name)
				require.False(t, r.Connected())
				late()
				require.True(t, failed(t, <-vote, context.DeadlineExceeded).Unsent)
			}
			close(shut)
			works(t, r)
		}
	}
	addr := instancetest.Start(t, instancetest.Config{}).Addr()
	of := func(opt redis.Options, cfg Config) time.Duration {
		opt.Addr = addr
		return open1(t, opt, cfg).ConnLife()
	}
	require.Equal(t, time.Second+2*3*time.Second+time.Second, of(redis.Options{DialTimeout: time.Second, ConnMaxLifetime: 3 * time.Second, ConnMaxLifetimeJitter: time.Second}, Config{}))
	require.Equal(t, 37*time.Second, of(redis.Options{DialTimeout: 2 * time.Second}, Config{AddressLag: 30 * time.Second}))
	require.Zero(t, of(redis.Options{}, Config{FixedAddress: true}))
	require.Equal(t, patience+5*time.Second, open(t, "redis://"+addr, Config{}).ConnLife())
}

func newGate() chan struct{} { return make(chan struct{}) }
func newVotes() votes        { return make(votes, 1) }

// TestOldOnesAreReplaced: several connections that grow old while they are used are replaced one after the other, and
// each ends after the pipeline that is under way.
func TestOldOnesAreReplaced(t *testing.T) {
	stuck := make(chan struct{})
	g := &gate{}
	f := startFake(t, func(args []string) string {
		if slices.Contains(args, "slow") {
			<-stuck
		}
		return grants(args)
	})
	r := open1(t, redis.Options{Addr: f.addr, Dialer: g.dial, ConnMaxLifetime: maxLifetime}, Config{})
	var got collected
	r.pipe.trip.Store(1) // near: what is held has a second one
	for i, req := range []wire.Request{acquire("slow", value()), request(wire.Extend, "slow", value())} {
		enter(t, r, func(int) wire.Receiver { return got.of(i) }, req)
		locked(t, r, func(p *pipe) bool {
			return len(p.links)-len(p.idle) == i+1 && len(p.queue[rankAcquire]) == 0 && p.attempt == nil
		}, "it isn't sent")
	}
	age(r, r.renewAfter())
	r.pipe.warm()
	locked(t, r, func(p *pipe) bool {
		retired := 0
		for _, l := range p.links {
			if l.retired {
				retired++
			}
		}
		return retired == 2 && len(p.links) == 4 && p.attempt == nil
	}, "they aren't replaced")
	require.Zero(t, got.count())
	r.pipe.trip.Store(int64(maxLinks * linkEvery))
	granted(t, r.Do(within(t), request(wire.Extend, "k", value())))
	close(stuck)
	for _, v := range got.all(t, 2) {
		granted(t, v)
	}
	eventually(t, func() bool { return g.open.Load() == 2 }, "the old ones aren't closed")

	// One takes the place of all that are idle.
	age(r, r.renewAfter())
	r.pipe.warm()
	require.Less(t, only(t, r).age(), r.renewAfter())
}

// TestPooledConnections: a connection that was in the client's pool before counts as old.
func TestPooledConnections(t *testing.T) {
	r, g := gated(t)
	require.NoError(t, r.Client().Ping(within(t)).Err())
	works(t, r)
	require.Equal(t, 1, g.count())
	l := only(t, r)
	now := r.pipe.reader.Now()
	require.GreaterOrEqual(t, now.Mono-l.born.Mono, maxLifetime)
	require.GreaterOrEqual(t, now.Wall.Sub(l.born.Wall), maxLifetime)
	require.Less(t, l.age(), r.lifetime())

	// The caller's own commands don't keep it from connecting.
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = r.Client().Ping(context.Background()).Err()
				}
			}
		})
	}
	for range 3 {
		r.pipe.mu.Lock()
		for _, l := range slices.Clone(r.pipe.idle) {
			r.pipe.dropLocked(l)
		}
		r.pipe.mu.Unlock()
		works(t, r)
	}
	close(stop)
	others.Wait()
}

// TestBadServers: a server that makes no connection costs one at a time, and each request no more
// than its timeout. Its instance doesn't hold up Close.
func TestBadServers(t *testing.T) {
	for name, hello := range map[string]string{
		"accepts and never answers":      "",
		"stalls in the handshake":        "*14\r\n$6\r\nserver\r\n",
		"a line that ends in its middle": "-ERR unknown com",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := startPeer(t, func(conn net.Conn) {
				rd := bufio.NewReader(conn)
				for say := hello; ; say = "" {
					if _, err := readCommand(rd); err != nil {
						return
					}
					_, _ = conn.Write([]byte(say))
				}
			})
			g := &gate{}
			client := redis.NewClient(Harden(&redis.Options{Addr: addr, DialTimeout: 100 * time.Millisecond, Dialer: g.dial}))
			r, err := New(client, Config{})
			require.NoError(t, err)
			most := int32(0)
			for range 20 {
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
				most = max(most, g.open.Load())
			}
			require.LessOrEqual(t, most, int32(2), "one at a time, and go-redis's that is late")
			require.NoError(t, r.Close())
			require.NoError(t, client.Close())
			eventually(t, func() bool { return g.open.Load() == 0 }, "a connection is left")
		})
	}
}

// TestDeadServer: a server that is gone, or closes each connection at once, isn't dialed without a pause.
func TestDeadServer(t *testing.T) {
	closes := startPeer(t, func(net.Conn) {})
	for name, g := range map[string]*gate{"gone": {fails: &net.OpError{Op: "dial", Err: errors.New("nobody there")}}, "closes": {}} {
		r := open1(t, redis.Options{Addr: closes, Dialer: g.dial}, Config{})
		began := time.Now()
		var requests atomic.Int64
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for g.count() < 4 {
					v := r.Do(context.Background(), acquire("k", value()))
					if !v.Unsent || !errors.Is(v.Err, ErrConnection) {
						t.Errorf("%+v", v)
					}
					requests.Add(1)
				}
			})
		}
		all.Wait()
		require.LessOrEqual(t, g.count(), 2+int(time.Since(began)/redialPause), name)
		require.Greater(t, requests.Load(), int64(16), fmt.Sprint(name, ": most fail at once"))
	}
}
