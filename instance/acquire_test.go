//go:build unix

package instance

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// fresh is an instance on a server of its own, with a way to ask the server, and its run.
func fresh(t *testing.T, args ...string) (r *Redis, ask func(...any) any, run wire.Run) {
	t.Helper()
	s := instancetest.Start(t, instancetest.Config{Args: args})
	r = open(t, s.URL(), Config{})
	return r, asker(t, open(t, s.URL(), Config{})), runOf(t, r)
}

// TestAcquire: what a grant and a refusal leave behind.
func TestAcquire(t *testing.T) {
	r, ask, run := fresh(t)
	for _, req := range []wire.Request{acquire("k", value()), bare(acquire("bare", value())), also(acquire("a", value()), "b", "c")} {
		v := granted(t, r.Do(within(t), in(run, req)))
		for i, key := range req.Keys {
			require.Equal(t, req.Value, ask("GET", key))
			require.InDelta(t, 60_000, ask("PTTL", key), 20_000)
			if !req.Fence.On {
				require.Nil(t, counterOf(ask, key))
				continue
			}
			if i == 0 {
				require.Greater(t, v.Token, fencing.Token(v.Clock.UnixMicro()))
			}
			// The clock has passed its tokens by an hour and 15 s when it expires.
			left := time.Duration(ask("PTTL", CounterKey(key)).(int64)) * time.Millisecond
			require.InDelta(t, time.Hour+ahead, left, float64(patience))
		}
		require.Equal(t, len(req.Keys) > 1, v.Keys == 3)

		other := req
		other.Value = value()
		v = refused(t, r.Do(within(t), in(run, other)))
		require.Equal(t, req.Value, v.Holder)
		require.InDelta(t, time.Minute, v.Remaining, float64(patience))
		require.Zero(t, v.Token)
		require.Equal(t, req.Value, ask("GET", req.Keys[0]))
	}
	ask("SET", "forever", "x")
	require.Equal(t, wire.NoExpiry, refused(t, r.Do(within(t), acquire("forever", value()))).Remaining)
	ask("SET", "long", strings.Repeat("x", 100<<10))
	require.Len(t, refused(t, r.Do(within(t), acquire("long", value()))).Holder, 16<<10)
}

// TestSeveralOrNone: of several keys all are set or none, also where the one in the way isn't the first.
func TestSeveralOrNone(t *testing.T) {
	r, ask, run := fresh(t)
	ask("SET", "b", "theirs", "PX", 60_000)
	v := refused(t, r.Do(within(t), in(run, also(acquire("a", value()), "b", "c"))))
	require.EqualValues(t, 2, v.InTheWay)
	require.Equal(t, "theirs", v.Holder)
	require.Zero(t, v.Keys)
	require.EqualValues(t, 0, ask("EXISTS", "a", "c"))
	require.Equal(t, "theirs", ask("GET", "b"))
	ask("DEL", "b")
	ask("RPUSH", "c", "x")
	require.ErrorContains(t, failed(t, r.Do(within(t), also(acquire("a", value()), "b", "c")), ErrWrongType).Err, `"c"`)
	require.EqualValues(t, 0, ask("EXISTS", "a", "b"))
}

// TestSomeAreLeft: where those of several keys that were set can't be deleted again, the vote says that they may be there.
func TestSomeAreLeft(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	s.MustAsk("ACL", "SETUSER", "half", "on", ">pw", "~*", "+@all", "-del")
	s.MustAsk("SET", "b", "theirs")
	v := failed(t, open(t, "redis://half:pw@"+s.Addr(), Config{}).Do(within(t), also(acquire("a", "v"), "b")), ErrServer)
	require.False(t, v.Unsent)
	require.Equal(t, "v", s.MustAsk("GET", "a"))
}

// TestOwnLeftovers: in front of its SET a request deletes its client's own earlier values, and no other.
func TestOwnLeftovers(t *testing.T) {
	r, ask, _ := fresh(t)
	req := acquire("k", value())
	req.Delete = []string{"mine", "mine too"}
	for held, want := range map[string]bool{"mine": true, "mine too": true} {
		ask("SET", "k", held)
		require.Equal(t, want, granted(t, r.Do(within(t), req)).Replaced, held)
		require.Equal(t, req.Value, ask("GET", "k"))
	}
	ask("SET", "k", "theirs")
	require.False(t, refused(t, r.Do(within(t), req)).Replaced)
	require.Equal(t, "theirs", ask("GET", "k"))
	ask("DEL", "k")
	require.False(t, granted(t, r.Do(within(t), req)).Replaced, "nothing was there")

	several := also(acquire("a", value()), "b")
	several.Delete = []string{"mine"}
	ask("SET", "a", "mine")
	require.False(t, granted(t, r.Do(within(t), several)).Replaced, "one of two was there")
	ask("MSET", "a", "mine", "b", "mine")
	require.True(t, granted(t, r.Do(within(t), several)).Replaced)
	ask("MSET", "a", "mine", "b", "theirs")
	require.False(t, refused(t, r.Do(within(t), several)).Replaced)
	require.EqualValues(t, 0, ask("EXISTS", "a"))
}

// TestMayNotRead: a release that may not read the key fails, so that the client tries again; and of several keys that
// can't be looked at, the vote doesn't say that none is left.
func TestMayNotRead(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	s.MustAsk("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all")
	r := open(t, strings.Replace(s.URL(), "redis://", "redis://app:secret@", 1), Config{})
	granted(t, r.Do(within(t), acquire("k", "mine")))
	s.MustAsk("ACL", "SETUSER", "app", "-get")
	failed(t, r.Do(within(t), request(wire.Release, "k", "mine")), ErrPermission)
	require.Equal(t, ":1", s.MustAsk("EXISTS", "k"))
	several := also(acquire("a", "mine"), "k")
	require.False(t, failed(t, r.Do(within(t), several), ErrServer).Unsent)
	require.Equal(t, ":1", s.MustAsk("EXISTS", "a"))
	s.MustAsk("ACL", "SETUSER", "app", "+get")
	require.Equal(t, wire.Granted, r.Do(within(t), request(wire.Release, "k", "mine")).Outcome)
}

// TestLeftoversOfMany: each request deletes its own leftovers, also a value that one before it has set.
func TestLeftoversOfMany(t *testing.T) {
	r, ask, _ := fresh(t)
	ask("MSET", "a", "mine", "b", "theirs", "c", "mine")
	ask("LPUSH", "d", "x")
	reqs := []wire.Request{acquire("a", "v1"), acquire("b", "v2"), acquire("c", "v3"), acquire("d", "v4"), acquire("a", "v5"), acquire("c", "v6")}
	for i, leftovers := range [][]string{{"mine"}, {"mine"}, nil, {"mine"}, {"v1", "other"}, {"mine"}} {
		reqs[i].Delete = leftovers
	}
	got := together(t, r, reqs...)
	require.True(t, granted(t, got[0]).Replaced)
	refused(t, got[1])
	refused(t, got[2]) // the last one's leftovers are there
	require.ErrorIs(t, got[3].Err, ErrWrongType)
	require.True(t, granted(t, got[4]).Replaced)
	require.True(t, granted(t, got[5]).Replaced)
	require.Equal(t, []any{"v5", "theirs", "v6"}, ask("MGET", "a", "b", "c"))
}

// TestNothingComesBetweenDeleteAndSet: a waiter of the same process, whose request goes in the same transaction, doesn't
// get the key of a lease that is resumed.
func TestNothingComesBetweenDeleteAndSet(t *testing.T) {
	r, ask, _ := fresh(t)
	ask("SET", "k", "handed off")
	waiter, resumption := acquire("k", "waiter's"), acquire("k", "resumed")
	resumption.Delete = []string{"handed off"}
	got := together(t, r, waiter, resumption)
	refused(t, got[0])
	require.True(t, granted(t, got[1]).Replaced)
	require.Equal(t, "resumed", ask("GET", "k"))
}

// TestStateBeside: a lock's key or counter of another type, or a counter that is no number, hurts no other
// lock in the same transaction, and the error names the key.
func TestStateBeside(t *testing.T) {
	r, ask, _ := fresh(t)
	now := time.Now().UnixMicro()
	ask("RPUSH", "typed", "x")
	ask("RPUSH", CounterKey("list"), "x")
	ask("SET", CounterKey("text"), "x")
	ask("SET", CounterKey("last"), uint64(1<<63-1))
	ask("SET", CounterKey("ahead"), now+2*ahead.Microseconds())
	ask("SET", CounterKey("poison"), uint64(fencing.MaxToken))
	ask("SET", "taken", "theirs", "PX", 60_000)
	ask("RPUSH", CounterKey("taken"), "x")
	var reqs []wire.Request
	for _, key := range []string{"first", "typed", "list", "text", "last", "ahead", "poison", "taken", "better"} {
		reqs = append(reqs, acquire(key, value()))
	}
	got := map[string]wire.Vote{}
	for i, v := range together(t, r, reqs...) {
		got[reqs[i].Keys[0]] = v
	}
	for _, key := range []string{"first", "better"} {
		granted(t, got[key])
	}
	typed := failed(t, got["typed"], ErrWrongType)
	require.ErrorContains(t, typed.Err, `"typed"`)
	require.True(t, typed.Unsent, "nothing was set")
	require.Equal(t, "theirs", refused(t, got["taken"]).Holder)
	for key, permanent := range map[string]bool{"list": true, "text": true, "last": true, "ahead": false, "poison": true} {
		v := failed(t, got[key], wire.ErrCounter)
		require.False(t, v.Unsent, "the key was set: %s", key)
		require.ErrorContains(t, v.Err, CounterKey(key))
		require.Contains(t, v.Err.Error(), "no sooner, or tokens may fall", "%s: and doesn't just say delete it", key)
		require.Equal(t, permanent, isPermanent(v.Err), key)
	}
	failed(t, r.Do(within(t), request(wire.Look, "typed", "")), ErrWrongType)
	look := failed(t, r.Do(within(t), request(wire.Look, "list", "")), wire.ErrCounter)
	require.ErrorContains(t, look.Err, `"{list}:redlock" holds no token (WRONGTYPE`)
	require.ErrorContains(t, look.Err, "when nobody has held the lock for MaxTTL (30s), and no sooner")
	// Negative ones are as low as any.
	ask("SET", CounterKey("below"), -5)
	v := granted(t, r.Do(within(t), acquire("below", value())))
	require.True(t, v.Low)
	require.Greater(t, v.Token, fencing.Token(now))
}

// TestRepairCommand: the command in the error, which an operator enters, names the counter.
func TestRepairCommand(t *testing.T) {
	r, ask, _ := fresh(t)
	for key, command := range map[string]string{
		"orders:42": ` with redis-cli, at its prompt: DEL "{orders:42}:redlock"`, "\xff\n": ` with redis-cli, at its prompt: DEL "{\xff\n}:redlock"`,
		strings.Repeat("x", 1000): "",
	} {
		ask("SET", CounterKey(key), uint64(fencing.MaxToken-1))
		err := failed(t, r.Do(within(t), acquire(key, "v")), wire.ErrCounter).Err
		require.ErrorContains(t, err, "days ahead of the server's clock")
		require.True(t, strings.HasSuffix(err.Error(), "delete it on this server"+command), "%v", err)
		require.Less(t, len(err.Error()), 600)
	}
	// The advice doesn't tell an operator to delete one that may be in order.
	ask("SET", CounterKey("b"), time.Now().UnixMicro()+8e9)
	err := failed(t, r.Do(within(t), also(acquire("a", "v"), "b")), wire.ErrCounter).Err
	require.ErrorContains(t, err, "of one of the lease's keys")
	require.NotContains(t, err.Error(), "DEL")
}

// TestRefusedBeforeItBegan: a transaction of which a command is refused does nothing. The request says so,
// and others that shared the transaction are sent again.
func TestRefusedBeforeItBegan(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	s.MustAsk("ACL", "SETUSER", "some", "on", ">pw", "~mine*", "~{mine*", "~{redlock}:*", "+@all")
	r := open(t, "redis://some:pw@"+s.Addr(), Config{})
	run := runOf(t, r)
	got := together(t, r, in(run, acquire("mine1", value())), in(run, acquire("theirs", value())), in(run, also(acquire("mine2", value()), "mine3")), in(run, also(acquire("mine4", value()), "theirs")))
	for i, v := range got {
		if i%2 == 0 {
			granted(t, v)
		} else {
			require.True(t, failed(t, v, ErrPermission).Unsent)
		}
	}
	require.Equal(t, ":0", s.MustAsk("EXISTS", "theirs", "mine4", CounterKey("mine4")))
	require.Equal(t, ":3", s.MustAsk("EXISTS", "mine1", "mine2", "mine3"))

	// What all share: each says why.
	s.MustAsk("ACL", "SETUSER", "timeless", "on", ">pw", "~*", "+@all", "-time")
	r = open(t, "redis://timeless:pw@"+s.Addr(), Config{})
	for _, v := range together(t, r, acquire("a", value()), acquire("b", value())) {
		require.True(t, failed(t, v, ErrPermission).Unsent)
		require.ErrorContains(t, v.Err, "time")
	}
	// Without MULTI the commands are carried out one by one. Without EXEC none is. A Probe says it.
	for _, right := range []string{"multi", "exec"} {
		s.MustAsk("ACL", "SETUSER", "single", "reset", "on", ">pw", "~*", "+@all", "-"+right)
		r = open(t, "redis://single:pw@"+s.Addr(), Config{})
		v := failed(t, r.Do(within(t), acquire(right, value())), ErrPermission)
		require.Equal(t, right == "multi", s.MustAsk("EXISTS", right) == ":1")
		require.False(t, v.Unsent && right == "multi", "it was set")
		refused(t, r.Do(within(t), request(wire.Release, right, "v"))) // and not queued
		_, err := r.Probe(within(t), wire.Known{})
		require.ErrorIs(t, err, ErrPermission)
		require.ErrorContains(t, err, strings.ToUpper(right))
	}
}

// TestExecFails: what isn't EXECABORT may have been carried out, and so may what wasn't answered.
func TestExecFails(t *testing.T) {
	for name, c := range map[string]struct {
		at, reply string
		unsent    bool
		kind      error
	}{
		"aborted":               {"EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n", true, ErrServer},
		"another error":         {"EXEC", "-ERR something else\r\n", false, ErrServer},
		"a master no more":      {"EXEC", "-READONLY You can't write against a read only replica.\r\n", false, wire.ErrNotMaster},
		"the wrong number":      {"EXEC", "*1\r\n+OK\r\n", false, ErrReply},
		"nothing":               {"EXEC", "*-1\r\n", false, ErrReply},
		"no answer":             {"EXEC", hangUp, false, ErrConnection},
		"half of one":           {"EXEC", "*6\r\n+OK\r\n" + hangUp, false, ErrConnection},
		"a clock of letters":    {"TIME", "*2\r\n+a\r\n+b\r\n", false, ErrReply},
		"a counter of letters":  {"INCR", "+five\r\n", false, ErrReply},
		"a token beyond tokens": {"INCR", ":9007199254740992\r\n", false, wire.ErrCounter},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, func(args []string) string {
				if args[0] == c.at {
					return c.reply
				}
				return grants(args)
			})
			r := open(t, "redis://"+f.addr, Config{})
			v := failed(t, r.Do(within(t), acquire("k", value())), c.kind)
			require.Equal(t, c.unsent, v.Unsent, "%v", v.Err)
		})
	}
}

// TestJudged: an acquisition in another run than its own, or on a replica, counts for nothing, and says whether
// it has set the keys. Another set in the mark is a failure of its own.
func TestJudged(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{Args: []string{"--replica-read-only", "no"}})
	r := open(t, s.URL(), Config{Name: "s"})
	mark := MarkKey("s")
	probe := func() wire.Run {
		id, err := r.Probe(within(t), wire.Known{Set: set1})
		require.NoError(t, err)
		return id.Run()
	}
	run := probe()
	require.Equal(t, set1.String(), run.Set())
	newer := set1
	newer.Version++
	id, epoch := run.ReplID(), run.Epoch()
	for name, c := range map[string]struct {
		mark string // what the server has, "" for none
		run  wire.Run
		want error
	}{
		"the run":                  {string(run), run, nil},
		"no run":                   {"", "", nil},
		"its bare replication ID":  {"", wire.Run(id), nil},
		"another replication ID":   {string(run), wire.MarkOf(strings.Repeat("0a", 20), epoch, set1.String()), wire.ErrOtherRun},
		"another one, no mark":     {"", wire.Run(strings.Repeat("0a", 20)), wire.ErrOtherRun},
		"its mark is gone":         {"", run, wire.ErrOtherRun},
		"another epoch":            {string(wire.MarkOf(id, epoch+"1", set1.String())), run, wire.ErrOtherRun},
		"the older version's mark": {"process/" + id + "@" + epoch + " 77", run, wire.ErrOtherRun},
		"another set":              {string(wire.MarkOf(id, epoch, newer.String())), run, wire.ErrSetMismatch},
		"no set any more":          {string(wire.MarkOf(id, epoch, "")), run, wire.ErrSetMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			s.MustAsk("DEL", "k", "a", "b", mark)
			if c.mark != "" {
				s.MustAsk("SET", mark, c.mark)
			}
			judged := func(req wire.Request, set bool) {
				t.Helper()
				v := r.Do(within(t), in(c.run, req))
				if c.want == nil && set {
					granted(t, v)
					return
				}
				if c.want == nil {
					refused(t, v)
					return
				}
				require.Equal(t, !set, failed(t, v, c.want).Unsent)
				require.NotErrorIs(t, v.Err, wire.ErrNotMaster)
			}
			judged(acquire("k", value()), true)
			require.Equal(t, ":1", s.MustAsk("EXISTS", "k"), "it is for the caller to delete it")
			judged(acquire("k", value()), false)
			judged(also(bare(acquire("a", value())), "k"), false)
			require.Equal(t, ":0", s.MustAsk("EXISTS", "a"))
			judged(also(acquire("a", value()), "b"), true)
			if c.run == "" {
				return
			}
			// What keeps a lease outlives another set, and does nothing in another run.
			s.MustAsk("SET", "k", "mine", "PX", "5000")
			for _, op := range []wire.Op{wire.Extend, wire.Raise, wire.Restore, wire.Pass, wire.Tick} {
				v := r.Do(within(t), in(c.run, token(request(op, "k", "mine"), old)))
				if c.want == nil || c.want == wire.ErrSetMismatch {
					granted(t, v)
				} else {
					require.True(t, failed(t, v, c.want).Unsent)
				}
			}
			if c.want == wire.ErrOtherRun {
				require.LessOrEqual(t, mustInt(t, s.MustAsk("PTTL", "k")), 5000)
				require.Equal(t, "mine", s.MustAsk("GET", "k"))
			}
		})
	}
	// The errors name what was found.
	s.MustAsk("DEL", "k", "a", "b")
	s.MustAsk("SET", mark, string(wire.MarkOf(id, epoch, newer.String())))
	var mismatch *wire.SetMismatchError
	require.ErrorAs(t, r.Do(within(t), in(run, acquire("k", value()))).Err, &mismatch)
	require.Equal(t, wire.SetMismatchError{Mine: set1, Theirs: newer.String()}, *mismatch)
	s.MustAsk("SET", mark, string(wire.MarkOf(id, epoch+"1", set1.String())))
	for _, op := range []wire.Op{wire.Acquire, wire.Extend} {
		var other *wire.RunError
		require.ErrorAs(t, r.Do(within(t), in(run, request(op, "k", value()))).Err, &other)
		require.Equal(t, wire.RunError{Asked: run, Found: wire.MarkOf(id, epoch+"1", set1.String()), Role: "master"}, *other)
	}

	// A promotion changes the replication ID; a mark that was copied doesn't vouch for the new one.
	s.MustAsk("SET", mark, string(run))
	s.MustAsk("REPLICAOF", "127.0.0.1", "1")
	for _, op := range []wire.Op{wire.Acquire, wire.Extend, wire.Raise, wire.Restore, wire.Pass, wire.Tick} {
		for _, run := range []wire.Run{run, wire.Run(id)} { // it still has its old replication ID
			v := failed(t, r.Do(within(t), in(run, token(request(op, "writable", value()), old))), wire.ErrOtherRun)
			require.ErrorIs(t, v.Err, wire.ErrNotMaster, "writable or not")
			require.Equal(t, op != wire.Acquire || run != in(run, wire.Request{}).Run || mustInt(t, s.MustAsk("EXISTS", "writable")) == 0, v.Unsent)
			s.MustAsk("DEL", "writable")
		}
	}
	s.MustAsk("REPLICAOF", "NO", "ONE")
	s.MustAsk("SET", mark, string(run))
	v := failed(t, r.Do(within(t), in(run, acquire("promoted", value()))), wire.ErrOtherRun)
	require.NotErrorIs(t, v.Err, wire.ErrNotMaster)
	require.False(t, v.Unsent)
}

func mustInt(t testing.TB, reply string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(reply, ":"))
	require.NoError(t, err)
	return n
}

// TestTokenOf: the token of counters that were counted to n, on a server whose clock is at 1000 s.
func TestTokenOf(t *testing.T) {
	const now, most = 1_000_000_000, 1_000_000_000 + 15_000_000
	counted := func(n int64) *slot { return &slot{n: n} }
	made := func(n int64, expires string) *slot { return &slot{n: n, made: true, expires: expires} }
	for name, c := range map[string]struct {
		slots     []*slot
		f         wire.Fence
		token     fencing.Token
		low, fail bool
	}{
		"above the floor":                    {[]*slot{counted(501)}, wire.Fence{Floor: 500}, 501, false, false},
		"at the floor":                       {[]*slot{counted(500)}, wire.Fence{Floor: 500}, now + 1, true, false},
		"at the floor, with a start":         {[]*slot{counted(500)}, wire.Fence{Floor: 500, Token: now + 77}, now + 77, true, false},
		"a start behind the clock":           {[]*slot{counted(500)}, wire.Fence{Floor: 500, Token: now - 77}, now + 1, true, false},
		"a start too far ahead":              {[]*slot{counted(500)}, wire.Fence{Floor: 500, Token: most + 1}, now + 1, true, false},
		"below a floor that is ahead":        {[]*slot{counted(now + 5)}, wire.Fence{Floor: now + 10}, now + 5, false, false},
		"at the clock, below the floor":      {[]*slot{counted(now)}, wire.Fence{Floor: now + 10}, now + 1, true, false},
		"negative":                           {[]*slot{counted(-3)}, wire.Fence{Floor: 500}, now + 1, true, false},
		"new, above the clock":               {[]*slot{made(now+3, "PXAT")}, wire.Fence{Floor: 1}, now + 3, false, false},
		"new, at the clock":                  {[]*slot{made(now, "PXAT")}, wire.Fence{Floor: 1}, now + 1, true, false},
		"new, and expires after a time":      {[]*slot{made(now+3, "PX")}, wire.Fence{Floor: 1}, now + 3, true, false},
		"as far ahead as it may be":          {[]*slot{counted(most)}, wire.Fence{Floor: 1}, most, false, false},
		"too far ahead":                      {[]*slot{counted(most + 1)}, wire.Fence{Floor: 1}, 0, false, true},
		"several, none low":                  {[]*slot{counted(700), counted(900), counted(800)}, wire.Fence{Floor: 500}, 900, true, false},
		"several, all at one":                {[]*slot{counted(900), counted(900)}, wire.Fence{Floor: 500}, 900, false, false},
		"several, one low":                   {[]*slot{counted(900), counted(400)}, wire.Fence{Floor: 500}, now + 1, true, false},
		"several, one too far ahead":         {[]*slot{counted(900), counted(most + 1)}, wire.Fence{Floor: 500}, 0, false, true},
		"several, the largest is in the way": {[]*slot{counted(now + 9), counted(400)}, wire.Fence{Floor: 500}, now + 9, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.f.Ahead = ahead
			token, low, err := tokenOf(c.slots, &c.f, time.UnixMicro(now))
			require.Equal(t, c.fail, err != nil, "%v", err)
			require.Equal(t, c.token, token)
			require.Equal(t, c.low, low)
		})
	}
	// At the end of tokens none is left.
	_, _, err := tokenOf([]*slot{counted(5)}, &wire.Fence{Floor: 500, Ahead: ahead}, time.UnixMicro(int64(fencing.MaxToken)))
	require.ErrorIs(t, err, wire.ErrCounter)
	require.True(t, err.Permanent())
	require.ErrorContains(t, err, "the server's clock is in the year 2255")
}

// TestNewCounters: where counters start that don't exist, and when they expire.
func TestNewCounters(t *testing.T) {
	instancetest.Needs(t, 6, 2, "SET has PXAT")
	r, ask, _ := fresh(t)
	clock := func() fencing.Token { return fencing.Token(time.Now().UnixMicro()) }
	second := fencing.Token(1e6)

	// Where the request says, and that long beyond.
	start := clock() + 9*second
	v := granted(t, r.Do(within(t), token(acquire("start", value()), start)))
	require.Equal(t, start, v.Token)
	require.False(t, v.Low)
	left := time.Duration(ask("PTTL", CounterKey("start")).(int64)+1) * time.Millisecond
	require.False(t, time.Now().Add(left).Before(time.UnixMicro(int64(start)-1).Add(time.Hour+ahead).Truncate(time.Millisecond)), "its tokens are in the past when it expires")
	require.EqualValues(t, uint64(start), mustInt(t, counterOf(ask, "start").(string)))

	// At the clock, without a start or with one that is too far ahead.
	for key, start := range map[string]fencing.Token{"none": 0, "far": clock() + 1000*second} {
		before := clock()
		v := granted(t, r.Do(within(t), token(acquire(key, value()), start)))
		require.Greater(t, v.Token, before)
		require.Less(t, v.Token, clock()+second)
		require.Positive(t, ask("PTTL", CounterKey(key)))
	}

	// Without PXAT, or without an idea of the clock: it is low, and expires after a time.
	for what, forget := range map[string]func(){
		"an old server": func() { r.expiresAt.Store(false) },
		"no clock":      func() { r.expiresAt.Store(true); r.clock.last.Store(nil) },
	} {
		forget()
		v := granted(t, r.Do(within(t), token(acquire(what, value()), start)))
		require.True(t, v.Low, what)
		require.GreaterOrEqual(t, v.Token, start)
		require.InDelta(t, (time.Hour + ahead).Milliseconds(), ask("PTTL", CounterKey(what)), float64(patience.Milliseconds()))
		// So the next request lifts it, too.
		ask("DEL", what)
		if what == "no clock" {
			require.True(t, granted(t, r.Do(within(t), acquire(what, value()))).Low)
		}
	}
	for version, want := range map[string]bool{"6.2.0": true, "6.1.9": false, "7.0.15": true, "10.0": true, "5.0.9": false, "": false, "x": false, "255.255.255": true} {
		require.Equal(t, want, knowsPXAT(version), version)
	}
}

// TestServerClock: the guess of a server's clock goes on with this client's clocks, while these agree.
func TestServerClock(t *testing.T) {
	var c serverClock
	f := &wire.Fence{Ahead: ahead}
	at := drift.Instant{Mono: time.Hour, Wall: time.Unix(1e9, 0)}
	later := func(mono, wall time.Duration) drift.Instant {
		return drift.Instant{Mono: at.Mono + mono, Wall: at.Wall.Add(wall)}
	}
	start, known := c.start(f, at)
	require.Equal(t, []any{int64(1), false}, []any{start, known})
	c.saw(time.Time{}, at) // it told none
	_, known = c.start(f, at)
	require.False(t, known)
	c.saw(time.Unix(2000, 0), at)
	for _, test := range []struct {
		mono, wall time.Duration
		token      fencing.Token
		want       int64 // 0: unknown
	}{
		{0, 0, 0, 2000e6},
		{time.Second, time.Second, 0, 2001e6},
		{time.Second, time.Second, 2016e6, 2016e6},     // as far ahead as it may be
		{time.Second, time.Second, 2016e6 + 1, 2001e6}, // further
		{time.Second, time.Minute, 0, 0},               // suspended
		{time.Minute, time.Second, 2001e6, 0},          // or its wall clock was set back
		{time.Second, time.Second + suspended, 0, 2001e6},
		{time.Second, time.Second + suspended + 1, 0, 0},
	} {
		start, known := c.start(&wire.Fence{Ahead: ahead, Token: test.token}, later(test.mono, test.wall))
		require.Equal(t, test.want > 0, known, "%+v", test)
		require.Equal(t, max(test.want, 1), start, "%+v", test)
	}
}

// TestLargeTransactions: as many requests as fit into one, about as many keys as there may be.
func TestLargeTransactions(t *testing.T) {
	r, ask, run := fresh(t)
	var reqs []wire.Request
	for i := range maxBatch {
		req := in(run, acquire(fmt.Sprintf("k%02d.00", i), value()))
		for j := 1; j < wire.MaxKeys; j++ {
			req.Keys = append(req.Keys, fmt.Sprintf("k%02d.%02d", i, j))
		}
		reqs = append(reqs, req)
	}
	for _, v := range together(t, r, reqs...) {
		require.EqualValues(t, wire.MaxKeys, granted(t, v).Keys)
	}
	for _, v := range together(t, r, reqs...) {
		refused(t, v)
	}
	require.EqualValues(t, 2*maxBatch*wire.MaxKeys+1, ask("DBSIZE"))
}
