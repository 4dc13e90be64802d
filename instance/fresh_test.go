//go:build unix

package instance

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// starts is a request for a lock that probably has no counter, and says where one should start.
func (u *usual) starts(key string, ahead time.Duration) wire.Request {
	u.r.fresh.score.Store(mostFresh)
	req := u.acquire(key)
	clock := granted(u, u.r.Do(within(u), wire.Request{Op: wire.Tick})).Clock
	req.Fence.Token = fencing.Token(clock.Add(ahead).UnixMicro())
	return req
}

// TestNewLockTakesNoScript: a transaction makes its counter, as a script would.
func TestNewLockTakesNoScript(t *testing.T) {
	usually(t, func(u *usual) {
		req := u.starts("new", 10*time.Second)
		sent := u.sent(func() { require.Equal(t, req.Fence.Token, granted(t, u.r.Do(within(t), req)).Token) })
		require.Equal(t, "1", sent["exec"])
		require.Empty(t, sent["evalsha"]+sent["eval"])
		require.Equal(t, req.Value, u.ask("GET", "new"))
		require.Equal(t, req.Fence.Token.String(), tokenIn(u.ask, "new"))
		life := 6 * req.Fence.TTL.Milliseconds() / 4
		for _, key := range []string{CounterKey("new"), SetKey("new")} {
			require.InDelta(t, life, u.ask("PTTL", key), 10_000, key)
		}
		granted(t, u.r.Do(within(t), request(wire.Release, "new", req.Value)))
		u.byTransaction(func() { require.Equal(t, req.Fence.Token+1, u.grant("new").Token) })
	})
}

// TestNewLocksTravelTogether, also with locks that have counters.
func TestNewLocksTravelTogether(t *testing.T) {
	usually(t, func(u *usual) {
		var box ballotBox
		reqs := []wire.Request{u.starts("a", 10*time.Second), u.acquire("k"), u.starts("b", 12*time.Second), u.starts("c", 10*time.Second)}
		reqs[3].Fence = wire.Fence{}
		u.r.pipe.mu.Lock()
		u.r.pipe.starting += maxInFlight // as if so many batches were under way
		u.r.pipe.mu.Unlock()
		for i, req := range reqs {
			if i == len(reqs)-1 {
				u.r.pipe.mu.Lock()
				u.r.pipe.starting -= maxInFlight
				u.r.pipe.mu.Unlock()
			}
			box.start(u.r, req, 10*time.Second)
		}
		votes := box.await(t, len(reqs))
		require.Equal(t, reqs[0].Fence.Token, granted(t, votes[reqs[0].Value]).Token)
		require.Equal(t, u.last+1, granted(t, votes[reqs[1].Value]).Token)
		require.Equal(t, reqs[2].Fence.Token, granted(t, votes[reqs[2].Value]).Token)
		require.Zero(t, granted(t, votes[reqs[3].Value]).Token)
	})
}

// TestLateStartLeavesNoCounter: nobody may go on from a counter that starts behind the clock,
// even if no script follows the transaction.
func TestLateStartLeavesNoCounter(t *testing.T) {
	usually(t, func(u *usual) {
		for _, script := range []bool{false, true} {
			if !script {
				u.ask("ACL", "SETUSER", "default", "-evalsha", "-eval")
			} else {
				u.ask("ACL", "SETUSER", "default", "+evalsha", "+eval")
			}
			req := u.startsAt("late", -10*time.Millisecond)
			vote := u.r.Do(within(t), req)
			if !script {
				require.False(t, failed(t, vote, ErrPermission).Unsent)
				require.Nil(t, tokenIn(u.ask, "late"))
				u.ask("DEL", "late")
				continue
			}
			require.Greater(t, int64(granted(t, vote).Token), int64(req.Fence.Token))
		}
	})
}

// startsAt is starts without a script.
func (u *usual) startsAt(key string, ahead time.Duration) wire.Request {
	u.r.fresh.score.Store(mostFresh)
	req := u.acquire(key)
	now := u.ask("TIME").([]any)
	seconds, err := strconv.ParseInt(now[0].(string), 10, 64)
	require.NoError(u, err)
	micros, err := strconv.ParseInt(now[1].(string), 10, 64)
	require.NoError(u, err)
	req.Fence.Token = fencing.Token(seconds*1e6 + micros + ahead.Microseconds())
	return req
}

// TestStartWhereThereIsACounter: the counter goes on, and its TTL is not shortened.
func TestStartWhereThereIsACounter(t *testing.T) {
	for name, meet := range map[string]func(u *usual){
		"both":         func(u *usual) {},
		"no text":      func(u *usual) { u.ask("DEL", SetKey("k")) },
		"another run":  func(u *usual) { counted(u.ask, "k", u.last, set1.String(), "earlier") },
		"no TTL":       func(u *usual) { u.ask("PERSIST", SetKey("k")) },
		"without text": func(u *usual) { u.ask("DEL", SetKey("k")); u.ask("PEXPIRE", CounterKey("k"), 77_777) },
	} {
		t.Run(name, func(t *testing.T) {
			usually(t, func(u *usual) {
				meet(u)
				req := u.starts("k", 10*time.Second)
				u.r.warm.note(u.r.warm.hash(&req), false)
				life := u.ask("PTTL", CounterKey("k")).(int64)
				sent := u.sent(func() {
					vote := granted(t, u.r.Do(within(t), req))
					require.Greater(t, vote.Token, u.last)
					if name == "both" {
						require.Equal(t, u.last+1, vote.Token)
					}
				})
				require.Equal(t, "1", sent["exec"])
				require.Equal(t, "1", sent["evalsha"], "which decides")
				require.GreaterOrEqual(t, u.ask("PTTL", CounterKey("k")).(int64), life-5000)
			})
		})
	}
}

// TestHeldNewLock: the script tells who is in the way, and nothing is set.
func TestHeldNewLock(t *testing.T) {
	usually(t, func(u *usual) {
		u.ask("SET", "new", "theirs", "PX", 60_000)
		req := u.starts("new", 10*time.Second)
		require.InDelta(t, time.Minute, refused(t, u.r.Do(within(t), req)).Remaining, float64(10*time.Second))
		require.Equal(t, "theirs", u.ask("GET", "new"))
		u.ask("DEL", "new")
		require.Greater(t, u.grant("new").Token, req.Fence.Token)
	})
}

// TestGuessOfNewLocks follows what the locks turn out to be.
func TestGuessOfNewLocks(t *testing.T) {
	usually(t, func(u *usual) {
		require.False(t, u.r.fresh.likely(), "the lock k was new, but started from the clock")
		next := func(key string) wire.Request {
			score := u.r.fresh.score.Load()
			req := u.startsAt(key, 10*time.Second)
			u.r.fresh.score.Store(score)
			u.r.warm.note(u.r.warm.hash(&req), false)
			return req
		}
		u.r.fresh.score.Store(-2)
		for i := range 2 * mostFresh {
			req := next(fmt.Sprint("new", i))
			sent := u.sent(func() { granted(t, u.r.Do(within(t), req)) })
			require.Equal(t, i >= 3, sent["exec"] == "1", "%d: a script's answer counts, too", i)
			require.Equal(t, int32(min(i-1, mostFresh)), u.r.fresh.score.Load())
			granted(t, u.r.Do(within(t), request(wire.Release, req.Key, req.Value)))
		}
		for i := range 2 * mostFresh {
			req := next(fmt.Sprint("new", i))
			sent := u.sent(func() { granted(t, u.r.Do(within(t), req)) })
			require.Equal(t, i < mostFresh/2, sent["exec"] == "1", "a wrong guess counts twice")
		}
	})
}

// TestUserWithoutTheCommands that make a counter is granted locks by scripts, and known ones by
// transactions.
func TestUserWithoutTheCommands(t *testing.T) {
	usually(t, func(u *usual) {
		u.ask("ACL", "SETUSER", "default", "-msetnx")
		req := u.starts("new", 10*time.Second)
		require.Equal(t, req.Fence.Token, granted(t, u.r.Do(within(t), req)).Token, "by the script")
		require.False(t, u.r.fresh.known.Load())
		require.True(t, u.r.transactions.Load())
		req = u.starts("another", 10*time.Second)
		sent := u.sent(func() { granted(t, u.r.Do(within(t), req)) })
		require.Empty(t, sent["exec"])
		u.byTransaction(func() { u.grant("k") })
	})
}

// TestStartIsCheckedByTheClock of the transaction itself, whatever the server says that it did.
func TestStartIsCheckedByTheClock(t *testing.T) {
	usually(t, func(u *usual) {
		req := u.starts("new", 10*time.Second)
		var nonce, text string
		seconds := int64(req.Fence.Token)/1e6 + 1
		f := startFake(t, func(args []string) string {
			switch args[0] {
			case "MULTI":
				return "+OK\r\n"
			case "ECHO":
				nonce = args[1]
			case "MSETNX":
				text = args[4]
			case "EXEC":
				return "*9\r\n" + bulk(nonce) + "*2\r\n" + bulk(fmt.Sprint(seconds)) + bulk("0") + bulk("role:master\r\nmaster_replid:"+u.run.ReplID()) +
					"*1\r\n" + bulk("x/"+string(u.run)+" 1") + ":1\r\n:1\r\n:1\r\n:1\r\n+OK\r\n"
			case "EVALSHA":
				return "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
			}
			return "+QUEUED\r\n"
		})
		r := open(t, "redis://"+f.addr, Config{})
		r.transactions.Store(true)
		r.fresh.known.Store(true)
		r.fresh.score.Store(mostFresh)
		require.False(t, failed(t, r.Do(within(t), req), ErrOutOfMemory).Unsent)
		require.True(t, strings.HasSuffix(text, string(u.run)))
		seconds -= 3
		req.Value = value()
		r.fresh.score.Store(mostFresh)
		require.Equal(t, req.Fence.Token, granted(t, r.Do(within(t), req)).Token)
	})
}
