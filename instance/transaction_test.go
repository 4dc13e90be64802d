//go:build unix

package instance

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// usual is a server on which the lock "k" was granted in this run, so that the next grant is by a
// transaction.
type usual struct {
	*testing.T
	r    *Redis
	s    *instancetest.Server
	ask  func(...any) any
	run  wire.Run
	last fencing.Token
}

// usually runs a test on such a server.
func usually(t *testing.T, test func(u *usual)) {
	r, s := real(t, Config{})
	u := &usual{T: t, r: r, s: s, ask: asker(t, r), run: runOf(t, r)}
	u.last = u.grant("k").Token
	test(u)
}

func (u *usual) acquire(key string) wire.Request {
	req := acquire(key, value())
	req.Run = u.run
	return req
}

// grant takes the lock, and releases it.
func (u *usual) grant(key string) wire.Vote {
	u.Helper()
	req := u.acquire(key)
	v := granted(u, u.r.Do(within(u), req))
	require.Equal(u, req.Value, u.ask("GET", key))
	granted(u, u.r.Do(within(u), request(wire.Release, key, req.Value)))
	return v
}

var calls = regexp.MustCompile(`cmdstat_(\w+):calls=(\d+)`)

// sent counts the commands that the server ran while f ran.
func (u *usual) sent(f func()) map[string]string {
	u.s.MustAsk("CONFIG", "RESETSTAT")
	f()
	sent := map[string]string{}
	for _, match := range calls.FindAllStringSubmatch(u.s.MustAsk("INFO", "commandstats"), -1) {
		sent[match[1]] = match[2]
	}
	return sent
}

// byTransaction demands that f began with a transaction.
func (u *usual) byTransaction(f func()) {
	u.Helper()
	require.Equal(u, "1", u.sent(f)["exec"], "transactions")
}

// TestUsualGrantTakesNoScript: it counts by one, and the server runs no Lua.
func TestUsualGrantTakesNoScript(t *testing.T) {
	usually(t, func(u *usual) {
		req := u.acquire("k")
		sent := u.sent(func() {
			v := granted(t, u.r.Do(within(t), req))
			require.Equal(t, u.last+1, v.Token)
			require.WithinDuration(t, time.Now(), v.Clock, 10*time.Second)
		})
		require.Equal(t, "1", sent["exec"])
		require.Empty(t, sent["evalsha"]+sent["eval"])
		require.Equal(t, req.Value, u.ask("GET", "k"))
		require.InDelta(t, req.TTL.Milliseconds(), u.ask("PTTL", "k"), 5000)
		require.Equal(t, (u.last + 1).String(), tokenIn(u.ask, "k"))
	})
}

// TestUsualGrantWithoutFencing sets the key and nothing else.
func TestUsualGrantWithoutFencing(t *testing.T) {
	usually(t, func(u *usual) {
		for i := range 2 {
			req := u.acquire("bare")
			req.Fence = wire.Fence{}
			sent := u.sent(func() { granted(t, u.r.Do(within(t), req)) })
			require.Equal(t, i == 1, sent["exec"] == "1", "the first one finds out")
			require.Equal(t, int64(1), u.ask("EXISTS", "bare"))
			require.Nil(t, tokenIn(u.ask, "bare"))
			granted(t, u.r.Do(within(t), request(wire.Release, "bare", req.Value)))
		}
	})
}

// TestManyUsualGrantsTravelTogether: one transaction for all, whatever some of them find.
func TestManyUsualGrantsTravelTogether(t *testing.T) {
	usually(t, func(u *usual) {
		const n = 100
		last := make([]fencing.Token, n)
		key := func(i int) string { return fmt.Sprint("k", i) }
		for i := range n {
			last[i] = u.grant(key(i)).Token
		}
		u.ask("SET", key(7), "theirs", "PX", 60_000)
		u.ask("DEL", CounterKey(key(17)))
		u.ask("DEL", CounterKey(key(67)))
		u.ask("SET", CounterKey(key(27)), "x")
		counted(u.ask, key(37), old, set1.String(), "earlier")
		var box ballotBox
		reqs := make([]wire.Request, n)
		send := func() {
			u.r.pipe.mu.Lock()
			u.r.pipe.starting += maxInFlight // as if the maximum number of batches were in flight
			u.r.pipe.mu.Unlock()
			for i := range n {
				if i == n-1 {
					u.r.pipe.mu.Lock()
					u.r.pipe.starting -= maxInFlight
					u.r.pipe.mu.Unlock()
				}
				reqs[i] = u.acquire(key(i))
				switch i {
				case 57:
					reqs[i].Run = "earlier"
				case 47:
					reqs[i].Fence.Set.Version++
				}
				u.r.warm.note(u.r.warm.hash(&reqs[i]), true)
				box.start(u.r, reqs[i], 10*time.Second)
			}
		}
		var votes map[string]wire.Vote
		sent := u.sent(func() { send(); votes = box.await(t, n) })
		require.Equal(t, "1", sent["exec"])
		for i, req := range reqs {
			vote := votes[req.Value]
			switch i {
			case 7:
				refused(t, vote)
				require.Equal(t, "theirs", u.ask("GET", req.Key))
				continue
			case 17, 37:
				require.GreaterOrEqual(t, int64(granted(t, vote).Token), vote.Clock.UnixMicro(), "from the clock")
			case 27:
				failed(t, vote, wire.ErrCounter)
				require.Nil(t, u.ask("GET", req.Key))
				continue
			case 57:
				failed(t, vote, wire.ErrOtherRun)
				continue
			case 67:
				// After the reply for another run the connection is closed.
				require.ErrorIs(t, failed(t, vote, ErrConnection).Err, errOtherRuns)
				continue
			case 47:
				granted(t, vote)
				require.Contains(t, u.ask("GET", SetKey(req.Key)), req.Fence.Set.String(), "the script takes the newer set down")
			default:
				require.Equal(t, last[i]+1, granted(t, vote).Token)
			}
			require.Equal(t, req.Value, u.ask("GET", req.Key))
		}
	})
}

// TestHeldLockIsRefusedByATransaction: the key stays as it is. The next refusal has its remaining
// time.
func TestHeldLockIsRefusedByATransaction(t *testing.T) {
	usually(t, func(u *usual) {
		u.ask("SET", "k", "theirs", "PX", 60_000)
		u.byTransaction(func() { refused(t, u.r.Do(within(t), u.acquire("k"))) })
		sent := u.sent(func() {
			require.InDelta(t, time.Minute, refused(t, u.r.Do(within(t), u.acquire("k"))).Remaining, float64(10*time.Second))
		})
		require.Empty(t, sent["exec"])
		require.Equal(t, "theirs", u.ask("GET", "k"))
		require.Equal(t, (u.last + 1).String(), tokenIn(u.ask, "k"), "counted for nothing, once")
	})
}

// TestTransactionBesideAnotherText grants nothing: the script decides.
func TestTransactionBesideAnotherText(t *testing.T) {
	mine := set1.String()
	older := set1
	older.Version--
	for name, test := range map[string]struct {
		text  func(now string) any // nil: none
		clock bool                 // the next token is from the clock
	}{
		"an earlier run":    {func(now string) any { return now[:strings.LastIndex(now, " ")] + " earlier" }, true},
		"no run":            {func(now string) any { return now[:strings.LastIndex(now, " ")] + " " }, true},
		"an earlier period": {func(now string) any { return regexp.MustCompile(`/\d+ `).ReplaceAllString(now, "/1 ") }, false},
		"an older set":      {func(now string) any { return strings.Replace(now, mine, older.String(), 1) }, false},
		"none":              {func(string) any { return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			usually(t, func(u *usual) {
				text := test.text(u.ask("GET", SetKey("k")).(string))
				u.ask("SET", CounterKey("k"), uint64(old), "KEEPTTL")
				if text == nil {
					u.ask("DEL", SetKey("k"))
				} else {
					u.ask("SET", SetKey("k"), text, "PX", 77_777)
				}
				u.byTransaction(func() {
					v := u.grant("k")
					if test.clock {
						require.GreaterOrEqual(u, int64(v.Token), v.Clock.UnixMicro())
						return
					}
					require.Greater(u, v.Token, old)
					require.LessOrEqual(u, v.Token, old+2)
				})
				require.InDelta(u, 5_400_000, u.ask("PTTL", CounterKey("k")), 10_000)
				u.byTransaction(func() { u.grant("k") })
			})
		})
	}
	t.Run("another set", func(t *testing.T) {
		usually(t, func(u *usual) {
			counted(u.ask, "k", old, "other@1 N=3 Q=2 MaxTTL=30s", string(u.run))
			u.byTransaction(func() {
				v := u.r.Do(within(t), u.acquire("k"))
				require.Equal(t, wire.Refused, v.Outcome)
				require.ErrorIs(t, v.Err, wire.ErrSetMismatch)
			})
			require.Nil(t, u.ask("GET", "k"), "what the transaction set is deleted")
			require.Empty(t, u.sent(func() { u.r.Do(within(t), u.acquire("k")) })["exec"], "it writes nothing more there")
		})
	})
}

// TestTransactionOnALostCounter grants nothing, even if the counter was counted since.
func TestTransactionOnALostCounter(t *testing.T) {
	for _, since := range []any{nil, 0, 1, 41, int64(lostBelow) - 10} {
		usually(t, func(u *usual) {
			if since == nil {
				u.ask("DEL", CounterKey("k"))
			} else {
				u.ask("SET", CounterKey("k"), since, "KEEPTTL")
			}
			u.byTransaction(func() {
				v := u.grant("k")
				require.Equal(t, v.Clock.UnixMicro()+1, int64(v.Token), "from the clock")
			})
		})
	}
	// A refused grant counts a lost counter. The next grant sees that it was lost.
	usually(t, func(u *usual) {
		u.ask("DEL", CounterKey("k"))
		u.ask("SET", "k", "theirs")
		u.byTransaction(func() { refused(t, u.r.Do(within(t), u.acquire("k"))) })
		require.Equal(t, "1", tokenIn(u.ask, "k"))
		u.ask("DEL", "k")
		require.Greater(t, u.grant("k").Token, u.last)
	})
}

// TestTransactionOnABadCounter: the script reports the fault, and the lock is free.
func TestTransactionOnABadCounter(t *testing.T) {
	for _, counter := range []any{"x", "-5", "99999999999999999999", uint64(fencing.MaxToken), uint64(time.Now().Add(time.Hour).UnixMicro())} {
		usually(t, func(u *usual) {
			u.ask("SET", CounterKey("k"), counter, "KEEPTTL")
			u.byTransaction(func() {
				v := failed(t, u.r.Do(within(t), u.acquire("k")), wire.ErrCounter)
				require.True(t, v.Unsent, "nothing is left to delete")
			})
			require.Nil(t, u.ask("GET", "k"))
		})
	}
	usually(t, func(u *usual) {
		u.ask("DEL", CounterKey("k"))
		u.ask("RPUSH", CounterKey("k"), "x")
		u.byTransaction(func() { failed(t, u.r.Do(within(t), u.acquire("k")), ErrWrongType) })
		require.Nil(t, u.ask("GET", "k"))
	})
}

// TestTransactionInAnotherRun: its vote doesn't count, and says that the key may be set.
func TestTransactionInAnotherRun(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}})
	r := open(t, s.URL(), Config{})
	u := &usual{T: t, r: r, s: s, ask: asker(t, r), run: runOf(t, r)}
	u.last = u.grant("k").Token
	s.Kill()
	s.Restart()
	req := u.acquire("k")
	u.byTransaction(func() {
		v := failed(t, r.Do(within(t), req), wire.ErrOtherRun)
		require.False(t, v.Unsent)
	})
	require.Equal(t, req.Value, u.ask("GET", "k"))
	granted(t, r.Do(within(t), request(wire.Release, "k", req.Value)))
	u.run = runOf(t, r)
	v := u.grant("k")
	require.GreaterOrEqual(t, int64(v.Token), v.Clock.UnixMicro(), "from the clock")

	// The mark is compared, too, and the role of the server.
	usually(t, func(u *usual) {
		mark := u.ask("GET", MarkKey(u.r.Name())).(string)
		epoch := u.run.Epoch()
		u.ask("SET", MarkKey(u.r.Name()), strings.ReplaceAll(mark, epoch, "1"+epoch))
		v := failed(t, u.r.Do(within(t), u.acquire("k")), wire.ErrOtherRun)
		require.False(t, v.Unsent)
		u.ask("DEL", MarkKey(u.r.Name()), "k")
		failed(t, u.r.Do(within(t), u.acquire("k")), wire.ErrOtherRun)
	})
}

// TestAbortedTransaction has done nothing. The script says why, or grants the lock.
func TestAbortedTransaction(t *testing.T) {
	usually(t, func(u *usual) {
		u.s.MustAsk("CONFIG", "SET", "maxmemory", "1")
		v := failed(t, u.r.Do(within(t), u.acquire("k")), ErrOutOfMemory)
		require.True(t, v.Unsent)
		require.Nil(t, u.ask("GET", "k"))
		require.Equal(t, u.last.String(), tokenIn(u.ask, "k"))
		u.s.MustAsk("CONFIG", "SET", "maxmemory", "0")
		require.Empty(t, u.sent(func() { u.grant("k") })["exec"], "not before the next Probe")
		runOf(t, u.r)
		u.byTransaction(func() { u.grant("k") })
	})
	// A user without one of a transaction's rights.
	for _, right := range []string{"mget", "echo", "multi", "exec"} {
		s := instancetest.Start(t, instancetest.Config{})
		s.MustAsk("ACL", "SETUSER", "half", "on", ">pw", "~*", "&*", "+@all")
		r := open(t, "redis://half:pw@"+s.Addr(), Config{})
		u := &usual{T: t, r: r, s: s, ask: asker(t, open(t, s.URL(), Config{})), run: runOf(t, r)}
		u.grant("k")
		s.MustAsk("ACL", "SETUSER", "half", "-"+right)
		req := u.acquire("k")
		if right == "multi" {
			v := u.r.Do(within(t), req)
			require.Equal(t, wire.Failed, v.Outcome, right)
			require.Equal(t, u.ask("GET", "k") == nil, v.Unsent, "%s: %v", right, v.Err)
			u.ask("DEL", "k")
			runOf(t, r)
			req = u.acquire("k")
		}
		granted(t, u.r.Do(within(t), req))
	}
}

// TestFailedTransaction: an error other than an abort may mean that all was done.
func TestFailedTransaction(t *testing.T) {
	usually(t, func(u *usual) {
		f := startFake(t, func(args []string) string {
			switch args[0] {
			case "MULTI":
				return "+OK\r\n"
			case "EXEC":
				return "-ERR the server behind this proxy is gone\r\n"
			}
			return "+QUEUED\r\n"
		})
		r := open(t, "redis://"+f.addr, Config{})
		req := u.acquire("k")
		r.transactions.Store(true)
		r.warm.note(r.warm.hash(&req), true)
		require.False(t, failed(t, r.Do(within(t), req), ErrServer).Unsent)
		require.Equal(t, "EXEC", f.commands()[len(f.commands())-1][0], "and nothing is sent again")
	})
}

// TestScriptThatCannotFollow: the server refuses the script, which did nothing, but the transaction
// before it has set the key.
func TestScriptThatCannotFollow(t *testing.T) {
	usually(t, func(u *usual) {
		var nonce string
		f := startFake(t, func(args []string) string {
			switch args[0] {
			case "MULTI":
				return "+OK\r\n"
			case "ECHO":
				nonce = args[1]
			case "EXEC":
				return "*6\r\n" + bulk(nonce) + "*2\r\n" + bulk("1800000000") + bulk("1") + bulk("role:master\r\nmaster_replid:"+u.run.ReplID()) +
					"*2\r\n" + bulk("x/"+string(u.run)+" 1") + bulk("another text") + "+OK\r\n:1800000000000001\r\n"
			case "EVALSHA":
				return "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
			}
			return "+QUEUED\r\n"
		})
		r := open(t, "redis://"+f.addr, Config{})
		req := u.acquire("k")
		r.transactions.Store(true)
		r.warm.note(r.warm.hash(&req), true)
		require.False(t, failed(t, r.Do(within(t), req), ErrOutOfMemory).Unsent)
	})
}

// TestSetOutsideATransaction: a server that refuses MULTI carries out the next commands at once,
// and the vote says so.
func TestSetOutsideATransaction(t *testing.T) {
	usually(t, func(u *usual) {
		f := startFake(t, func(args []string) string {
			switch args[0] {
			case "MULTI", "EXEC":
				return "-NOPERM this user has no permissions to run the '" + args[0] + "' command\r\n"
			case "SET":
				return "+OK\r\n"
			case "INCR":
				return ":1800000000000000\r\n"
			}
			return "$1\r\nx\r\n"
		})
		r := open(t, "redis://"+f.addr, Config{})
		req := u.acquire("k")
		r.transactions.Store(true)
		r.warm.note(r.warm.hash(&req), true)
		require.False(t, failed(t, r.Do(within(t), req), ErrReply).Unsent)
	})
}

// TestWarmIsOfOneLock: locks share the slots of warm, and none is taken for another one.
func TestWarmIsOfOneLock(t *testing.T) {
	var w warm
	r, _ := mini(t, Config{})
	w.seed = r.warm.seed
	req, other := acquire("k", "v"), acquire("k", "v")
	other.Run = "another"
	w.note(w.hash(&req), true)
	require.True(t, w.has(w.hash(&req)))
	require.False(t, w.has(w.hash(&other)))
	for i := range 10 * len(w.places) {
		another := acquire(fmt.Sprint("k", i), "v")
		require.False(t, w.has(w.hash(&another)))
		w.note(w.hash(&another), true)
		w.note(w.hash(&another), false)
	}
	w.note(w.hash(&req), true)
	w.note(w.hash(&other), false)
	require.True(t, w.has(w.hash(&req)), "another request's refusal")
	other = req
	other.Fence.Set.Version++
	require.False(t, w.has(w.hash(&other)))
}
