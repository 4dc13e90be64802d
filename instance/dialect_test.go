//go:build unix

package instance

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/quorumtest/contract"
	"github.com/redquorum/redlock/quorum/wire"
)

const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"

// emulate starts a miniredis with a dialect's commands, with the replies seen on real servers, and
// counts the commands that it gets.
func emulate(t *testing.T, d Dialect) (*miniredis.Miniredis, map[string]*atomic.Int64) {
	t.Helper()
	m := miniredis.RunT(t)
	has := map[Dialect][]string{DialectRedis: {"delex"}, DialectValkey: {"delifeq"}, DialectTair: {"cad", "cas"}}[d]
	var compare sync.Mutex // comparing and changing are one step
	counts := make(map[string]*atomic.Int64)
	register := func(name string, f func(c *server.Peer, args []string)) {
		n := new(atomic.Int64)
		counts[name] = n
		require.NoError(t, m.Server().Register(name, func(c *server.Peer, _ string, args []string) {
			n.Add(1)
			compare.Lock()
			defer compare.Unlock()
			f(c, args)
		}))
	}
	// holds reports whether the key exists and has the value.
	holds := func(c *server.Peer, key, value string) (same, there, ok bool) {
		if !m.Exists(key) {
			return false, false, true
		}
		held, err := m.Get(key)
		if err != nil {
			c.WriteError(wrongType)
			return false, false, false
		}
		return held == value, true, true
	}
	number := func(c *server.Peer, args []string, i int) (time.Duration, bool) {
		ms, err := strconv.Atoi(args[i])
		if err != nil || ms <= 0 {
			c.WriteError("ERR syntax error")
			return 0, false
		}
		return time.Duration(ms) * time.Millisecond, true
	}
	counts["SET IFEQ"], counts["DELEX"] = new(atomic.Int64), new(atomic.Int64)
	switch d {
	case DialectValkey:
		register("DELIFEQ", func(c *server.Peer, args []string) {
			same, _, ok := holds(c, args[0], args[1])
			if !ok {
				return
			}
			if same {
				m.Del(args[0])
				c.WriteInt(1)
				return
			}
			c.WriteInt(0)
		})
	case DialectTair:
		tair := func(then func(c *server.Peer, args []string) bool) func(*server.Peer, []string) {
			return func(c *server.Peer, args []string) {
				same, there, ok := holds(c, args[0], args[1])
				switch {
				case !ok:
				case !there:
					c.WriteInt(-1)
				case !same:
					c.WriteInt(0)
				case then(c, args):
					c.WriteInt(1)
				}
			}
		}
		register("CAD", tair(func(_ *server.Peer, args []string) bool { return m.Del(args[0]) }))
		register("CAS", tair(func(c *server.Peer, args []string) bool {
			require.NoError(t, m.Set(args[0], args[2])) // which removes the TTL
			if len(args) == 3 {
				return true
			}
			ttl, ok := number(c, args, 4)
			if ok {
				m.SetTTL(args[0], ttl)
			}
			return ok && strings.EqualFold(args[3], "PX")
		}))
	}
	tick := clockwork(m)
	m.Server().SetPreHook(func(c *server.Peer, req string, args ...string) bool {
		tick(c)
		switch {
		case req == "DELEX":
			require.Len(t, args, 3, "a bare DELEX deletes any value")
			require.Equal(t, "IFEQ", args[1])
			counts["DELEX"].Add(1)
			if d != DialectRedis {
				c.WriteError("ERR unknown command 'delex'")
				return true
			}
		case req == "COMMAND" && len(args) > 0 && strings.EqualFold(args[0], "INFO"):
			c.WriteLen(len(args) - 1)
			for _, name := range args[1:] {
				if !slices.Contains(has, name) {
					c.WriteLen(-1)
					continue
				}
				c.WriteLen(2)
				c.WriteBulk(name)
				c.WriteInt(-3)
			}
			return true
		case req == "SET" && len(args) > 2 && strings.EqualFold(args[2], "IFEQ"):
			counts["SET IFEQ"].Add(1)
			compare.Lock()
			defer compare.Unlock()
			if d != DialectRedis && d != DialectValkey {
				c.WriteError("ERR syntax error")
				return true
			}
			same, _, ok := holds(c, args[0], args[3])
			if !ok {
				return true
			}
			ttl, ok := number(c, args, 5)
			switch {
			case !ok:
			case !same:
				c.WriteNull()
			default:
				require.NoError(t, m.Set(args[0], args[1]))
				m.SetTTL(args[0], ttl)
				c.WriteOK()
			}
			return true
		}
		return false
	})
	return m, counts
}

// eachDialect runs a test on an embedded server for each dialect, and on the real servers that the
// environment names. The dialect's commands have been detected.
func eachDialect(t *testing.T, test func(t *testing.T, open func(t *testing.T) subject, used func(name string) int)) {
	t.Helper()
	for _, d := range []Dialect{DialectLua, DialectRedis, DialectValkey, DialectTair} {
		t.Run(d.String(), func(t *testing.T) {
			m, counts := emulate(t, d)
			test(t, func(t *testing.T) subject {
				r := open(t, unhurried("redis://"+m.Addr()), Config{})
				id, err := r.Probe(within(t), wire.Known{})
				require.NoError(t, err)
				require.Equal(t, d.String(), id.Dialect)
				return subject{r, t, nil}
			}, func(name string) int {
				if n := counts[name]; n != nil {
					return int(n.Load())
				}
				return 0
			})
		})
	}
	for variable, want := range map[string]Dialect{"TAIRSTRING_MODULE": DialectTair, "REDIS84_SERVER": DialectRedis, "VALKEY9_SERVER": DialectValkey} {
		t.Run(variable, func(t *testing.T) {
			path := os.Getenv(variable)
			if path == "" {
				t.Skipf("%s names no file; set it to run this on the real thing", variable)
			}
			cfg := instancetest.Config{Binary: path}
			if want == DialectTair {
				cfg = instancetest.Config{Args: []string{"--loadmodule", path}}
			}
			s := instancetest.Start(t, cfg)
			test(t, func(t *testing.T) subject {
				r := open(t, unhurried(s.URL()), Config{})
				id, err := r.Probe(within(t), wire.Known{})
				require.NoError(t, err)
				require.Equal(t, want.String(), id.Dialect)
				return subject{r, t, s}
			}, nil)
		})
	}
}

// TestContractOfDialects checks the contract for every dialect.
func TestContractOfDialects(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, open func(t *testing.T) subject, _ func(string) int) {
		if open(t).spoken() == DialectLua.String() {
			t.Skip("TestContractMiniredis does that")
		}
		contract.Check(t, func(t *testing.T) wire.Instance { return open(t) })
	})
}

// TestDialects compares, in each dialect, on keys of all kinds.
func TestDialects(t *testing.T) {
	commands := map[string][2]string{"lua": {}, "redis": {"DELEX", "SET IFEQ"}, "valkey": {"DELIFEQ", "SET IFEQ"}, "tair": {"CAD", "CAS"}}
	eachDialect(t, func(t *testing.T, open func(t *testing.T) subject, used func(string) int) {
		r := open(t)
		ctx, ask := within(t), asker(t, r.Redis)
		ask("DEL", "k", "list")
		for _, clock := range []bool{false, true} {
			mine, theirs := value(), value()
			extend, release := request(wire.Extend, "k", mine), request(wire.Release, "k", mine)
			extend.TTL, extend.Clock, release.Clock = time.Minute, clock, clock
			clocked := func(v wire.Vote) { require.Equal(t, clock, !v.Clock.IsZero()) }

			clocked(refused(t, r.Do(ctx, extend)))
			clocked(refused(t, r.Do(ctx, release)))
			require.Equal(t, int64(0), ask("EXISTS", "k"))
			ask("SET", "k", theirs, "PX", 5000)
			refused(t, r.Do(ctx, extend))
			refused(t, r.Do(ctx, release))
			require.Equal(t, theirs, ask("GET", "k"))
			require.InDelta(t, 4500, ask("PTTL", "k"), 500)
			ask("SET", "k", mine, "PX", 5000)
			clocked(granted(t, r.Do(ctx, extend)))
			require.InDelta(t, 60_000, ask("PTTL", "k"), 5000, "the new time, and one at all")
			require.Equal(t, mine, ask("GET", "k"))
			clocked(granted(t, r.Do(ctx, release)))
			require.Equal(t, int64(0), ask("EXISTS", "k"))

			ask("DEL", "list")
			ask("RPUSH", "list", "x")
			extend.Key, release.Key = "list", "list"
			for _, req := range []wire.Request{extend, release} {
				if vote := r.Do(ctx, req); vote.Outcome != wire.Refused { // by a script
					failed(t, vote, ErrWrongType)
				}
			}
			require.Equal(t, int64(1), ask("LLEN", "list"))
		}
		if used != nil {
			for _, name := range commands[r.spoken()] {
				if name != "" {
					require.Equal(t, 8, used(name), "the dialect's own command was used: %s", name)
				}
			}
		}
	})
}

// TestWrongDialect has a dialect that the server doesn't speak: the scripts take over, in the same
// Do.
func TestWrongDialect(t *testing.T) {
	for _, d := range []Dialect{DialectRedis, DialectValkey, DialectTair} {
		for refusal, kind := range map[string]string{"": "unknown", "NOPERM this user has no permissions": "forbidden"} {
			t.Run(d.String()+" "+kind, func(t *testing.T) {
				m, _ := emulate(t, DialectLua)
				if refusal != "" {
					m.Server().SetPreHook(func(c *server.Peer, req string, args ...string) bool {
						switch req {
						case "SET", "DELEX", "DELIFEQ", "CAD", "CAS":
							c.WriteError(refusal)
							return true
						}
						return false
					})
				}
				r := open(t, "redis://"+m.Addr(), Config{Dialect: d})
				require.Equal(t, d.String(), r.spoken())
				require.NoError(t, m.Set("k", "v"))
				granted(t, r.Do(within(t), request(wire.Extend, "k", "v")))
				require.Equal(t, "lua", Dialect(r.extend.Load()).String())
				granted(t, r.Do(within(t), request(wire.Release, "k", "v")))
				require.Equal(t, "lua", r.spoken(), "not asked again until the next probe")
				_, err := r.Probe(within(t), wire.Known{})
				require.NoError(t, err)
				require.Equal(t, d.String(), r.spoken())
			})
		}
	}
}

// TestTairOutOfMemory: CAD needs memory there, a script's DEL doesn't.
func TestTairOutOfMemory(t *testing.T) {
	m, _ := emulate(t, DialectTair)
	m.Server().SetPreHook(func(c *server.Peer, req string, _ ...string) bool {
		if req == "CAD" || req == "CAS" {
			c.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
			return true
		}
		return false
	})
	r := open(t, "redis://"+m.Addr(), Config{Dialect: DialectTair})
	require.NoError(t, m.Set("k", "v"))
	failed(t, r.Do(within(t), request(wire.Extend, "k", "v")), ErrOutOfMemory)
	granted(t, r.Do(within(t), request(wire.Release, "k", "v")))
	require.Equal(t, "tair", r.spoken(), "it may have room again")
}

// TestWrongNativeReplies accepts no other number as an answer.
func TestWrongNativeReplies(t *testing.T) {
	for _, reply := range []string{":2\r\n", ":-2\r\n", ":x\r\n", "$1\r\n1\r\n", "*0\r\n"} {
		f := startFake(t, func([]string) string { return reply })
		r := open(t, "redis://"+f.addr, Config{Dialect: DialectTair})
		failed(t, r.Do(within(t), request(wire.Extend, "k", "v")), ErrReply)
		failed(t, r.Do(within(t), request(wire.Release, "k", "v")), ErrReply)
	}
}

// TestDetect chooses by commands.
func TestDetect(t *testing.T) {
	for want, has := range map[Dialect][][len(probed)]bool{
		DialectLua:    {{}, {2: true}, {3: true}},
		DialectRedis:  {{0: true}, {true, false, true, false}},
		DialectValkey: {{1: true}, {true, true, false, false}},
		DialectTair:   {{2: true, 3: true}, {true, false, true, true}},
	} {
		for _, h := range has {
			require.Equal(t, want, detect(h), "%v", h)
		}
	}
	require.Equal(t, "dialect(99)", Dialect(99).String())
}
