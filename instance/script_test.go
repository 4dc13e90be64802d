//go:build unix

package instance

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// TestLift: a raise and a restore lift counters and lower none, prolong their life and don't shorten it, and change
// nothing where they are refused.
func TestLift(t *testing.T) {
	r, ask, _ := fresh(t)
	const hour = int64(3600_000)
	now := fencing.Token(time.Now().UnixMicro())
	life := func(key string) int64 { return ask("PTTL", CounterKey(key)).(int64) }
	for _, op := range []wire.Op{wire.Raise, wire.Restore} {
		for name, c := range map[string]struct {
			counter any // nil: none
			ttl     int64
			token   fencing.Token
			want    string
			lives   int64 // at least
		}{
			"lives on":                       {uint64(old), 50 * hour, old + 5, (old + 5).String(), 50 * hour},
			"isn't lowered and lives on":     {uint64(old + 9), 50 * hour, old + 5, (old + 9).String(), 50 * hour},
			"is new":                         {nil, 0, old, old.String(), hour + 15_000},
			"lived forever":                  {uint64(old), 0, old + 5, (old + 5).String(), hour},
			"was negative":                   {-5, hour, old, old.String(), hour + 15_000},
			"is as far ahead as it ever was": {uint64(now + 1e12), hour, old, (now + 1e12).String(), hour + 15_000},
		} {
			t.Run(fmt.Sprint(op, " ", name), func(t *testing.T) {
				ask("FLUSHALL")
				ask("SET", "k", "mine", "PX", 5000)
				if c.counter != nil {
					ask("SET", CounterKey("k"), c.counter)
				}
				if c.ttl > 0 {
					ask("PEXPIRE", CounterKey("k"), c.ttl)
				}
				granted(t, r.Do(within(t), token(request(op, "k", "mine"), c.token)))
				require.Equal(t, c.want, counterOf(ask, "k"))
				require.InDelta(t, max(c.lives, hour+15_000), life("k"), float64(patience.Milliseconds()))
				require.GreaterOrEqual(t, life("k")+patience.Milliseconds(), c.lives)
			})
		}
		for name, c := range map[string]struct {
			value, counter string
			token          fencing.Token
			err            error
		}{
			"another's key":        {"theirs", old.String(), old + 5, nil},
			"too far ahead":        {"mine", old.String(), now + 1000_000_000, wire.ErrCounter},
			"a text":               {"mine", "x", old, wire.ErrCounter},
			"a number to Lua":      {"mine", "0x5af3107a4000.8", old, wire.ErrCounter},
			"another number to it": {"mine", "1.50000000000e15", old, wire.ErrCounter},
			"nearly a number":      {"mine", " 150000000000000", old, wire.ErrCounter},
			"nothing":              {"mine", "", old, wire.ErrCounter},
			"too large":            {"mine", "99999999999999999999", old, wire.ErrCounter},
		} {
			t.Run(fmt.Sprint(op, " ", name), func(t *testing.T) {
				ask("FLUSHALL")
				ask("MSET", "a", "mine", "k", c.value, CounterKey("a"), uint64(old), CounterKey("k"), c.counter)
				ask("PEXPIRE", "a", 5000)
				for _, req := range []wire.Request{token(request(op, "k", "mine"), c.token), also(token(request(op, "a", "mine"), c.token), "k")} {
					v := r.Do(within(t), req)
					if c.err == nil {
						refused(t, v)
					} else {
						require.True(t, failed(t, v, c.err).Unsent || !strings.Contains(v.Err.Error(), "ahead"))
					}
				}
				require.Equal(t, []any{"mine", c.value, old.String(), c.counter}, ask("MGET", "a", "k", CounterKey("a"), CounterKey("k")))
				require.LessOrEqual(t, ask("PTTL", "a"), int64(5000))
			})
		}
		ask("FLUSHALL")
		ask("SET", "k", "mine")
		late := token(request(op, "k", "mine"), now+1800_000_000)
		late.Fence.Ahead = time.Hour
		granted(t, r.Do(within(t), late))
		require.InDelta(t, 2*hour+hour/2, life("k"), float64(patience.Milliseconds()))
		ask("FLUSHALL")
		ask("SET", "k", "mine")
		ask("RPUSH", CounterKey("k"), "x")
		failed(t, r.Do(within(t), token(request(op, "k", "mine"), old)), wire.ErrCounter)
		ask("DEL", "k")
		ask("RPUSH", "k", "x")
		failed(t, r.Do(within(t), token(request(op, "k", "mine"), old)), ErrWrongType)
	}
	ask("FLUSHALL")
	refused(t, r.Do(within(t), token(request(wire.Raise, "k", "mine"), old)))
	require.EqualValues(t, 0, ask("DBSIZE"), "a raise sets nothing")
	// A restore sets what is missing, and gives the rest the whole time; less than that isn't more.
	ask("SET", "b", "mine", "PX", 5000)
	ask("SET", "c", "mine", "PX", 500_000)
	ask("SET", "d", "mine")
	granted(t, r.Do(within(t), also(token(request(wire.Restore, "a", "mine"), old), "b", "c", "d")))
	for key, want := range map[string]int64{"a": 60_000, "b": 60_000, "c": 500_000} {
		require.InDelta(t, want, ask("PTTL", key), float64(patience.Milliseconds()), key)
		require.Equal(t, "mine", ask("GET", key))
		require.Equal(t, old.String(), counterOf(ask, key))
	}
	require.EqualValues(t, -1, ask("PTTL", "d"))
	granted(t, r.Do(within(t), bare(request(wire.Restore, "e", "mine"))))
	require.Nil(t, counterOf(ask, "e"))
}

// TestExtendAndRelease: only the holder's keys are extended and deleted, also of many locks in one script.
func TestExtendAndRelease(t *testing.T) {
	r, ask, run := fresh(t)
	reset := func() {
		ask("FLUSHALL")
		for key, value := range map[string]string{"mine": "v", "theirs": "w", "a": "v", "b": "v", "c": "v", "d": "w"} {
			ask("SET", key, value, "PX", 5000)
		}
		ask("RPUSH", "list", "x")
	}
	reqs := func(op wire.Op) []wire.Request {
		return []wire.Request{request(op, "mine", "v"), request(op, "theirs", "v"), request(op, "gone", "v"), request(op, "list", "v"), also(request(op, "a", "v"), "b"), also(request(op, "c", "v"), "d"), also(request(op, "d", "v"), "gone2")}
	}
	for _, op := range []wire.Op{wire.Extend, wire.Release} {
		reset()
		list := reqs(op)
		for i := range list { // with values of their own, as leases have
			list[i].Value = fmt.Sprint("v", i)
			for _, key := range list[i].Keys {
				if ask("TYPE", key) == "string" && ask("GET", key) == "v" {
					ask("SET", key, list[i].Value, "KEEPTTL")
				}
			}
		}
		for i, v := range together(t, r, list...) {
			if i == 0 || i == 4 {
				granted(t, v)
			} else {
				refused(t, v)
			}
		}
		require.EqualValues(t, 0, ask("EXISTS", "gone", "gone2"), "neither sets anything")
		require.EqualValues(t, 3, ask("EXISTS", "theirs", "d", "list"))
		require.LessOrEqual(t, ask("PTTL", "theirs"), int64(5000))
		require.LessOrEqual(t, ask("PTTL", "d"), int64(5000))
		if op == wire.Extend {
			for _, key := range []string{"mine", "a", "b"} {
				require.Greater(t, ask("PTTL", key), int64(30_000))
			}
			require.LessOrEqual(t, ask("PTTL", "c"), int64(5000), "none of a lease that has lost one")
		} else {
			require.EqualValues(t, 0, ask("EXISTS", "mine", "a", "b", "c"), "what is left of a lost lease, too")
		}
	}
	// Each has its own time in a list.
	reset()
	long := request(wire.Extend, "mine", "v")
	long.TTL = time.Hour
	together(t, r, long, request(wire.Extend, "theirs", "w"))
	require.InDelta(t, 3600_000, ask("PTTL", "mine"), float64(patience.Milliseconds()))
	require.InDelta(t, 60_000, ask("PTTL", "theirs"), float64(patience.Milliseconds()))
	// And its own run.
	got := together(t, r, in(wire.Run(run.ReplID()), request(wire.Extend, "mine", "v")), in(wire.Run(strings.Repeat("0a", 20)), request(wire.Extend, "theirs", "w")))
	granted(t, got[0])
	failed(t, got[1], wire.ErrOtherRun)
}

// TestForbiddenKeyInAList: a key that the user may not touch costs only its own lock.
func TestForbiddenKeyInAList(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	s.MustAsk("ACL", "SETUSER", "some", "on", ">pw", "~mine*", "~{mine*", "+@all")
	r := open(t, "redis://some:pw@"+s.Addr(), Config{})
	for _, op := range []wire.Op{wire.Extend, wire.Release} {
		for _, key := range []string{"mine1", "mine2", "theirs"} {
			s.MustAsk("SET", key, "v")
		}
		got := together(t, r, request(op, "mine1", "v"), request(op, "theirs", "v"), request(op, "mine2", "v"))
		granted(t, got[0])
		failed(t, got[1], ErrPermission)
		granted(t, got[2])
	}
	require.Equal(t, ":0", s.MustAsk("EXISTS", "mine1", "mine2"))
}

// TestMissingScripts: what a server has forgotten is sent in full, once.
func TestMissingScripts(t *testing.T) {
	r, s := real(t, Config{})
	for _, req := range every() {
		s.MustAsk("SCRIPT", "FLUSH")
		require.NotEqual(t, wire.Failed, r.Do(within(t), req).Outcome, req.Op)
	}
	f := startFake(t, func(args []string) string {
		if strings.HasPrefix(args[0], "EVAL") {
			return "-NOSCRIPT No matching script.\r\n"
		}
		return grants(args)
	})
	failed(t, open(t, "redis://"+f.addr, Config{}).Do(within(t), request(wire.Extend, "k", "v")), ErrServer)
	require.Len(t, f.commands(), 1, "not forever")
}

// TestServerWithoutLua: it is no instance. Its Probe and each request that needs a script say why, for good.
func TestServerWithoutLua(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{Args: []string{"--rename-command", "EVAL", "", "--rename-command", "EVALSHA", ""}})
	r := open(t, s.URL(), Config{})
	said := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, ErrCommand)
		require.True(t, isPermanent(err))
		require.ErrorContains(t, err, "load its Lua module")
	}
	_, err := r.Probe(within(t), wire.Known{})
	said(err)
	leftover := acquire("a", "v")
	leftover.Delete = []string{"u"}
	for _, req := range []wire.Request{leftover, also(acquire("a", "v"), "b"), request(wire.Release, "a", "v"), also(request(wire.Release, "a", "v"), "b")} {
		v := failed(t, r.Do(within(t), req), ErrCommand)
		said(v.Err)
		require.Equal(t, req.Op == wire.Acquire, v.Unsent, "%v", req.Op)
	}
	require.Equal(t, ":0", s.MustAsk("DBSIZE"))
	r, _ = real(t, Config{}, "--rename-command", "EVALSHA", "")
	_, err = r.Probe(within(t), wire.Known{})
	said(err)
}

// TestReplicas counts a grant only if enough replicas have it, and waits for them for as long as there is time.
func TestReplicas(t *testing.T) {
	var acks atomic.Pointer[string]
	f := startFake(t, func(args []string) string {
		if args[0] == "WAIT" {
			return *acks.Load()
		}
		return grants(args)
	})
	r := open(t, "redis://"+f.addr, Config{Replicas: 2, ReplicaTimeout: 30 * time.Millisecond})
	for reply, kind := range map[string]error{
		":2\r\n": nil, ":3\r\n": nil, ":1\r\n": wire.ErrNotReplicated, ":0\r\n": wire.ErrNotReplicated,
		"-ERR WAIT cannot be used with replica instances.\r\n": wire.ErrNotReplicated, "-NOPERM no\r\n": ErrPermission,
	} {
		acks.Store(&reply)
		for _, req := range every() {
			v := r.Do(within(t), req)
			switch req.Op {
			case wire.Acquire, wire.Raise, wire.Extend, wire.Restore:
				if kind != nil {
					require.False(t, failed(t, v, kind).Unsent, "the key may be there")
					require.ErrorIs(t, v.Err, wire.ErrNotReplicated)
					continue
				}
			}
			granted(t, v)
		}
	}
	waits := 0
	for _, args := range f.commands() {
		if args[0] == "WAIT" {
			waits++
			require.Equal(t, []string{"WAIT", "2", "30"}, args)
		}
	}
	require.Equal(t, 6*5, waits)
	acks.Store(&[]string{":2\r\n"}[0])
	for _, v := range together(t, r, acquire("a", value()), request(wire.Release, "b", value()), acquire("c", value()), request(wire.Extend, "d", value())) {
		granted(t, v)
	}

	now := time.Now()
	at := func(left ...time.Duration) (calls []*call) {
		for _, d := range left {
			calls = append(calls, &call{deadline: now.Add(d)})
		}
		return append(calls, &call{})
	}
	require.Equal(t, 70*time.Millisecond, replicaTimeout(70*time.Millisecond, at(time.Millisecond)))
	require.Equal(t, defaultReplicaTimeout, replicaTimeout(0, at(time.Hour)))
	require.LessOrEqual(t, replicaTimeout(0, at(100*time.Millisecond, time.Hour)), 50*time.Millisecond)
	require.Equal(t, time.Millisecond, replicaTimeout(0, at(-time.Hour)), "0 would wait forever")
}

// TestGarbage gets answers that no lock's server gives. None is a vote, and the connection is never used again.
func TestGarbage(t *testing.T) {
	for name, reply := range map[string]string{
		"http":           "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
		"another status": "+QUEUED\r\n",
		"half an answer": "*7\r\n$1" + hangUp,
		"nothing":        hangUp,
		"binary":         "\x16\x03\x01\x00\xff\r\n",
		"an empty list":  "*0\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int32
			addr := startPeer(t, func(conn net.Conn) { conns.Add(1); answerAlways(conn, reply) })
			r := open1(t, redis.Options{Addr: addr, ConnMaxLifetime: maxLifetime}, Config{})
			for _, req := range every() {
				v := r.Do(within(t), req)
				require.Equal(t, wire.Failed, v.Outcome, "%v", req.Op)
				require.Error(t, v.Err)
				require.False(t, v.Unsent, "it was sent")
				require.NotErrorIs(t, v.Err, context.DeadlineExceeded)
			}
			if name == "another status" {
				require.EqualValues(t, len(every()), conns.Load(), "each has a connection of its own, because the last one is out of step")
			}
			_, err := r.Probe(within(t), wire.Known{})
			require.Error(t, err)
		})
	}
}

// answerAlways greets, and then gives each command the same answer.
func answerAlways(conn net.Conn, reply string) {
	rd := bufio.NewReader(conn)
	for {
		args, err := readCommand(rd)
		if err != nil {
			return
		}
		text, end := strings.CutSuffix(reply, hangUp)
		switch strings.ToUpper(args[0]) {
		case "HELLO":
			text, end = "-ERR unknown command 'HELLO'\r\n", false
		case "PING":
			text, end = "+PONG\r\n", false
		}
		if _, err := conn.Write([]byte(text)); err != nil || end {
			return
		}
	}
}

// TestFirstInFull: there may be no time to ask again, so a server gets a script in full until it has answered it; and
// again after it has lost its scripts, or its connections.
func TestFirstInFull(t *testing.T) {
	var lacks atomic.Bool
	f := startFake(t, func(args []string) string {
		if args[0] == "EVALSHA" && lacks.Load() {
			return "-NOSCRIPT No matching script.\r\n"
		}
		return grants(args)
	})
	r := open1(t, redis.Options{Addr: f.addr, ConnMaxLifetime: maxLifetime}, Config{})
	sent := func(want ...string) {
		t.Helper()
		before := len(f.commands())
		granted(t, r.Do(within(t), request(wire.Extend, "k", "v")))
		var names []string
		for _, args := range f.commands()[before:] {
			names = append(names, args[0])
		}
		require.Equal(t, want, names)
	}
	sent("EVAL")
	sent("EVALSHA")
	lacks.Store(true)
	sent("EVALSHA", "EVAL")
	lacks.Store(false)
	sent("EVALSHA")
	l := only(t, r)
	r.pipe.mu.Lock()
	r.pipe.dropLocked(l)
	r.pipe.mu.Unlock()
	sent("EVAL")
}
