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

// startsAt is a request for a lock that probably has no counter. It says where one should start:
// so far ahead of the server's clock.
func (u *usual) startsAt(key string, ahead time.Duration) wire.Request {
	u.Helper()
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

// TestLateStart: no token is behind the clock, even if no script follows the transaction, and if
// the lock is restored in between.
func TestLateStart(t *testing.T) {
	for name, test := range map[string]struct{ follows, restored, runless bool }{
		"a script follows":              {true, false, false},
		"no script follows":             {false, false, false},
		"no script follows, restored":   {false, true, false},
		"no script follows, run hidden": {false, false, true},
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
				last := u.grant("late").Token
				require.Greater(t, int64(last), before)
				require.Equal(t, last+1, u.grant("late").Token, "it goes on")
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

// TestHeldNewLock: the script tells for how long, and nothing keeps another set out afterwards.
func TestHeldNewLock(t *testing.T) {
	usually(t, func(u *usual) {
		u.ask("SET", "new", "theirs", "PX", 60_000)
		req := u.startsAt("new", 10*time.Second)
		req.Fence.Set.Name = "another"
		require.InDelta(t, time.Minute, refused(t, u.r.Do(within(t), req)).Remaining, float64(10*time.Second))
		require.Equal(t, "theirs", u.ask("GET", "new"))
		require.Nil(t, u.ask("GET", SetKey("new")))
		require.Equal(t, req.Fence.Token.String(), tokenIn(u.ask, "new"), "the holder may rely on it")
		u.ask("DEL", "new")
		require.Greater(t, u.grant("new").Token, req.Fence.Token)
	})
}

// TestStartTooFarAhead: the counter starts from the clock, and the lock is not blocked.
func TestStartTooFarAhead(t *testing.T) {
	usually(t, func(u *usual) {
		req := u.startsAt("far", time.Hour)
		req.Fence.Ahead = time.Minute
		u.byTransaction(func() {
			vote := granted(t, u.r.Do(within(t), req))
			require.Equal(t, vote.Clock.UnixMicro()+1, int64(vote.Token))
			require.Equal(t, vote.Token.String(), tokenIn(u.ask, "far"))
		})
	})
	// Without the script the counter stays. It settles nothing.
	usually(t, func(u *usual) {
		req := u.startsAt("far", time.Hour)
		req.Fence.Ahead = time.Minute
		u.cannotRunScripts(func() { failed(t, u.r.Do(within(t), req), ErrPermission) })
		u.ask("DEL", "far")
		restore := request(wire.Restore, "far", value())
		restore.Run, restore.Fence.Token, restore.Fence.Ahead = u.run, fencing.Token(u.now()+time.Hour.Microseconds()/2), time.Minute
		failed(t, u.r.Do(within(t), restore), wire.ErrCounter)
	})
}

// TestStartInAnotherRun grants nothing, and leaves nothing that keeps the server's own clients
// out.
func TestStartInAnotherRun(t *testing.T) {
	usually(t, func(u *usual) {
		req := u.startsAt("spilt", time.Second)
		req.Run, req.Fence.Set.Name = "another", "staging"
		require.False(t, failed(t, u.r.Do(within(t), req), wire.ErrOtherRun).Unsent)
		require.Equal(t, req.Value, u.ask("GET", "spilt"))
		require.Equal(t, int64(0), u.ask("EXISTS", CounterKey("spilt"), SetKey("spilt")))
		granted(t, u.r.Do(within(t), request(wire.Release, "spilt", req.Value)))
		u.grant("spilt")
	})
}

// TestUndo: a script that follows a transaction takes back only what nobody can rely on. Another
// counter that is ahead of the clock goes on.
func TestUndo(t *testing.T) {
	for name, test := range map[string]struct {
		text     string // empty: the one of a grant
		theirs   bool   // the key has another value
		made     int64
		restored bool
		undone   bool
	}{
		"as it was left":         {unvouched, false, 1, false, true},
		"made by another client": {unvouched, false, 0, false, false},
		"granted since":          {"", false, 1, false, false},
		"restored since":         {unvouched, false, 1, true, false},
		"of an older set":        {strings.Replace(unvouched, "@7", "@6", 1), false, 1, false, false},
		"the key is another's":   {unvouched, true, 1, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			usually(t, func(u *usual) {
				req := u.acquire("k")
				start := u.startsAt("k", 10*time.Second).Fence.Token
				if u.ask("SET", "k", req.Value, "PX", 60_000); test.theirs {
					u.ask("SET", "k", "theirs", "PX", 60_000)
				}
				u.ask("SET", CounterKey("k"), uint64(start), "KEEPTTL")
				if test.text != "" {
					u.ask("SET", SetKey("k"), test.text, "KEEPTTL")
				}
				if test.restored { // by the round that the request is of, which was won elsewhere
					restore := req
					restore.Op, restore.Fence.Token = wire.Restore, start-1
					granted(t, u.r.Do(within(t), restore))
				}
				c := u.r.newCall(req)
				c.byScript, c.keySet, c.made = true, true, test.made
				done := make(chan wire.Vote, 1)
				u.r.send(c, 10*time.Second, wire.ReceiverFunc(func(v wire.Vote) { done <- v }))
				vote := <-done
				switch {
				case test.theirs:
					refused(t, vote)
					require.Equal(t, start.String(), tokenIn(u.ask, "k"))
					require.Nil(t, u.ask("GET", SetKey("k")))
				case test.undone:
					require.Equal(t, vote.Clock.UnixMicro()+1, int64(granted(t, vote).Token), "from the clock")
				default:
					require.Equal(t, start+1, granted(t, vote).Token, "it goes on")
				}
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
			u.ask("SET", "held", "theirs", "PX", 60_000)
			for i := range 6 {
				req := u.startsAt("held", 10*time.Second)
				if !fence {
					req.Fence = wire.Fence{}
				}
				var vote wire.Vote
				sent := u.sent(func() { vote = refused(t, u.r.Do(within(t), req)) })
				require.Equal(t, i == 0, sent["exec"] == "1", i)
				require.Equal(t, fence || i > 0, vote.Remaining > 0, i)
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
		require.True(t, u.r.starts.can(&req, false))
	})
}

// TestServerWithoutOptions gets no transaction that makes a counter.
func TestServerWithoutOptions(t *testing.T) {
	usually(t, func(u *usual) {
		require.True(t, u.r.starts.options.Load())
		u.ask("ACL", "SETUSER", "default", "-command")
		runOf(t, u.r)
		req := u.startsAt("new", 10*time.Second)
		require.Empty(t, u.sent(func() { granted(t, u.r.Do(within(t), req)) })["exec"])
		u.r.starts.options.Store(true)
		require.True(t, u.r.starts.can(&req, false))
		require.False(t, u.r.starts.can(&req, true), "without Lua nothing could be taken back")
	})
	for arity, options := range map[string]bool{":3\r\n": false, ":-3\r\n": true, "$1\r\n3\r\n": false} {
		null := "*-1\r\n"
		p := &probe{id: &wire.Identity{}, replies: make([]command, len(questions))}
		p.replies[partCommands].reply.raw = []byte("*5\r\n" + null + null + null + null + "*3\r\n" + bulk("pexpire") + arity + "*0\r\n")
		dialect, got := p.commands()
		require.Equal(t, options, got, arity)
		require.Equal(t, DialectLua, dialect)
	}
}

// TestStartIsChecked by the clock of the transaction itself, and by what the server did.
func TestStartIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		late    time.Duration
		replies string // of the start's commands, SET and INCR
		granted bool
		refused bool // no further ones are sent
	}{
		"as it should be":     {-time.Second, ":1\r\n:1\r\n:1\r\n+OK\r\n", true, false},
		"at the clock":        {0, ":1\r\n:1\r\n:1\r\n+OK\r\n", false, false},
		"held":                {-time.Second, ":1\r\n:1\r\n:1\r\n$-1\r\n", false, false},
		"no TTL":              {-time.Second, ":1\r\n:0\r\n:1\r\n+OK\r\n", false, false},
		"the text has none":   {-time.Second, ":1\r\n:1\r\n:0\r\n+OK\r\n", false, false},
		"options not known":   {-time.Second, ":1\r\n-ERR Unsupported option NX\r\n-ERR Unsupported option NX\r\n+OK\r\n", false, true},
		"MSETNX not known":    {-time.Second, "-ERR unknown command\r\n:0\r\n:0\r\n+OK\r\n", false, true},
		"there was a counter": {-time.Second, ":0\r\n:0\r\n:0\r\n+OK\r\n", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			token := fencing.Token(1_800_000_000_000_000)
			req := acquire("new", value())
			req.Run, req.Fence.Token = "run", token
			var nonce, made string
			f := startFake(t, func(args []string) string {
				switch args[0] {
				case "MULTI":
					return "+OK\r\n"
				case "ECHO":
					nonce = args[1]
				case "EXEC":
					clock := time.UnixMicro(int64(token)).Add(test.late)
					return "*9\r\n" + bulk(nonce) + "*2\r\n" + bulk(fmt.Sprint(clock.Unix())) + bulk(fmt.Sprint(clock.Nanosecond()/1000)) +
						bulk("role:master\r\nmaster_replid:run") + "*2\r\n$-1\r\n$-1\r\n" + test.replies + ":" + token.String() + "\r\n"
				case "EVALSHA":
					made = args[len(args)-3]
					return "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
				}
				return "+QUEUED\r\n"
			})
			r := open(t, "redis://"+f.addr, Config{})
			r.transactions.Store(true)
			r.starts.options.Store(true)
			r.starts.score.Store(1)
			vote := r.Do(within(t), req)
			require.Equal(t, test.refused, !r.starts.can(&req, false))
			if test.granted {
				require.Equal(t, token, granted(t, vote).Token)
				require.EqualValues(t, 2, r.starts.score.Load())
				return
			}
			require.Equal(t, name == "held", failed(t, vote, ErrOutOfMemory).Unsent)
			require.Equal(t, strings.HasPrefix(test.replies, ":1"), made == "1", "the script is told")
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
	r.starts.options.Store(true)
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
			u.r.pipe.took = took
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

// TestOnlyTransactionsHash: a lock that no transaction asks for isn't looked up.
func TestOnlyTransactionsHash(t *testing.T) {
	usually(t, func(u *usual) {
		req := u.acquire("k")
		require.NotZero(t, u.r.newCall(req).warmth)
		u.r.transactions.Store(false)
		require.Zero(t, u.r.newCall(req).warmth)
		u.r.transactions.Store(true)
		req.Run = ""
		require.Zero(t, u.r.newCall(req).warmth)
		u.r.warm.note(0, false)
		require.False(t, u.r.warm.has(byScript(0)))
	})
}
