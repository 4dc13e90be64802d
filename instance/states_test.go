//go:build unix

package instance

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// Real servers in every state in which they can't, or must not, vote.

func TestWrongPassword(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{Password: "right"})
	for _, url := range []string{"redis://:wrong@" + s.Addr(), "redis://nobody:right@" + s.Addr(), "redis://" + s.Addr()} {
		r := open(t, url, Config{})
		for _, req := range every() {
			v := failed(t, r.Do(within(t), req), ErrAuth)
			require.True(t, v.Unsent, "%s %v: %v", url, req.Op, v.Err)
			require.NotContains(t, v.Err.Error(), "wrong@")
		}
		_, err := r.Probe(within(t), wire.Known{})
		require.ErrorIs(t, err, ErrAuth)
	}
	r := open(t, "redis://default:right@"+s.Addr(), Config{})
	granted(t, r.Do(within(t), acquire("k", "v")))
}

func TestReplica(t *testing.T) {
	t.Parallel() // it waits most of the time
	// By default a master waits for 5 s before it sends a replica its data.
	_, s := real(t, Config{}, "--repl-diskless-sync-delay", "0")
	replica := instancetest.Start(t, instancetest.Config{})
	host, port, _ := net.SplitHostPort(s.Addr())
	replica.MustAsk("REPLICAOF", host, port)
	require.Eventually(t, func() bool {
		return strings.Contains(replica.MustAsk("INFO", "replication"), "master_link_status:up")
	}, patience, 5*time.Millisecond)

	r := open(t, replica.URL(), Config{})
	for _, req := range []wire.Request{acquire("k", "v"), bare(acquire("k", "v"))} {
		dials := r.Client().PoolStats().Misses
		failed(t, r.Do(within(t), req), wire.ErrNotMaster)
		failed(t, r.Do(within(t), req), wire.ErrNotMaster)
		require.GreaterOrEqual(t, r.Client().PoolStats().Misses, dials+1, "the name may lead to the new master by now")
	}
	id, err := r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Equal(t, "slave", id.Role)

	// And the master's grants reach it, or don't.
	for n, kind := range map[int]error{1: nil, 2: wire.ErrNotReplicated} {
		r := open(t, s.URL(), Config{Replicas: n, ReplicaTimeout: 50 * time.Millisecond})
		if kind == nil {
			r.cfg.ReplicaTimeout = 10 * time.Second
		}
		id, err := r.Probe(within(t), wire.Known{})
		require.NoError(t, err)
		require.ErrorIs(t, id.Refuses, kind, "missing replicas are told before the first lock")
		for _, fence := range []bool{true, false} {
			holder := value()
			req := acquire(fmt.Sprint("r", n, fence), holder)
			req.Fence.On = fence
			v := r.Do(within(t), req)
			extend := r.Do(within(t), request(wire.Extend, req.Keys[0], holder))
			if kind == nil {
				granted(t, v)
				granted(t, extend)
				require.Equal(t, holder, replica.MustAsk("GET", req.Keys[0]))
				refused(t, r.Do(within(t), req))
				granted(t, r.Do(within(t), request(wire.Release, req.Keys[0], holder)))
			} else {
				require.False(t, failed(t, v, kind).Unsent, "the key is there")
				failed(t, extend, kind)
			}
		}
	}
}

func TestOutOfMemory(t *testing.T) {
	r, s := real(t, Config{}, "--maxmemory-policy", "noeviction")
	holder := value()
	granted(t, r.Do(within(t), acquire("mine", holder)))
	granted(t, r.Do(within(t), acquire("again", holder)))
	granted(t, r.Do(within(t), request(wire.Release, "again", holder)))
	s.MustAsk("CONFIG", "SET", "maxmemory", "1")
	for _, req := range []wire.Request{acquire("k", "v"), acquire("again", "v"), bare(acquire("k", "v")), token(request(wire.Restore, "k", "v"), 1)} {
		v := failed(t, r.Do(within(t), req), ErrOutOfMemory)
		require.ErrorAs(t, v.Err, new(redis.Error))
		require.Equal(t, req.Op == wire.Acquire, v.Unsent, "nothing to delete")
		granted(t, r.Do(within(t), request(wire.Look, req.Keys[0], "")))
	}
	require.Equal(t, ":0", s.MustAsk("EXISTS", CounterKey("k")), "nothing was half done")
	granted(t, r.Do(within(t), request(wire.Extend, "mine", holder)))
	granted(t, r.Do(within(t), request(wire.Release, "mine", holder)))
}

func TestClusterNode(t *testing.T) {
	r, _ := real(t, Config{}, "--cluster-enabled", "yes")
	failed(t, r.Do(within(t), acquire("k", "v")), ErrCluster)
}

// rights are those that an account needs, as the error says.
const rights = "+multi +exec +evalsha +eval +set +get +getrange +del +incr +pexpire +pttl +mget +exists +time +info +ping"

// TestLimitedUser: an account with the rights that the error names locks, and its Probe lists what is hidden. With
// one right less its Probe fails, or no lock does.
func TestLimitedUser(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	user := func(rules string) *Redis {
		s.MustAsk(append([]string{"ACL", "SETUSER", "locker", "reset", "on", ">pw"}, strings.Fields(rules)...)...)
		return open(t, "redis://locker:pw@"+s.Addr(), Config{Name: "s"})
	}
	const keys = "~k ~{k}:redlock ~{redlock}:served:* "
	all := func(r *Redis) (worst error) {
		held := value()
		for _, req := range []wire.Request{acquire("k", held), token(request(wire.Raise, "k", held), 1), request(wire.Extend, "k", held), token(request(wire.Restore, "k", held), 1), request(wire.Tick, "", ""), acquire("k", value()), request(wire.Look, "k", ""), request(wire.Release, "k", held)} {
			if v := r.Do(within(t), req); v.Err != nil {
				require.ErrorIs(t, v.Err, ErrPermission)
				worst = v.Err
			}
		}
		return worst
	}
	r := user(keys + rights)
	id, err := r.Probe(within(t), wire.Known{Set: set1})
	require.NoError(t, err)
	require.Len(t, id.Hidden, 2, "%v", id.Hidden)
	require.Contains(t, strings.Join(id.Hidden, "\n"), "appendfsync: NOPERM")
	require.NotEmpty(t, id.Mark)
	require.NoError(t, all(r))
	for _, right := range strings.Fields(rights) {
		r := user(keys + strings.ReplaceAll(rights+" ", right+" ", ""))
		_, err := r.Probe(within(t), wire.Known{})
		worst := all(r)
		if err == nil {
			require.Contains(t, []string{"+info", "+ping"}, right, "%v", worst)
			continue
		}
		require.ErrorIs(t, err, ErrPermission, right)
	}
	_, err = user("~k "+rights).Probe(within(t), wire.Known{})
	require.NoError(t, err, "it locks without a mark")

	// A user whose right ends within a script: the key may be set, and is.
	r = user("~* +@all -pexpire")
	granted(t, r.Do(within(t), acquire("half", "v")))
	failed(t, r.Do(within(t), token(request(wire.Raise, "half", "v"), 1)), ErrPermission)
	_, err = r.Probe(within(t), wire.Known{})
	require.ErrorContains(t, err, "(it lacks the right to PEXPIRE)")
	granted(t, r.Do(within(t), request(wire.Release, "half", "v")))
}

// TestProbe reads a real server, with each kind of persistence.
func TestProbe(t *testing.T) {
	for want, args := range map[string][]string{
		"none":         nil,
		"rdb":          {"--save", "3600", "1"},
		"aof everysec": {"--appendonly", "yes"},
		"aof always":   {"--appendonly", "yes", "--appendfsync", "always"},
		"aof no":       {"--appendonly", "yes", "--appendfsync", "no", "--save", "3600", "1"},
	} {
		t.Run(want, func(t *testing.T) {
			s := instancetest.Start(t, instancetest.Config{Args: append(args, "--maxmemory-policy", "allkeys-lru")})
			runID := infoField(s.MustAsk("INFO", "server"), "run_id")
			r := open(t, s.URL(), Config{VouchedRunID: runID})
			began := time.Now()
			id, err := r.Probe(within(t), wire.Known{})
			require.NoError(t, err)
			require.Equal(t, want, id.Persistence)
			require.Equal(t, runID, id.RunID)
			require.Len(t, id.RunID, 40)
			require.True(t, id.Vouched)
			require.Equal(t, "master", id.Role)
			require.Equal(t, "allkeys-lru", id.Eviction)
			require.Contains(t, []string{"redis", "valkey"}, id.Server)
			require.NotEmpty(t, id.Version)
			require.Empty(t, id.Hidden)
			require.Len(t, id.ReplID, 40)
			require.False(t, id.Promoted)
			require.WithinRange(t, id.Clock, began.Add(-time.Second), time.Now().Add(time.Second))
			require.GreaterOrEqual(t, id.Uptime, time.Duration(0))
			s.Restart()
			var again wire.Identity
			require.Eventually(t, func() bool { // the old connections break first
				again, err = r.Probe(within(t), wire.Known{})
				return err == nil
			}, patience, time.Millisecond)
			require.NotEqual(t, runID, again.RunID)
			require.NotEqual(t, id.ReplID, again.ReplID)
			require.False(t, again.Vouched, "another run")
		})
	}
}

func infoField(info, name string) string {
	_, rest, _ := strings.Cut(info, name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

func TestProbeSentinel(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{Args: []string{"--sentinel"}})
	r := open(t, s.URL(), Config{})
	id, err := r.Probe(context.Background(), wire.Known{})
	require.NoError(t, err)
	require.Equal(t, "sentinel", id.Role)
}

// TestProbeAnswers reads answers of servers that this machine doesn't have.
func TestProbeAnswers(t *testing.T) {
	base := map[string]string{
		"INFO server":            bulk("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.1\r\nrun_id:abc\r\nuptime_in_seconds:61\r\n"),
		"INFO replication":       bulk("# Replication\r\nrole:master\r\nmaster_replid:def\r\nmaster_replid2:0000\r\n"),
		"INFO memory":            bulk("# Memory\r\nmaxmemory_policy:noeviction\r\n"),
		"INFO persistence":       bulk("# Persistence\r\nloading:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\n"),
		"CONFIG GET appendfsync": "*2\r\n" + bulk("appendfsync") + bulk("always"),
		"CONFIG GET save":        "*2\r\n" + bulk("save") + bulk(""),
		"TIME":                   "*2\r\n" + bulk("1700000000") + bulk("5"),
		"mark":                   "abc def def@42 ",
	}
	with := func(key, value string) map[string]string {
		m := maps.Clone(base)
		m[key] = value
		return m
	}
	probe := func(t *testing.T, answers map[string]string) (wire.Identity, error) {
		f := startFake(t, func(args []string) string {
			if args[0] != "EVAL" || args[1] != markScript.source {
				if answer, ok := answers[strings.Join(args, " ")]; ok {
					return answer
				}
				return grants(args)
			}
			if fields := strings.SplitN(answers["mark"], " ", 3); fields[0][0] != '-' {
				return "*5\r\n" + bulk(fields[0]) + bulk(fields[1]) + ":1\r\n" + bulk(fields[2]) + ":7000000\r\n"
			}
			return answers["mark"]
		})
		return open(t, "redis://"+f.addr, Config{}).Probe(within(t), wire.Known{})
	}
	id, err := probe(t, base)
	require.NoError(t, err)
	require.Equal(t, wire.Identity{RunID: "abc", ReplID: "def", Mark: "def@42 ", Uptime: 60 * time.Second, Served: 7 * time.Second, Role: "master", Persistence: "aof always",
		Eviction: "noeviction", Server: "valkey", Version: "9.0.1", Clock: time.UnixMicro(1700000000000005)}, id)
	id, err = probe(t, with("INFO memory", bulk("# Memory\r\nmaxmemory_policy:allk\x1b[2J\r\n")))
	require.NoError(t, err)
	require.Equal(t, `"allk\x1b[2J"`, id.Eviction, "reports show it")

	for key, test := range map[string]struct {
		answer string
		check  func(id wire.Identity) bool
	}{
		"INFO server": {bulk("# Server\r\nredis_version:6.0.0\r\n"), func(id wire.Identity) bool {
			return id.RunID == "" && id.Uptime < 0 && id.Server == "redis" && len(id.Hidden) == 2
		}},
		"INFO replication":       {bulk(""), func(id wire.Identity) bool { return id.Role == "" && id.Run() == "" && len(id.Hidden) == 2 }},
		"mark":                   {"-NOPERM no\r\n", func(id wire.Identity) bool { return id.Served < 0 && len(id.Hidden) == 1 }},
		"INFO memory":            {"-ERR no\r\n", func(id wire.Identity) bool { return id.Eviction == "" && len(id.Hidden) == 1 }},
		"CONFIG GET appendfsync": {"-ERR no\r\n", func(id wire.Identity) bool { return id.Persistence == "" && len(id.Hidden) == 1 }},
		"TIME":                   {"-NOPERM no\r\n", func(id wire.Identity) bool { return id.Clock.IsZero() && len(id.Hidden) == 1 }},
	} {
		id, err := probe(t, with(key, test.answer))
		require.NoError(t, err, key)
		require.True(t, test.check(id), "%s: %+v", key, id)
	}
	for key, answer := range map[string]string{
		"INFO server": "-LOADING Redis is loading\r\n", "INFO persistence": bulk("# Persistence\r\nloading:1\r\n"),
	} {
		_, err := probe(t, with(key, answer))
		require.ErrorIs(t, err, ErrLoading)
	}
	// One hidden answer doesn't hide for good what a run depends on.
	away := "-ERR upstream failure\r\n"
	for _, key := range []string{"INFO server", "INFO replication", "mark"} {
		_, err := probe(t, with(key, away))
		require.ErrorIs(t, err, ErrServer, key)
		require.ErrorContains(t, err, "upstream failure", key)
		id, err := probe(t, with(key, "-ERR section is not supported\r\n"))
		require.NoError(t, err, key)
		require.NotEmpty(t, id.Hidden, key)
	}
	for _, run := range []string{"abc another", "another def"} {
		_, err := probe(t, with("mark", run+" def@42 "))
		require.ErrorIs(t, err, errMixed)
		require.ErrorContains(t, err, `the replication ID "def"`)
	}
	for key, answer := range map[string]string{
		"TIME": "*2\r\n+a\r\n+b\r\n", "CONFIG GET save": "*1\r\n+save\r\n",
	} {
		_, err := probe(t, with(key, answer))
		require.Error(t, err, key)
	}
	for _, mode := range []string{"redis_mode", "server_mode", "redict_mode"} { // Redis's, Valkey's, Redict's
		for _, role := range []string{wire.RoleSentinel, wire.RoleCluster} {
			other := with("INFO server", bulk("# Server\r\nredis_version:7.2.4\r\n"+mode+":"+role+"\r\nrun_id:abc\r\nuptime_in_seconds:61\r\n"))
			other["mark"] = "-ERR Unknown Redict command called from script script: 9f, on @user_script:1.\r\n"
			id, err = probe(t, other)
			require.NoError(t, err)
			require.Equal(t, role, id.Role, mode)
		}
	}
	// Garnet without replication, of which every run has the same replication ID.
	garnet := with("INFO replication", bulk("# Replication\r\nrole:master\r\nmaster_replid:"+strings.Repeat("0", 40)+"\r\n"))
	garnet["mark"] = "abc " + strings.Repeat("0", 40) + " abc@42 "
	id, err = probe(t, garnet)
	require.NoError(t, err)
	require.Empty(t, id.Run())
	require.Equal(t, []string{"replication ID: INFO has only zeros"}, id.Hidden)
}

// TestPanickingHook: if a hook of the caller panics the vote fails.
func TestPanickingHook(t *testing.T) {
	r, _ := real(t, Config{})
	r.Client().AddHook(panicking{})
	for _, ctx := range []context.Context{context.Background(), within(t)} {
		v := failed(t, r.Do(ctx, acquire("k", "v")), ErrConnection)
		require.Contains(t, v.Err.Error(), "ouch")
		require.True(t, v.Unsent)
	}
	_, err := r.Probe(within(t), wire.Known{})
	require.ErrorContains(t, err, "ouch")
}

type panicking struct{}

func (panicking) DialHook(next redis.DialHook) redis.DialHook { return next }
func (panicking) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { panic("ouch") }
}

func (panicking) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { panic("ouch") }
}

// TestServerThatCannotSave: such a server refuses PING, too. New connections to it still show who it is and who
// holds a lock.
func TestServerThatCannotSave(t *testing.T) {
	r, s := real(t, Config{})
	s.MustAsk("CONFIG", "SET", "save", "3600 1") // Redis 6.0 doesn't take it as an argument
	holder := value()
	granted(t, r.Do(within(t), acquire("k", holder)))
	require.NoError(t, os.MkdirAll(filepath.Join(s.Dir(), "dump.rdb", "in the way"), 0o700))
	s.MustAsk("BGSAVE")
	require.Eventually(t, func() bool {
		reply, _ := s.Ask("PING")
		return strings.HasPrefix(reply, "-MISCONF")
	}, patience, 5*time.Millisecond)

	r = open(t, s.URL(), Config{})
	id, err := r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.ErrorIs(t, id.Refuses, ErrMisconf)
	v := refused(t, r.Do(within(t), request(wire.Look, "k", "")))
	require.Equal(t, holder, v.Holder)
	require.True(t, failed(t, r.Do(within(t), acquire("other", value())), ErrMisconf).Unsent)
	failed(t, r.Do(within(t), request(wire.Extend, "k", holder)), ErrMisconf)

	s.MustAsk("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
	granted(t, r.Do(within(t), request(wire.Release, "k", holder)))
}
