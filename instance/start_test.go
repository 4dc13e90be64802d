//go:build unix

package instance

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// startsAt is a request for a lock that probably has no counter. It says where one should start:
// so far ahead of the server's clock.
func (u *usual) startsAt(key string, ahead time.Duration) wire.Request {
	u.Helper()
	instancetest.Needs(u.T, 7, 0, "a transaction makes a counter")
	u.r.starts.score.Store(mostStarts)
	req := u.acquire(key)
	req.Fence.Token = fencing.Token(u.now() + ahead.Microseconds())
	return req
}

// now is the server's clock in microseconds.
func (u *usual) now() int64 {
	now := u.ask("TIME").([]any)
	seconds, err := strconv.ParseInt(now[0].(string), 10, 64)
	require.NoError(u, err)
	micros, err := strconv.ParseInt(now[1].(string), 10, 64)
	require.NoError(u, err)
	return seconds*1e6 + micros
}

// cannotRunScripts takes the right to scripts away while f runs: so nothing follows a
// transaction.
func (u *usual) cannotRunScripts(f func()) {
	u.ask("ACL", "SETUSER", "default", "-evalsha", "-eval")
	f()
	u.ask("ACL", "SETUSER", "default", "+evalsha", "+eval")
}

// together sends requests in one batch, and returns their votes by value.
func (u *usual) together(reqs ...wire.Request) map[string]wire.Vote {
	var box ballotBox
	for i, req := range reqs {
		busy := 0
		if i < len(reqs)-1 {
			busy = maxInFlight // as if so many batches were under way
		}
		u.r.pipe.mu.Lock()
		u.r.pipe.starting += busy
		u.r.pipe.mu.Unlock()
		box.start(u.r, req, 10*time.Second)
		u.r.pipe.mu.Lock()
		u.r.pipe.starting -= busy
		u.r.pipe.mu.Unlock()
	}
	return box.await(u.T, len(reqs))
}

// unvouched is the text that a transaction writes beside a counter that it makes.
var unvouched = set1.String() + " 0/0 ?"

// TestNewLockTakesNoScript: a transaction makes its counter, where a script would. The next
// grant takes the script, and the one after it is the usual one.
func TestNewLockTakesNoScript(t *testing.T) {
	usually(t, func(u *usual) {
		req := u.startsAt("new", 10*time.Second)
		sent := u.sent(func() { require.Equal(t, req.Fence.Token, granted(t, u.r.Do(within(t), req)).Token) })
		require.Equal(t, "1", sent["exec"])
		require.Empty(t, sent["evalsha"]+sent["eval"])
		require.Equal(t, req.Value, u.ask("GET", "new"))
		require.Equal(t, req.Fence.Token.String(), tokenIn(u.ask, "new"))
		require.Equal(t, unvouched, u.ask("GET", SetKey("new")))
		life := 6 * req.Fence.TTL.Milliseconds() / 4
		for _, key := range []string{CounterKey("new"), SetKey("new")} {
			require.InDelta(t, life, u.ask("PTTL", key), 10_000, key)
		}
		granted(t, u.r.Do(within(t), request(wire.Release, "new", req.Value)))

		sent = u.sent(func() { require.Equal(t, req.Fence.Token+1, u.grant("new").Token) })
		require.Empty(t, sent["exec"], "it would grant nothing")
		u.byTransaction(func() { require.Equal(t, req.Fence.Token+2, u.grant("new").Token) })
	})
}

// TestNewLocksTravelTogether, also with locks that have counters, and with one another.
func TestNewLocksTravelTogether(t *testing.T) {
	usually(t, func(u *usual) {
		reqs := []wire.Request{u.startsAt("a", 10*time.Second), u.acquire("k"), u.startsAt("b", 12*time.Second), u.acquire("bare"), u.startsAt("a", 11*time.Second)}
		reqs[3].Fence = wire.Fence{}
		votes := u.together(reqs...)
		require.Equal(t, reqs[0].Fence.Token, granted(t, votes[reqs[0].Value]).Token)
		require.Equal(t, u.last+1, granted(t, votes[reqs[1].Value]).Token)
		require.Equal(t, reqs[2].Fence.Token, granted(t, votes[reqs[2].Value]).Token)
		require.Zero(t, granted(t, votes[reqs[3].Value]).Token)
		refused(t, votes[reqs[4].Value])
		require.Equal(t, reqs[0].Value, u.ask("GET", "a"))
	})
}

// TestSameNewLockTwice: one of two requests in a batch is granted, whichever is late or too far
// ahead, and its token is above the clock and within the bound.
func TestSameNewLockTwice(t *testing.T) {
	usually(t, func(u *usual) {
		for _, first := range []time.Duration{-time.Second, time.Second, time.Hour} {
			for _, second := range []time.Duration{-time.Second, time.Second, time.Hour} {
				a, b := u.startsAt(fmt.Sprint(first, second), first), u.startsAt(fmt.Sprint(first, second), second)
				before, granted := u.now(), 0
				for value, vote := range u.together(a, b) {
					if vote.Outcome != wire.Granted {
						continue
					}
					granted++
					require.Equal(t, value, u.ask("GET", a.Key))
					require.Greater(t, int64(vote.Token), before)
					require.Less(t, int64(vote.Token), u.now()+ahead.Microseconds())
				}
				if first == time.Hour { // its counter is in the way until the clock has caught up
					require.Zero(t, granted)
				} else {
					require.Equal(t, 1, granted, a.Key)
				}
				require.Positive(t, u.ask("PTTL", CounterKey(a.Key)))
			}
		}
	})
}

// TestLateStart: no token is behind the clock, even if no script follows the transaction, and if
// the lock is restored in between.
func TestLateStart(t *testing.T) {
	for name, test := range map[string]struct{ follows, restored, runless, several bool }{
		"a script follows":                            {true, false, false, false},
		"no script follows":                           {false, false, false, false},
		"no script follows, restored":                 {false, true, false, false},
		"no script follows, run hidden":               {false, false, true, false},
		"no script follows, several keys":             {false, false, false, true},
		"no script follows, several keys, run hidden": {false, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			usually(t, func(u *usual) {
				late := u.startsAt("late", -10*time.Millisecond)
				if test.follows {
					vote := granted(t, u.r.Do(within(t), late))
					require.Equal(t, vote.Clock.UnixMicro()+1, int64(vote.Token))
					return
				}
				u.cannotRunScripts(func() { require.False(t, failed(t, u.r.Do(within(t), late), ErrPermission).Unsent) })
				u.ask("DEL", "late")
				if test.several {
					other := u.startsAt("later", -10*time.Millisecond)
					require.Equal(t, int64(1), u.transact(other)[0])
					u.ask("DEL", "later")
				}
				if test.restored {
					restore := request(wire.Restore, "late", value())
					restore.Run, restore.Fence.Token = u.run, old
					granted(t, u.r.Do(within(t), restore))
					u.ask("DEL", "late")
				}
				if test.runless {
					u.run = ""
				}
				before := u.now()
				next := func() fencing.Token {
					req := u.acquire("late")
					if test.several {
						req.Also = []string{"later"}
					}
					token := granted(t, u.r.Do(within(t), req)).Token
					req.Op = wire.Release
					granted(t, u.r.Do(within(t), req))
					return token
				}
				last := next()
				require.Greater(t, int64(last), before)
				require.NotContains(t, u.ask("GET", SetKey("late")), "?")
				require.Equal(t, last+1, next(), "it goes on")
			})
		})
	}
}

// TestStartWhereThereIsACounter: it goes on if the text vouches for it, or from the clock. Its
// TTL is not shortened.
func TestStartWhereThereIsACounter(t *testing.T) {
	for name, test := range map[string]struct {
		meet   func(u *usual)
		script bool
		next   bool // the next token
	}{
		"both":             {func(u *usual) { u.ask("PEXPIRE", CounterKey("k"), 99_000_000) }, false, true},
		"without TTL":      {func(u *usual) { u.ask("PERSIST", CounterKey("k")) }, false, true},
		"without a text":   {func(u *usual) { u.ask("DEL", SetKey("k")) }, true, false},
		"of another run":   {func(u *usual) { counted(u.ask, "k", u.last, set1.String(), "earlier") }, true, false},
		"a lost counter":   {func(u *usual) { u.ask("DEL", CounterKey("k")) }, true, false},
		"another's start":  {func(u *usual) { u.ask("SET", SetKey("k"), unvouched, "PX", 77_777) }, true, false},
		"both were lost":   {func(u *usual) { u.ask("DEL", CounterKey("k"), SetKey("k")) }, false, false},
		"everything is":    {func(u *usual) { u.ask("SET", SetKey("k"), "nonsense") }, true, false},
		"of the other set": {func(u *usual) { counted(u.ask, "k", u.last, "other@1 N=3 Q=2 MaxTTL=30s", string(u.run)) }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			usually(t, func(u *usual) {
				test.meet(u)
				req := u.startsAt("k", 10*time.Second)
				u.r.warm.forget(u.r.warm.hash(&req))
				life := u.ask("PTTL", CounterKey("k")).(int64)
				var vote wire.Vote
				sent := u.sent(func() { vote = u.r.Do(within(t), req) })
				require.Equal(t, "1", sent["exec"])
				require.Equal(t, test.script, sent["evalsha"] == "1", "which decides")
				require.GreaterOrEqual(t, u.ask("PTTL", CounterKey("k")).(int64), life-5000)
				switch {
				case name == "everything is":
					failed(t, vote, wire.ErrCounter)
				case name == "of the other set":
					require.ErrorIs(t, vote.Err, wire.ErrSetMismatch)
					require.Contains(t, u.ask("GET", SetKey("k")), "other@1")
				case test.next:
					require.Equal(t, u.last+1, granted(t, vote).Token)
				default:
					require.Equal(t, req.Fence.Token, granted(t, vote).Token, "from the clock")
				}
			})
		})
	}
}

// TestStartInVain leaves a counter and a text, for as long as after a grant. No token is smaller
// afterwards, and no other set is let in.
func TestStartInVain(t *testing.T) {
	for name, test := range map[string]struct {
		ahead time.Duration
		meet  func(u *usual, req *wire.Request)
		check func(u *usual, vote wire.Vote)
	}{
		"held": {10 * time.Second, func(u *usual, _ *wire.Request) { u.ask("SET", "new", "theirs", "PX", 60_000) }, func(u *usual, vote wire.Vote) {
			refused(u.T, vote)
			require.Equal(u, "theirs", u.ask("GET", "new"))
		}},
		"in another run": {time.Second, func(_ *usual, req *wire.Request) { req.Run = "another" }, func(u *usual, vote wire.Vote) {
			require.False(u, failed(u.T, vote, wire.ErrOtherRun).Unsent)
			require.NotNil(u, u.ask("GET", "new"), "quorum deletes it")
		}},
		"too far ahead": {time.Hour, func(_ *usual, req *wire.Request) { req.Fence.Ahead = time.Minute }, func(u *usual, vote wire.Vote) {
			require.True(u, failed(u.T, vote, wire.ErrCounter).Unsent)
			require.Nil(u, u.ask("GET", "new"), "the script has deleted it")
			restore := request(wire.Restore, "new", value())
			restore.Run, restore.Fence.Token, restore.Fence.Ahead = u.run, fencing.Token(u.now()+time.Hour.Microseconds()/2), time.Minute
			failed(u.T, u.r.Do(within(u.T), restore), wire.ErrCounter)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			usually(t, func(u *usual) {
				req := u.startsAt("new", test.ahead)
				test.meet(u, &req)
				test.check(u, u.r.Do(within(t), req))
				require.Equal(t, unvouched, u.ask("GET", SetKey("new")))
				require.Equal(t, req.Fence.Token.String(), tokenIn(u.ask, "new"))
				for _, key := range []string{CounterKey("new"), SetKey("new")} {
					require.InDelta(t, 6*req.Fence.TTL.Milliseconds()/4, u.ask("PTTL", key), 10_000, key)
				}
				u.ask("DEL", "new")
				other := u.acquire("new")
				other.Fence.Set.Name = "another"
				require.ErrorIs(t, u.r.Do(within(t), other).Err, wire.ErrSetMismatch)
				if name == "too far ahead" { // until the clock has caught up
					failed(t, u.r.Do(within(t), u.acquire("new")), wire.ErrCounter)
					return
				}
				require.Greater(t, u.grant("new").Token, req.Fence.Token)
			})
		})
	}
}

// TestGuessOfNewLocks follows what the locks turn out to be.
func TestGuessOfNewLocks(t *testing.T) {
	usually(t, func(u *usual) {
		require.Zero(t, u.r.starts.score.Load(), "the lock k was new, but nothing said where to start")
		next := func(key string) wire.Request {
			score := u.r.starts.score.Load()
			req := u.startsAt(key, 10*time.Second)
			u.r.starts.score.Store(score)
			for _, hash := range []uint64{u.r.warm.hash(&req), byScript(u.r.warm.hash(&req))} {
				u.r.warm.forget(hash)
			}
			return req
		}
		u.r.starts.score.Store(-2)
		for i := range 2 * mostStarts {
			req := next(fmt.Sprint("new", i))
			sent := u.sent(func() { granted(t, u.r.Do(within(t), req)) })
			require.Equal(t, i >= 3, sent["exec"] == "1", "%d: a script's answer counts, too", i)
			require.Equal(t, int32(min(i-1, mostStarts)), u.r.starts.score.Load())
			granted(t, u.r.Do(within(t), request(wire.Release, req.Key, req.Value)))
		}
		for i := range 2 * mostStarts {
			req := next(fmt.Sprint("new", mostStarts+i%mostStarts))
			counted(u.ask, req.Key, old, set1.String(), "earlier")
			req.Fence.Token = 0
			if i%2 == 0 {
				req.Fence.Token = old - 1
			}
			sent := u.sent(func() { granted(t, u.r.Do(within(t), req)) })
			require.Equal(t, i < mostStarts && i%2 == 0, sent["exec"] == "1", "%d: a wrong guess counts twice, a lock without a start not", i)
			granted(t, u.r.Do(within(t), request(wire.Release, req.Key, req.Value)))
		}
	})
}

// TestWrongGuessIsRemembered: waiting for a lock costs one transaction in vain, however often
// other locks were guessed right meanwhile. Without fencing, too: a script then tells the time.
func TestWrongGuessIsRemembered(t *testing.T) {
	for _, fence := range []bool{true, false} {
		usually(t, func(u *usual) {
			instancetest.Needs(u.T, 7, 0, "a transaction makes a counter")
			u.ask("SET", "held", "theirs", "PX", 60_000)
			for i := range 6 {
				req := u.startsAt("held", 10*time.Second)
				if !fence {
					req.Fence = wire.Fence{}
				}
				var vote wire.Vote
				sent := u.sent(func() { vote = refused(t, u.r.Do(within(t), req)) })
				require.Equal(t, i == 0, sent["exec"] == "1", i)
				require.Equal(t, i > 0, vote.Remaining > 0, i)
			}
		})
	}
}

// TestUserWithoutMSETNX is granted new locks by scripts, and known ones by transactions, also
// those in the batch that found out.
func TestUserWithoutMSETNX(t *testing.T) {
	usually(t, func(u *usual) {
		u.ask("ACL", "SETUSER", "default", "-msetnx")
		first := u.startsAt("new", 10*time.Second)
		k := u.acquire("k")
		var votes map[string]wire.Vote
		sent := u.sent(func() { votes = u.together(first, k) })
		require.Equal(t, first.Fence.Token, granted(t, votes[first.Value]).Token, "by the script")
		require.Equal(t, u.last+1, granted(t, votes[k.Value]).Token)
		require.Equal(t, "2", sent["exec"])
		granted(t, u.r.Do(within(t), request(wire.Release, "k", k.Value)))
		require.True(t, u.r.transactions.Load())
		runOf(t, u.r) // a Probe doesn't ask for it again
		req := u.startsAt("another", 10*time.Second)
		require.Empty(t, u.sent(func() { granted(t, u.r.Do(within(t), req)) })["exec"])
		u.byTransaction(func() { u.grant("k") })
		// In another run the rights may be others.
		req = u.startsAt("third", 10*time.Second)
		req.Run = "another"
		require.True(t, u.r.starts.can(u.r.newCall(req)))
	})
}

// TestStartIsChecked by the clock of the transaction itself, and by what the server did.
func TestStartIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		late    time.Duration
		replies string // to MSETNX, SET, INCR (%d), and PEXPIRE twice
		granted bool
	}{
		"as it should be":     {-time.Second, ":1\r\n+OK\r\n:%d\r\n:1\r\n:1\r\n", true},
		"at the clock":        {0, ":1\r\n+OK\r\n:%d\r\n:1\r\n:1\r\n", false},
		"no TTL":              {-time.Second, ":1\r\n+OK\r\n:%d\r\n:0\r\n:1\r\n", false},
		"the text has none":   {-time.Second, ":1\r\n+OK\r\n:%d\r\n:1\r\n:0\r\n", false},
		"options not known":   {-time.Second, ":1\r\n+OK\r\n:%d\r\n-ERR Unsupported option NX\r\n-ERR Unsupported option NX\r\n", false},
		"MSETNX not known":    {-time.Second, "-ERR unknown command\r\n+OK\r\n:%d\r\n:1\r\n:0\r\n", false},
		"there was a counter": {-time.Second, ":0\r\n+OK\r\n:%d\r\n:0\r\n:0\r\n", false},
		"it had no TTL":       {-time.Second, ":0\r\n+OK\r\n:%d\r\n:1\r\n:1\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			token := fencing.Token(1_800_000_000_000_000)
			req := acquire("new", value())
			req.Run, req.Fence.Token = "run", token
			var nonce string
			f := startFake(t, func(args []string) string {
				switch args[0] {
				case "MULTI":
					return "+OK\r\n"
				case "ECHO":
					nonce = args[1]
				case "EXEC":
					clock := time.UnixMicro(int64(token)).Add(test.late)
					return "*9\r\n" + bulk(nonce) + "*2\r\n" + bulk(fmt.Sprint(clock.Unix())) + bulk(fmt.Sprint(clock.Nanosecond()/1000)) +
						bulk("role:master\r\nmaster_replid:run") + "*2\r\n$-1\r\n$-1\r\n" + fmt.Sprintf(test.replies, token)
				case "EVALSHA":
					return "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
				}
				return "+QUEUED\r\n"
			})
			r := open(t, "redis://"+f.addr, Config{})
			r.transactions.Store(true)
			r.starts.score.Store(1)
			vote := r.Do(within(t), req)
			if test.granted {
				require.Equal(t, token, granted(t, vote).Token)
				require.EqualValues(t, 2, r.starts.score.Load())
				return
			}
			require.False(t, failed(t, vote, ErrOutOfMemory).Unsent, "a script decides")
			require.Negative(t, r.starts.score.Load())
		})
	}
}

// TestFailedStart: the next try takes a script, also behind a proxy that fails one command and
// doesn't abort.
func TestFailedStart(t *testing.T) {
	f := startFake(t, func(args []string) string {
		switch args[0] {
		case "MULTI":
			return "+OK\r\n"
		case "MSETNX":
			return "-ERR unsupported command 'MSETNX'\r\n"
		case "EXEC":
			return "*1\r\n+OK\r\n"
		case "EVALSHA":
			return "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
		}
		return "+QUEUED\r\n"
	})
	r := open(t, "redis://"+f.addr, Config{})
	r.transactions.Store(true)
	for i := range 3 {
		r.starts.score.Store(1)
		req := acquire(fmt.Sprint("k", i), value())
		req.Run, req.Fence.Token = "run", fencing.Token(time.Now().Add(time.Second).UnixMicro())
		failed(t, r.Do(within(t), req), []error{ErrReply, ErrOutOfMemory, ErrOutOfMemory}[i])
	}
}

// TestNoGuessOnASlowLink: there would be no time for the script after a wrong one.
func TestNoGuessOnASlowLink(t *testing.T) {
	usually(t, func(u *usual) {
		for took, guess := range map[time.Duration]bool{time.Millisecond: true, 6 * time.Second: false} {
			u.r.pipe.mu.Lock()
			u.r.pipe.rtt = took
			u.r.pipe.mu.Unlock()
			req := u.startsAt(fmt.Sprint("after ", took), 10*time.Second)
			sent := u.sent(func() {
				var box ballotBox
				box.start(u.r, req, 10*time.Second)
				granted(t, box.await(t, 1)[req.Value])
			})
			require.Equal(t, guess, sent["exec"] == "1", took)
		}
	})
}

// transact executes what the instance sends for a new lock, past it, and returns the replies to
// MSETNX, SET, INCR, and PEXPIRE twice.
func (u *usual) transact(req wire.Request) []any {
	u.Helper()
	c, ctx := u.r.newCall(req), within(u)
	p := u.r.Client().TxPipeline()
	p.Do(ctx, "MSETNX", CounterKey(req.Key), c.token-1, SetKey(req.Key), req.Fence.Set.String()+" 0/0 ?")
	p.Do(ctx, "SET", req.Key, req.Value, "NX", "PX", c.ttl)
	p.Do(ctx, "INCR", CounterKey(req.Key))
	p.Do(ctx, "PEXPIRE", CounterKey(req.Key), 6*c.quarter, "NX")
	p.Do(ctx, "PEXPIRE", SetKey(req.Key), 6*c.quarter, "NX")
	cmds, err := p.Exec(ctx)
	if !errors.Is(err, redis.Nil) {
		require.NoError(u, err)
	}
	replies := make([]any, len(cmds))
	for i, cmd := range cmds {
		replies[i] = cmd.(*redis.Cmd).Val()
	}
	return replies
}

// follow sends the script that follows a transaction.
func (u *usual) follow(req wire.Request, keySet bool) wire.Vote {
	c := u.r.newCall(req)
	c.byScript, c.keySet = true, keySet
	done := make(chan wire.Vote, 1)
	u.r.send(c, 10*time.Second, wire.ReceiverFunc(func(v wire.Vote) { done <- v }))
	return <-done
}

// TestStartTwice: a proxy repeats the transaction, after another holder's raise has come to rely
// on the counter that the first one made.
func TestStartTwice(t *testing.T) {
	usually(t, func(u *usual) {
		a := u.acquire("new")
		granted(t, u.r.Do(within(t), a))
		u.ask("DEL", CounterKey("new"), SetKey("new")) // evicted before the raise
		x := u.startsAt("new", 10*time.Millisecond)
		require.Equal(t, int64(1), u.transact(x)[0])
		raise := request(wire.Raise, "new", a.Value)
		raise.Run, raise.Fence.Token = u.run, fencing.Token(u.now()+5_000_000)
		granted(t, u.r.Do(within(t), raise))
		granted(t, u.r.Do(within(t), request(wire.Release, "new", a.Value)))
		require.Equal(t, int64(0), u.transact(x)[0])
		refused(t, u.follow(x, false))
		u.ask("DEL", "new")
		require.Greater(t, u.grant("new").Token, raise.Fence.Token)
	})
}

// TestEveryCounterHasATTL: also one that INCR made, because the text was there without it.
func TestEveryCounterHasATTL(t *testing.T) {
	for name, meet := range map[string]func(u *usual, req wire.Request){
		"the script is lost": func(u *usual, req wire.Request) {
			u.cannotRunScripts(func() { failed(u.T, u.r.Do(within(u.T), req), ErrPermission) })
		},
		"held": func(u *usual, req wire.Request) {
			u.ask("SET", "k", "theirs", "PX", 60_000)
			refused(u.T, u.r.Do(within(u.T), req))
		},
	} {
		t.Run(name, func(t *testing.T) {
			usually(t, func(u *usual) {
				u.ask("DEL", CounterKey("k"))
				req := u.startsAt("k", 10*time.Second)
				u.forget(req)
				meet(u, req)
				require.Positive(t, u.ask("PTTL", CounterKey("k")))
			})
		})
	}
}

// forget has the client know nothing of a lock.
func (u *usual) forget(req wire.Request) {
	hash := u.r.warm.hash(&req)
	u.r.warm.forget(hash)
	u.r.warm.forget(byScript(hash))
}

// TestStartWithoutTTL: a request whose counter would be gone at once takes the script, which
// refuses it.
func TestStartWithoutTTL(t *testing.T) {
	usually(t, func(u *usual) {
		for _, ttl := range []time.Duration{0, -time.Second} {
			req := u.startsAt("new", 10*time.Second)
			req.Fence.TTL = ttl
			require.False(t, u.r.starts.can(u.r.newCall(req)))
			require.Equal(t, wire.Failed, u.r.Do(within(t), req).Outcome)
			require.Equal(t, int64(0), u.ask("EXISTS", "new", CounterKey("new"), SetKey("new")))
		}
	})
}

// TestNewToThisProcess: locks that are not new take no transactions in vain: neither those that
// another process locked once before, nor those of an earlier run. Those that another process
// locks usually do take transactions.
func TestNewToThisProcess(t *testing.T) {
	for name, test := range map[string]struct {
		before func(u *usual, key string)
		usual  bool
	}{
		"locked by another process": {func(u *usual, key string) {
			granted(u.T, u.r.Do(within(u.T), u.startsAt(key, time.Second)))
			u.ask("DEL", key)
		}, false},
		"locked twice by another process": {func(u *usual, key string) {
			granted(u.T, u.r.Do(within(u.T), u.startsAt(key, time.Second)))
			u.ask("DEL", key)
			u.grant(key)
		}, true},
		"locked in another run": {func(u *usual, key string) { counted(u.ask, key, old, set1.String(), "earlier") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			instancetest.Needs(t, 7, 0, "a transaction makes a counter")
			usually(t, func(u *usual) {
				second := open(t, u.s.URL(), Config{})
				runOf(t, second)
				second.starts.score.Store(mostStarts)
				if test.usual {
					second.starts.score.Store(-mostStarts)
				}
				transactions := 0
				for i := range 100 {
					req := u.acquire(fmt.Sprint("job", i))
					test.before(u, req.Key)
					req.Fence.Token = fencing.Token(u.now() + 1_000_000)
					if u.sent(func() { granted(t, second.Do(within(t), req)) })["exec"] == "1" {
						transactions++
					}
				}
				if test.usual {
					require.Equal(t, 100-mostStarts-1, transactions)
				} else {
					require.Equal(t, mostStarts/2, transactions, "until the guess has changed")
				}
			})
		})
	}
}

// TestForbiddenKey: a lock to whose key the user has no right takes away neither transactions nor
// new locks' ones from others, with fencing or without.
func TestForbiddenKey(t *testing.T) {
	for _, fence := range []bool{true, false} {
		usually(t, func(u *usual) {
			instancetest.Needs(u.T, 7, 0, "a transaction makes a counter")
			u.ask("ACL", "SETUSER", "few", "on", ">x", "allkeys", "&*", "+@all", "resetkeys", "~app:*", "~{app:*", "~{redlock}:served:*")
			r := open(t, "redis://few:x@"+u.s.Addr(), Config{})
			run := runOf(t, r)
			ask := func(key string) (wire.Vote, string) {
				r.starts.score.Store(mostStarts)
				req := u.startsAt(key, 10*time.Second)
				if req.Run = run; !fence {
					req.Fence = wire.Fence{}
				}
				var vote wire.Vote
				sent := u.sent(func() { vote = r.Do(within(t), req) })
				return vote, sent["exec"]
			}
			for i := range 3 {
				vote, _ := ask("other")
				failed(t, vote, ErrPermission)
				vote, transactions := ask(fmt.Sprint("app:", i))
				granted(t, vote)
				require.Equal(t, "1", transactions)
			}
		})
	}
}

// TestServerWithoutOptions: before Redis 7 PEXPIRE takes no NX. The server aborts one transaction,
// and new locks take scripts from then on.
func TestServerWithoutOptions(t *testing.T) {
	transactions := 0
	f := startFake(t, func(args []string) string {
		switch args[0] {
		case "MULTI":
			transactions++
			return "+OK\r\n"
		case "PEXPIRE":
			return "-ERR wrong number of arguments for 'pexpire' command\r\n"
		case "EXEC":
			return "-EXECABORT Transaction discarded because of previous errors.\r\n"
		case "EVALSHA":
			return "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
		}
		return "+QUEUED\r\n"
	})
	r := open(t, "redis://"+f.addr, Config{})
	r.transactions.Store(true)
	for i := range 3 {
		r.starts.score.Store(1)
		req := acquire(fmt.Sprint("k", i), value())
		req.Run, req.Fence.Token = "run", fencing.Token(time.Now().Add(time.Second).UnixMicro())
		failed(t, r.Do(within(t), req), ErrOutOfMemory)
	}
	require.Equal(t, 1, transactions)
	require.True(t, r.transactions.Load())
}
