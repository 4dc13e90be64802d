//go:build unix

package instance

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// luaLess is an instance on a server without Lua, and a test's actions between the two exchanges of
// its watched transactions.
type luaLess struct {
	usual
	between *between
	brief   int // ms of a key that expires in a test
}

// withoutLua starts such a server. The lock "k" was granted once on it, so it has a counter.
func withoutLua(t *testing.T, cfg Config, args ...string) *luaLess {
	s := instancetest.Start(t, instancetest.Config{Args: append(instancetest.WithoutLua(), args...)})
	r := open(t, s.URL(), cfg)
	l := &luaLess{usual: usual{T: t, r: r, s: s, ask: asker(t, r)}, between: &between{}}
	r.Client().AddHook(l.between)
	l.run = runOf(t, r)
	return l
}

// between is a go-redis hook that lets a test act between the exchanges.
type between struct {
	mu   sync.Mutex
	ask  func(cmds []redis.Cmder) // before the first exchange
	exec func()                   // before the second one
	n    int                      // second exchanges
}

// execute calls exec before each second exchange.
func (b *between) execute(exec func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exec, b.n = exec, 0
}

// once calls exec only before the first second exchange.
func (b *between) once(exec func()) {
	var done atomic.Bool
	b.execute(func() {
		if !done.Swap(true) {
			exec()
		}
	})
}

func (b *between) tries() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

func (b *between) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *between) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (b *between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		b.mu.Lock()
		ask, exec := b.ask, b.exec
		first := fmt.Sprint(cmds[0].Args()[0])
		if first == "ECHO" {
			b.n++
		}
		b.mu.Unlock()
		if first == "WATCH" && ask != nil {
			ask(cmds)
		}
		if first == "ECHO" && exec != nil {
			exec()
		}
		return next(ctx, cmds)
	}
}

// idle demands that the server has no connection in a transaction.
func (l *luaLess) idle() {
	l.Helper()
	require.Eventually(l, func() bool {
		for line := range strings.Lines(l.s.MustAsk("CLIENT", "LIST")) {
			if !strings.Contains(line, " multi=-1 ") {
				return false
			}
		}
		return true
	}, 5*time.Second, time.Millisecond, "a connection is still in a transaction")
}

// TestEachRequestWithoutLua: all requests, and no script among them.
func TestEachRequestWithoutLua(t *testing.T) {
	l := withoutLua(t, Config{})
	sent := l.sent(func() {
		l.last = l.grant("k").Token
		require.Greater(t, int64(l.last), time.Now().Add(-time.Minute).UnixMicro())
		req := l.acquire("k")
		require.Equal(t, l.last+1, granted(t, l.r.Do(within(t), req)).Token)
		of := func(op wire.Op) wire.Request {
			cmd := request(op, "k", req.Value)
			cmd.Run, cmd.Fence.Token, cmd.Clock = l.run, l.last+5, true
			return cmd
		}
		granted(t, l.r.Do(within(t), of(wire.Raise)))
		require.Equal(t, l.last+5, refused(t, l.r.Do(within(t), of(wire.Look))).Token)
		extend := of(wire.Extend)
		extend.TTL = time.Minute
		require.WithinDuration(t, time.Now(), granted(t, l.r.Do(within(t), extend)).Clock, 10*time.Second)
		require.InDelta(t, 60_000, l.ask("PTTL", "k"), 10_000)
		l.ask("DEL", "k")
		granted(t, l.r.Do(within(t), of(wire.Restore)))
		require.Equal(t, req.Value, l.ask("GET", "k"))
		require.False(t, granted(t, l.r.Do(within(t), of(wire.Tick))).Clock.IsZero())
		granted(t, l.r.Do(within(t), of(wire.Release)))
		granted(t, l.r.Do(within(t), of(wire.Look)))
	})
	for name := range sent {
		require.NotContains(t, name, "eval")
	}
	require.NotEmpty(t, sent["watch"])
	l.idle()
}

// TestUsualGrantWithoutLua is by one transaction, without WATCH.
func TestUsualGrantWithoutLua(t *testing.T) {
	l := withoutLua(t, Config{})
	l.last = l.grant("k").Token
	req := l.acquire("k")
	sent := l.sent(func() { require.Equal(t, l.last+1, granted(t, l.r.Do(within(t), req)).Token) })
	require.Equal(t, "1", sent["exec"])
	require.Empty(t, sent["watch"])
	// If it finds anything unusual, a watched transaction decides, and the key that it set is
	// deleted or becomes the lock.
	granted(t, l.r.Do(within(t), request(wire.Release, "k", req.Value)))
	l.ask("DEL", CounterKey("k"))
	req = l.acquire("k")
	sent = l.sent(func() {
		v := granted(t, l.r.Do(within(t), req))
		require.Greater(t, int64(v.Token), int64(l.last), "from the clock")
	})
	require.Equal(t, "2", sent["exec"])
	require.Equal(t, "1", sent["watch"])
	require.Equal(t, req.Value, l.ask("GET", "k"))
	granted(t, l.r.Do(within(t), request(wire.Release, "k", req.Value)))
	l.ask("SET", CounterKey("k"), "x", "KEEPTTL")
	v := failed(t, l.r.Do(within(t), l.acquire("k")), wire.ErrCounter)
	require.True(t, v.Unsent)
	require.Nil(t, l.ask("GET", "k"))
}

// TestServerIsFoundToLackLua without a Probe, by the first request; a Probe finds out when it has
// Lua again.
func TestServerIsFoundToLackLua(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{Args: instancetest.WithoutLua()})
	r := open(t, s.URL(), Config{})
	granted(t, r.Do(within(t), acquire("k", "v")))
	require.True(t, r.noScripts.Load())
	id, err := r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Equal(t, []string{lacksScripts}, id.Lacks)
	require.Equal(t, "watch", id.Dialect)
	require.Empty(t, id.Hidden)
	require.Zero(t, id.Served, "it has written the mark")
	again, err := r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Positive(t, again.Served)
	require.Equal(t, id.Run(), again.Run())

	// A missing right isn't a missing command.
	s = instancetest.Start(t, instancetest.Config{})
	s.MustAsk("ACL", "SETUSER", "half", "on", ">pw", "~*", "&*", "+@all", "-evalsha", "-eval")
	r = open(t, "redis://half:pw@"+s.Addr(), Config{})
	failed(t, r.Do(within(t), acquire("k", "v")), ErrPermission)
	id, err = r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Empty(t, id.Lacks)
	require.False(t, r.noScripts.Load())
	s.MustAsk("ACL", "SETUSER", "half", "+evalsha", "+eval")
	r.noScripts.Store(true)
	_, err = r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.False(t, r.noScripts.Load())
}

// TestChangeBetweenWatchAndExec: whatever changes in between, the vote is true of the step, and no
// other client's key is touched.
func TestChangeBetweenWatchAndExec(t *testing.T) {
	mine := value()
	cases := map[string]struct {
		req    func(l *luaLess) wire.Request
		change func(l *luaLess)
		check  func(l *luaLess, v wire.Vote)
		tries  int
	}{
		"the lock is taken": {
			req:    func(l *luaLess) wire.Request { return l.acquire("k") },
			change: func(l *luaLess) { l.ask("SET", "k", "theirs", "PX", 60_000) },
			check: func(l *luaLess, v wire.Vote) {
				require.InDelta(l, time.Minute, refused(l, v).Remaining, float64(10*time.Second))
				require.Equal(l, "theirs", l.ask("GET", "k"))
				require.Equal(l, l.last.String(), tokenIn(l.ask, "k"))
			},
			tries: 2,
		},
		"the counter is raised": {
			req:    func(l *luaLess) wire.Request { return l.acquire("k") },
			change: func(l *luaLess) { l.ask("INCRBY", CounterKey("k"), 1000) },
			check: func(l *luaLess, v wire.Vote) {
				require.Equal(l, l.last+1001, granted(l, v).Token)
				require.Equal(l, (l.last + 1001).String(), tokenIn(l.ask, "k"))
			},
			tries: 2,
		},
		"another set takes over": {
			req: func(l *luaLess) wire.Request { return l.acquire("k") },
			change: func(l *luaLess) {
				l.ask("SET", SetKey("k"), "else@1 N=3 Q=2 MaxTTL=30s 900000/1 ", "KEEPTTL")
			},
			check: func(l *luaLess, v wire.Vote) { require.ErrorIs(l, v.Err, wire.ErrSetMismatch) },
			tries: 2,
		},
		"all data is lost": {
			req:    func(l *luaLess) wire.Request { return l.acquire("k") },
			change: func(l *luaLess) { l.s.MustAsk("FLUSHALL") },
			check: func(l *luaLess, v wire.Vote) {
				require.True(l, failed(l, v, wire.ErrOtherRun).Unsent)
				require.Nil(l, l.ask("GET", "k"))
			},
			tries: 2,
		},
		"the mark is rewritten": {
			req: func(l *luaLess) wire.Request { return l.acquire("k") },
			change: func(l *luaLess) {
				mark := l.ask("GET", MarkKey(l.r.Name())).(string)
				l.ask("SET", MarkKey(l.r.Name()), strings.ReplaceAll(mark, "@"+l.run.Epoch(), "@7"))
			},
			check: func(l *luaLess, v wire.Vote) {
				require.True(l, failed(l, v, wire.ErrOtherRun).Unsent)
				require.Nil(l, l.ask("GET", "k"))
			},
			tries: 2,
		},
		"the key to be deleted is another holder's": {
			req: func(l *luaLess) wire.Request {
				l.ask("SET", "k", mine, "PX", 60_000)
				return request(wire.Release, "k", mine)
			},
			change: func(l *luaLess) { l.ask("SET", "k", "theirs", "PX", 60_000) },
			check: func(l *luaLess, v wire.Vote) {
				refused(l, v)
				require.Equal(l, "theirs", l.ask("GET", "k"))
			},
			tries: 2,
		},
		"the key to be deleted expires": {
			req: func(l *luaLess) wire.Request {
				l.ask("SET", "k", mine, "PX", l.brief)
				return request(wire.Release, "k", mine)
			},
			change: func(l *luaLess) { l.gone("k") },
			check:  func(l *luaLess, v wire.Vote) { refused(l, v) },
			tries:  2,
		},
		"the key to be extended is another holder's": {
			req: func(l *luaLess) wire.Request {
				l.ask("SET", "k", mine, "PX", 60_000)
				req := request(wire.Extend, "k", mine)
				req.Run = l.run
				return req
			},
			change: func(l *luaLess) { l.ask("SET", "k", "theirs", "PX", 1000_000) },
			check: func(l *luaLess, v wire.Vote) {
				refused(l, v)
				require.Greater(l, l.ask("PTTL", "k"), int64(900_000))
			},
			tries: 2,
		},
		"the key to be extended expires": {
			req: func(l *luaLess) wire.Request {
				l.ask("SET", "k", mine, "PX", l.brief)
				return request(wire.Extend, "k", mine)
			},
			change: func(l *luaLess) { l.gone("k") },
			check: func(l *luaLess, v wire.Vote) {
				refused(l, v)
				require.Nil(l, l.ask("GET", "k"))
			},
			tries: 2,
		},
		"the value to be replaced is gone": {
			req: func(l *luaLess) wire.Request {
				l.ask("SET", "k", mine, "PX", 60_000)
				req := l.acquire("k")
				req.Replace = mine
				return req
			},
			change: func(l *luaLess) { l.ask("SET", "k", "theirs", "PX", 60_000) },
			check: func(l *luaLess, v wire.Vote) {
				refused(l, v)
				require.Equal(l, "theirs", l.ask("GET", "k"))
			},
			tries: 2,
		},
		"a value to be raised for is gone": {
			req: func(l *luaLess) wire.Request {
				l.ask("SET", "k", mine, "PX", 60_000)
				req := request(wire.Raise, "k", mine)
				req.Fence.Token = l.last + 7
				return req
			},
			change: func(l *luaLess) { l.ask("DEL", "k") },
			check: func(l *luaLess, v wire.Vote) {
				refused(l, v)
				require.Equal(l, l.last.String(), tokenIn(l.ask, "k"))
			},
			tries: 2,
		},
		"a lease to be put back has a successor": {
			req: func(l *luaLess) wire.Request {
				req := request(wire.Restore, "k", mine)
				req.Fence.Token = l.last
				return req
			},
			change: func(l *luaLess) { l.ask("SET", "k", "theirs", "PX", 60_000) },
			check: func(l *luaLess, v wire.Vote) {
				refused(l, v)
				require.Equal(l, "theirs", l.ask("GET", "k"))
			},
			tries: 2,
		},
		"another lock changes": {
			req:    func(l *luaLess) wire.Request { return l.acquire("k") },
			change: func(l *luaLess) { l.ask("SET", "other", "theirs"); l.ask("INCR", CounterKey("other")) },
			check:  func(l *luaLess, v wire.Vote) { require.Equal(l, l.last+1, granted(l, v).Token) },
			tries:  1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := withoutLua(t, Config{})
			l.last = l.grant("k").Token
			l.r.warm = warm{seed: l.r.warm.seed}
			for l.brief = 200; ; l.brief *= 4 {
				req := c.req(l)
				l.between.once(func() { c.change(l) })
				c.check(l, l.r.Do(within(t), req))
				// On a busy machine a key may have expired before the first exchange.
				if !strings.HasSuffix(name, "expires") || l.between.tries() == c.tries || l.brief > 10_000 {
					break
				}
			}
			require.Equal(t, c.tries, l.between.tries())
			l.idle()
		})
	}
}

// gone waits until a key has expired.
func (l *luaLess) gone(key string) {
	require.Eventually(l, func() bool { return l.s.MustAsk("EXISTS", key) == ":0" }, 30*time.Second, time.Millisecond)
}

// TestDeleteBetween: a transaction has set the key, and a delete comes before the watched
// transaction that decides. It no longer sets the key: quorum relies on the delete.
func TestDeleteBetween(t *testing.T) {
	l := withoutLua(t, Config{})
	l.grant("k")
	l.ask("DEL", CounterKey("k")) // so that the transaction grants nothing
	req := l.acquire("k")
	l.between.once(func() {
		require.Equal(t, req.Value, l.ask("GET", "k"))
		l.ask("DEL", "k")
	})
	refused(t, l.r.Do(within(t), req))
	require.Equal(t, 2, l.between.tries())
	require.Nil(t, l.ask("GET", "k"))
}

// TestContendedRequest gives up after some tries, and has done nothing.
func TestContendedRequest(t *testing.T) {
	l := withoutLua(t, Config{})
	l.between.execute(func() { l.ask("INCR", CounterKey("k")) })
	v := failed(t, l.r.Do(within(t), l.acquire("k")), errContended)
	require.True(t, v.Unsent)
	require.False(t, isPermanent(v.Err))
	require.Equal(t, maxTries, l.between.tries())
	require.Nil(t, l.ask("GET", "k"))
	l.between.execute(nil)
	granted(t, l.r.Do(within(t), l.acquire("k")))
}

// TestRunEndsBetween: the replication ID changes, which no key shows. The vote is no grant, and
// says that the key may be set.
func TestRunEndsBetween(t *testing.T) {
	l := withoutLua(t, Config{}, "--enable-debug-command", "yes")
	req := l.acquire("k")
	l.between.once(func() { l.s.MustAsk("DEBUG", "CHANGE-REPL-ID") })
	require.False(t, failed(t, l.r.Do(within(t), req), wire.ErrOtherRun).Unsent)
	require.Equal(t, req.Value, l.ask("GET", "k"))
}

// TestWatchWithoutEffect: something between client and server sends WATCH elsewhere. Then no vote
// counts, and no counter falls.
func TestWatchWithoutEffect(t *testing.T) {
	for what, change := range map[string]func(l *luaLess){
		"the lock":    func(l *luaLess) { l.ask("SET", "k", "theirs", "PX", 60_000) },
		"the counter": func(l *luaLess) { l.ask("INCRBY", CounterKey("k"), 1000) },
		"the text":    func(l *luaLess) { l.ask("SET", SetKey("k"), "x", "PX", 60_000) },
	} {
		t.Run(what, func(t *testing.T) {
			l := withoutLua(t, Config{})
			l.last = l.grant("k").Token
			l.r.warm = warm{seed: l.r.warm.seed}
			l.between.ask = func(cmds []redis.Cmder) {
				watch := cmds[0].Args()
				for i := range watch[1:] {
					watch[1+i] = "elsewhere"
				}
			}
			l.between.execute(func() { change(l) })
			v := failed(t, l.r.Do(within(t), l.acquire("k")), errNotWatched)
			require.False(t, v.Unsent)
			require.True(t, isPermanent(v.Err))
			require.Equal(t, 1, l.between.tries())
			if what == "the lock" {
				require.Equal(t, "theirs", l.ask("GET", "k"))
			}
			var token uint64
			_, err := fmt.Sscan(fmt.Sprint(tokenIn(l.ask, "k")), &token)
			require.NoError(t, err)
			require.Greater(t, token, uint64(l.last))
		})
	}
}

// TestHangBetween: the server hangs before EXEC. The vote says that the key may be set, nothing
// is sent again, and the late EXEC does what a late SET does.
func TestHangBetween(t *testing.T) {
	l := withoutLua(t, Config{})
	req := l.acquire("k")
	l.between.once(l.s.Pause)
	vote := make(votes, 1)
	late := pending(t, l.r, req, vote)
	written(t, l.r)
	late()
	require.False(t, failed(t, <-vote, context.DeadlineExceeded).Unsent)
	l.s.Resume()
	require.Eventually(t, func() bool { return l.s.MustAsk("GET", "k") == req.Value }, 5*time.Second, time.Millisecond)
	require.Equal(t, 1, l.between.tries())
	granted(t, l.r.Do(within(t), request(wire.Release, "k", req.Value)))
	l.idle()
}

// TestAbandonedBetween: a request whose time ends before EXEC is never carried out, and says so.
// Its connection, which is in a transaction, is closed.
func TestAbandonedBetween(t *testing.T) {
	l := withoutLua(t, Config{})
	req := l.acquire("k")
	vote := make(votes, 1)
	voted := make(chan wire.Vote, 1)
	ends := make(chan func(), 1)
	l.between.once(func() { (<-ends)(); voted <- <-vote })
	ends <- pending(t, l.r, req, vote)
	require.True(t, failed(t, <-voted, context.DeadlineExceeded).Unsent)
	l.idle()
	require.Nil(t, l.ask("GET", "k"))
	granted(t, l.r.Do(within(t), l.acquire("k")))
}

// TestPanicBetween: a hook of the caller panics between the two exchanges.
func TestPanicBetween(t *testing.T) {
	l := withoutLua(t, Config{})
	l.between.once(func() { panic("ouch") })
	failed(t, l.r.Do(within(t), l.acquire("k")), ErrConnection)
	l.idle()
	require.Nil(t, l.ask("GET", "k"))
	granted(t, l.r.Do(within(t), l.acquire("k")))
}

// TestAbortedWatchedTransaction has done nothing, and says why.
func TestAbortedWatchedTransaction(t *testing.T) {
	l := withoutLua(t, Config{})
	l.s.MustAsk("CONFIG", "SET", "maxmemory", "1")
	require.True(t, failed(t, l.r.Do(within(t), l.acquire("k")), ErrOutOfMemory).Unsent)
	l.s.MustAsk("CONFIG", "SET", "maxmemory", "0")
	require.Nil(t, l.ask("GET", "k"))
	l.idle()
	// While the memory is full, the mark stays known.
	l.s.MustAsk("CONFIG", "SET", "maxmemory", "1")
	require.Equal(t, l.run, runOf(t, l.r))
	fresh := open(t, l.s.URL(), Config{Name: "fresh"})
	id, err := fresh.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Zero(t, id.Served, "no mark can be written")
	require.Empty(t, id.Epoch)
	l.s.MustAsk("CONFIG", "SET", "maxmemory", "0")
	for _, right := range []string{"watch", "multi", "exec", "getrange", "pttl", "time", "echo", "incrby", "set", "info"} {
		s := instancetest.Start(t, instancetest.Config{Args: instancetest.WithoutLua()})
		s.MustAsk("ACL", "SETUSER", "half", "on", ">pw", "~*", "&*", "+@all")
		r := open(t, "redis://half:pw@"+s.Addr(), Config{})
		req := acquire("k", "v")
		req.Run = runOf(t, r)
		s.MustAsk("ACL", "SETUSER", "half", "-"+right)
		v := failed(t, r.Do(within(t), req), ErrPermission)
		require.True(t, v.Unsent, right)
		require.Equal(t, ":0", s.MustAsk("EXISTS", "k", CounterKey("k")), right)
	}
}

// TestManyRequestsShareAWatch: few transactions extend many leases. If the key of one changes in
// between, the others are extended nevertheless.
func TestManyRequestsShareAWatch(t *testing.T) {
	l := withoutLua(t, Config{})
	const n = 100
	key := func(i int) string { return fmt.Sprint("k", i) }
	for i := range n {
		l.ask("SET", key(i), fmt.Sprint("v", i), "PX", 60_000)
	}
	l.between.once(func() { l.ask("SET", key(0), "theirs", "PX", 60_000) })
	reqs := make([]wire.Request, n)
	for i := range reqs {
		reqs[i] = request(wire.Extend, key(i), fmt.Sprint("v", i))
		reqs[i].Run, reqs[i].TTL = l.run, time.Hour
	}
	for v, vote := range l.together(reqs...) {
		if v == "v0" {
			refused(t, vote)
			continue
		}
		granted(t, vote)
	}
	for i := range n {
		require.Equal(t, i > 0, l.ask("PTTL", key(i)).(int64) > 100_000)
	}
	require.LessOrEqual(t, l.between.tries(), 1+maxWatched+n/maxWatched+1)
}

// TestTwoAcquisitionsOfOneLock: one is granted, and the other is refused.
func TestTwoAcquisitionsOfOneLock(t *testing.T) {
	l := withoutLua(t, Config{})
	for i := range 20 {
		key := fmt.Sprint("k", i)
		reqs := []wire.Request{l.acquire(key), l.acquire(key)}
		votes := l.together(reqs...)
		outcomes := []wire.Outcome{votes[reqs[0].Value].Outcome, votes[reqs[1].Value].Outcome}
		require.ElementsMatch(t, []wire.Outcome{wire.Granted, wire.Refused}, outcomes, "%+v", votes)
	}
}

// together sends requests so that they are in the queue at once.
func (l *luaLess) together(reqs ...wire.Request) map[string]wire.Vote {
	var box ballotBox
	l.r.pipe.mu.Lock()
	l.r.pipe.starting += maxInFlight // as if the maximum number of batches were in flight
	l.r.pipe.mu.Unlock()
	for i, req := range reqs {
		if i == len(reqs)-1 {
			l.r.pipe.mu.Lock()
			l.r.pipe.starting -= maxInFlight
			l.r.pipe.mu.Unlock()
		}
		box.start(l.r, req, 10*time.Second)
	}
	return box.await(l.T, len(reqs))
}

// TestTwoRequestsForOneLock are decided one after the other: a release and an acquisition.
func TestTwoRequestsForOneLock(t *testing.T) {
	l := withoutLua(t, Config{})
	for i := range 20 {
		key := fmt.Sprint("k", i)
		l.ask("SET", key, "v", "PX", 60_000)
		acquisition, release := l.acquire(key), request(wire.Release, key, "v")
		release.Run = l.run
		votes := l.together(acquisition, release)
		granted(t, votes["v"])
		if v := votes[acquisition.Value]; v.Outcome == wire.Granted {
			require.Equal(t, acquisition.Value, l.ask("GET", key))
		} else {
			refused(t, v)
			require.Nil(t, l.ask("GET", key))
		}
	}
}

// TestReplicasWithoutLua: a grant that no replica acknowledged is none.
func TestReplicasWithoutLua(t *testing.T) {
	l := withoutLua(t, Config{Replicas: 1, ReplicaTimeout: 10 * time.Millisecond})
	require.False(t, failed(t, l.r.Do(within(t), l.acquire("k")), wire.ErrNotReplicated).Unsent)
	granted(t, l.r.Do(within(t), request(wire.Look, "other", "")))
	l.idle()
}

// TestClockSetBackBetween: a token is no further ahead of the clock of the step than allowed.
func TestClockSetBackBetween(t *testing.T) {
	r, _ := mini(t, Config{})
	c := r.newCall(acquire("k", "v"))
	b := &batch{pipe: &r.pipe, calls: []*call{c}, written: true}
	c.in = b
	w := newWatched(b)
	s := &w.steps[0]
	now := time.Now().UnixMicro()
	first := &found{clock: now, counter: reading{exists: true, value: fmt.Sprint(now + ahead.Microseconds() - 100)}}
	d := s.decide(first)
	require.Empty(t, d.failure)
	replies := func() (all []string) {
		for _, w := range d.writes {
			all = append(all, w.want)
		}
		return all
	}()
	second := *first
	w.judge(c, s, &d, first, &second, replies)
	granted(t, c.vote)
	second.clock -= 200
	w.judge(c, s, &d, first, &second, replies)
	require.False(t, failed(t, c.vote, wire.ErrCounter).Unsent)
	second = *first
	for i := range replies {
		bad := slices.Clone(replies)
		bad[i] = ":0"
		w.judge(c, s, &d, first, &second, bad)
		require.False(t, failed(t, c.vote, ErrReply).Unsent)
	}
}

// TestWatchedReplies: a server without transactions carries nothing out, and a request is sent
// again only after a reply that says so.
func TestWatchedReplies(t *testing.T) {
	for what, test := range map[string]struct {
		answer func(name string) string // "": as from a good server
		kind   error
		unsent bool
		last   string // the last command that it gets
	}{
		"no WATCH":      {func(name string) string { return map[string]string{"WATCH": "-ERR unknown command 'WATCH'\r\n"}[name] }, ErrCommand, true, "MULTI"},
		"no MULTI":      {func(name string) string { return map[string]string{"MULTI": "-ERR unknown command 'MULTI'\r\n"}[name] }, ErrCommand, true, "MULTI"},
		"odd WATCH":     {func(name string) string { return map[string]string{"WATCH": "+PONG\r\n"}[name] }, ErrReply, true, "MULTI"},
		"odd MULTI":     {func(name string) string { return map[string]string{"MULTI": ":1\r\n"}[name] }, ErrReply, true, "MULTI"},
		"odd TIME":      {func(name string) string { return map[string]string{"TIME": "*1\r\n:1\r\n"}[name] }, ErrReply, true, "MULTI"},
		"odd ECHO":      {func(name string) string { return map[string]string{"ECHO": "$1\r\nx\r\n"}[name] }, ErrReply, true, "MULTI"},
		"odd PTTL":      {func(name string) string { return map[string]string{"PTTL": "+x\r\n"}[name] }, ErrReply, true, "MULTI"},
		"not queued":    {func(name string) string { return map[string]string{"queued": "+OK\r\n"}[name] }, ErrReply, false, ""},
		"EXEC fails":    {func(name string) string { return map[string]string{"EXEC": "-ERR the server is gone\r\n"}[name] }, ErrServer, false, "EXEC"},
		"odd EXEC":      {func(name string) string { return map[string]string{"EXEC": "*1\r\n$1\r\nx\r\n"}[name] }, ErrReply, false, "EXEC"},
		"EXEC hangs up": {func(name string) string { return map[string]string{"EXEC": hangUp}[name] }, ErrConnection, false, "EXEC"},
	} {
		t.Run(what, func(t *testing.T) {
			inside := false
			var nonce string
			f := startFake(t, func(args []string) string {
				name := args[0]
				if name == "ECHO" {
					nonce = args[1]
				}
				if inside && name != "EXEC" {
					if odd := test.answer("queued"); odd != "" {
						return odd
					}
					return "+QUEUED\r\n"
				}
				inside = name == "MULTI"
				if odd := test.answer(name); odd != "" {
					return odd
				}
				switch name {
				case "EVALSHA":
					return "-ERR unknown command 'EVALSHA'\r\n"
				case "WATCH", "MULTI":
					return "+OK\r\n"
				case "ECHO":
					return bulk(nonce)
				case "TIME":
					return "*2\r\n" + bulk("1800000000") + bulk("1")
				case "PTTL":
					return ":-2\r\n"
				case "GETRANGE":
					return bulk("")
				}
				return "*-1\r\n"
			})
			r := open(t, "redis://"+f.addr, Config{})
			v := failed(t, r.Do(within(t), acquire("k", "v")), test.kind)
			require.Equal(t, test.unsent, v.Unsent, "%v", v.Err)
			seen := f.commands()
			if test.last != "" { // if not, the connection may be closed before it gets all
				require.Equal(t, test.last, seen[len(seen)-1][0])
			}
			execs := 0
			for _, args := range seen {
				if args[0] == "EXEC" {
					execs++
				}
			}
			require.LessOrEqual(t, execs, 1, "it is sent once")
		})
	}
}

// TestConnectionsAreKept after transactions that ended, whatever their outcome.
func TestConnectionsAreKept(t *testing.T) {
	l := withoutLua(t, Config{})
	before := l.s.MustAsk("INFO", "stats")
	l.between.execute(func() { l.ask("INCR", CounterKey("k")) })
	failed(t, l.r.Do(within(t), l.acquire("k")), errContended)
	l.between.execute(nil)
	for range 20 {
		l.grant("k")
		l.r.warm = warm{seed: l.r.warm.seed}
	}
	connections := func(info string) (n int) {
		_, rest, _ := strings.Cut(info, "total_connections_received:")
		_, err := fmt.Sscan(rest, &n)
		require.NoError(t, err)
		return n
	}
	// Each MustAsk opens a connection.
	require.LessOrEqual(t, connections(l.s.MustAsk("INFO", "stats"))-connections(before), 3, "a transaction that ended leaves its connection fit for use")
}

// TestNativeCommandsWithoutLua: the dialect's own commands need no transaction, except for an
// extension that names the run.
func TestNativeCommandsWithoutLua(t *testing.T) {
	m, counts := emulate(t, DialectValkey)
	r := open(t, "redis://"+m.Addr(), Config{Dialect: DialectValkey})
	r.noScripts.Store(true)
	require.NoError(t, m.Set("k", "v"))
	granted(t, r.Do(within(t), request(wire.Extend, "k", "v")))
	granted(t, r.Do(within(t), request(wire.Release, "k", "v")))
	require.EqualValues(t, 1, counts["SET IFEQ"].Load())
	require.EqualValues(t, 1, counts["DELIFEQ"].Load())
	c := r.newCall(request(wire.Extend, "k", "v"))
	require.False(t, r.watched(c))
	c.req.Run = "run"
	require.True(t, r.watched(c))
}

// TestForbiddenKeyWithoutLua: one lock's key is forbidden, and the others in the batch are
// extended.
func TestForbiddenKeyWithoutLua(t *testing.T) {
	l := withoutLua(t, Config{})
	l.s.MustAsk("ACL", "SETUSER", "half", "on", ">pw", "~k*", "&*", "+@all")
	l.ask("SET", "k1", "v1", "PX", 60_000)
	l.ask("SET", "x", "vx", "PX", 60_000)
	l.r = open(t, "redis://half:pw@"+l.s.Addr(), Config{})
	l.r.noScripts.Store(true)
	votes := l.together(request(wire.Extend, "k1", "v1"), request(wire.Extend, "x", "vx"))
	granted(t, votes["v1"])
	failed(t, votes["vx"], ErrPermission)
}

// TestAccountWithoutLua: the rights that the documentation lists for a server without Lua
// suffice for everything.
func TestAccountWithoutLua(t *testing.T) {
	l := withoutLua(t, Config{})
	rights := "on >pw ~orders:* ~{orders:*}:redlock ~{orders:*}:redlock:set ~{redlock}:served:* -@all +watch +multi +exec +echo +getrange +set +get +del +incr +incrby +pexpire +pttl +mget +exists +time +ping +info +command|info +config|get"
	l.s.MustAsk(append([]string{"ACL", "SETUSER", "orders", "resetkeys", "resetchannels"}, strings.Fields(rights)...)...)
	l.r = open(t, "redis://orders:pw@"+l.s.Addr(), Config{})
	id, err := l.r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Empty(t, id.Hidden)
	l.run = id.Run()
	for _, fenced := range []bool{true, false} {
		for range 2 { // the second one is usual
			req := l.acquire("orders:7")
			req.Fence.On = fenced
			v := granted(t, l.r.Do(within(t), req))
			for _, op := range []wire.Op{wire.Raise, wire.Extend, wire.Restore, wire.Tick, wire.Release, wire.Look} {
				cmd := request(op, req.Key, req.Value)
				cmd.Fence.On, cmd.Fence.Token = fenced, v.Token+1
				if op != wire.Release && op != wire.Look {
					cmd.Run = l.run
				}
				if fenced || op != wire.Raise {
					granted(t, l.r.Do(within(t), cmd))
				}
			}
		}
	}
}

// TestRefusedDialWithoutLua: nothing was sent.
func TestRefusedDialWithoutLua(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	r := open(t, "redis://"+addr, Config{})
	r.noScripts.Store(true)
	require.True(t, failed(t, r.Do(within(t), acquire("k", "v")), ErrConnection).Unsent)
}

// TestTokensRiseWithoutLua: clients of one lock, each with its own connections.
func TestTokensRiseWithoutLua(t *testing.T) {
	l := withoutLua(t, Config{})
	const clients, turns = 6, 15
	var mu sync.Mutex
	var last fencing.Token
	var wg sync.WaitGroup
	for range clients {
		r := open(t, l.s.URL(), Config{Name: l.r.Name()})
		runOf(t, r)
		wg.Go(func() {
			for won := 0; won < turns; {
				req := l.acquire("k")
				if req.Run = l.run; won%2 == 0 {
					req.Fence.Reserve = 3
				}
				v := r.Do(within(t), req)
				if v.Outcome != wire.Granted {
					continue
				}
				mu.Lock()
				if first := v.Token - fencing.Token(v.Reserved); first <= last {
					t.Errorf("token %d after %d", first, last)
				}
				last = v.Token
				mu.Unlock()
				if v := r.Do(within(t), request(wire.Release, "k", req.Value)); v.Outcome != wire.Granted {
					t.Errorf("the holder's release: %+v", v)
				}
				won++
			}
		})
	}
	wg.Wait()
	l.idle()
}
