//go:build unix

package redisguard_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/guardtest"
	"github.com/redquorum/redlock/fencing/redisguard"
)

func newGuard(t *testing.T, c redisguard.Scripter) *redisguard.Guard {
	t.Helper()
	g, err := redisguard.New(redisguard.Config{Client: c})
	require.NoError(t, err)
	return g
}

// bounded returns a guard without marks for the contract.
func bounded(t *testing.T, c *redis.Client, b fencing.Bound) *redisguard.Guard {
	t.Helper()
	require.NoError(t, c.FlushAll(t.Context()).Err())
	g, err := redisguard.New(redisguard.Config{Client: c, Bound: b})
	require.NoError(t, err)
	return g
}

// TestContract: by Check alone, by Set, and by Run: the check inside them keeps the same contract.
func TestContract(t *testing.T) {
	script, err := redisguard.NewScript("return redis.call('SET', KEYS[1], ARGV[1])")
	require.NoError(t, err)
	servers(t, func(t *testing.T, c *redis.Client) {
		for name, by := range map[string]func(g *redisguard.Guard) fencing.Guard{
			"Check": func(g *redisguard.Guard) fencing.Guard { return g },
			"Set":   func(g *redisguard.Guard) fencing.Guard { return bySet{g} },
			"Run":   func(g *redisguard.Guard) fencing.Guard { return byRun{g, script} },
		} {
			t.Run(name, func(t *testing.T) {
				guardtest.Run(t, func(t *testing.T, b fencing.Bound) fencing.Guard { return by(bounded(t, c, b)) })
			})
		}
	})
}

type bySet struct{ *redisguard.Guard }

func (g bySet) Check(ctx context.Context, resource string, t fencing.Token) error {
	return g.Set(ctx, resource, t, "data", "x")
}

type byRun struct {
	*redisguard.Guard
	script *redisguard.Script
}

func (g byRun) Check(ctx context.Context, resource string, t fencing.Token) error {
	_, err := g.Run(ctx, g.script, resource, t, []string{"data"}, "x")
	return err
}

// TestForeignMark: a mark that isn't a token stops all operations, and stays as it is.
func TestForeignMark(t *testing.T) {
	script, err := redisguard.NewScript("return redis.call('SET', KEYS[1], 'x')")
	require.NoError(t, err)
	servers(t, func(t *testing.T, c *redis.Client) {
		ctx, g := t.Context(), newGuard(t, c)
		calls := map[string]func() error{
			"Admit": func() error { return g.Admit(ctx, "r", 5) },
			"Check": func() error { return g.Check(ctx, "r", 5) },
			"Set":   func() error { return g.Set(ctx, "r", 5, "data", "x") },
			"Run":   func() error { _, err := g.Run(ctx, script, "r", 5, []string{"data"}); return err },
		}
		for _, held := range []string{
			"", "x", "0", "-1", "007", " 7", "7 ", "1e3", "0x10", "1.5", "nan", "inf", "9007199254740992",
			"9999999999999999", "12345678901234567890", strings.Repeat("1", 400), "7\n", "\x00",
		} {
			require.NoError(t, c.Set(ctx, g.Key("r"), held, 0).Err())
			for name, call := range calls {
				err := call()
				assert.ErrorIs(t, err, redisguard.ErrCorrupt, "%s with %.20q", name, held)
				assert.ErrorContains(t, err, "fence:{r}")
				assert.Less(t, len(err.Error()), 300)
				assert.Equal(t, held, c.Get(ctx, g.Key("r")).Val())
			}
		}
		require.NoError(t, c.Del(ctx, g.Key("r")).Err())
		require.NoError(t, c.RPush(ctx, g.Key("r"), "a", "b").Err())
		for name, call := range calls {
			assert.ErrorContains(t, call(), "WRONGTYPE", name)
			assert.Equal(t, []string{"a", "b"}, c.LRange(ctx, g.Key("r"), 0, -1).Val())
		}
		assert.Zero(t, c.Exists(ctx, "data").Val())
	})
}

func TestReservedKey(t *testing.T) {
	script, err := redisguard.NewScript("return 1")
	require.NoError(t, err)
	servers(t, func(t *testing.T, c *redis.Client) {
		ctx, g := t.Context(), newGuard(t, c)
		for _, key := range []string{g.Key("r"), g.Key("other"), "fence:x"} {
			assert.ErrorIs(t, g.Set(ctx, "r", 5, key, "1"), redisguard.ErrReservedKey)
			_, err := g.Run(ctx, script, "r", 5, []string{"ok", key})
			assert.ErrorIs(t, err, redisguard.ErrReservedKey)
		}
		other, err := redisguard.New(redisguard.Config{Client: c, Prefix: "other:"})
		require.NoError(t, err)
		for _, key := range []string{other.Key("r"), g.Key("r")} {
			assert.ErrorIs(t, other.Set(ctx, "r", 5, key, "1"), redisguard.ErrReservedKey, "the default prefix is reserved for all")
		}
		assert.Zero(t, c.DBSize(ctx).Val())
	})
}

// TestScriptsAreFoundAgain: after SCRIPT FLUSH the script is sent as text.
func TestScriptsAreFoundAgain(t *testing.T) {
	script, err := redisguard.NewScript("return redis.call('INCR', KEYS[1])")
	require.NoError(t, err)
	servers(t, func(t *testing.T, c *redis.Client) {
		ctx, g := t.Context(), newGuard(t, c)
		for n := range int64(3) {
			require.NoError(t, c.ScriptFlush(ctx).Err())
			require.NoError(t, g.Admit(ctx, "r", 5))
			require.NoError(t, g.Set(ctx, "r", 5, "k", "v"))
			got, err := g.Run(ctx, script, "r", 5, []string{"n"})
			require.NoError(t, err)
			assert.Equal(t, n+1, got, "run once, not twice")
		}
	})
}

func TestRetention(t *testing.T) {
	servers(t, func(t *testing.T, c *redis.Client) {
		ctx := t.Context()
		g, err := redisguard.New(redisguard.Config{Client: c, Retention: time.Hour, Prefix: "p:"})
		require.NoError(t, err)
		full := func() bool { return c.PTTL(ctx, "p:{r}").Val() > 59*time.Minute }
		require.NoError(t, g.Admit(ctx, "r", 5))
		assert.True(t, full())
		for _, tok := range []fencing.Token{5, 6} { // an equal token renews it too
			require.NoError(t, c.Expire(ctx, "p:{r}", time.Minute).Err())
			require.NoError(t, g.Check(ctx, "r", tok))
			assert.True(t, full())
		}
		require.NoError(t, c.Expire(ctx, "p:{r}", time.Minute).Err())
		assert.ErrorIs(t, g.Check(ctx, "r", 5), fencing.ErrStale)
		assert.False(t, full(), "a refusal changes nothing")
	})
}

// TestRetentionNeverShortens: guards of one resource differ in their retentions,
// and the longest one holds.
func TestRetentionNeverShortens(t *testing.T) {
	servers(t, func(t *testing.T, c *redis.Client) {
		ctx := t.Context()
		retaining := func(d time.Duration) *redisguard.Guard {
			g, err := redisguard.New(redisguard.Config{Client: c, Retention: d})
			require.NoError(t, err)
			return g
		}
		forever, hour, day := retaining(0), retaining(time.Hour), retaining(24*time.Hour)
		left := func(r string) time.Duration { return c.PTTL(ctx, hour.Key(r)).Val() }

		require.NoError(t, forever.Admit(ctx, "permanent", 5))
		require.NoError(t, day.Admit(ctx, "long", 5))
		for _, tok := range []fencing.Token{5, 6} { // an equal token and a larger one
			require.NoError(t, hour.Admit(ctx, "permanent", tok))
			assert.Equal(t, time.Duration(-1), left("permanent"), "token %d", tok)
			require.NoError(t, hour.Admit(ctx, "long", tok))
			assert.Greater(t, left("long"), 23*time.Hour, "token %d", tok)
		}
		require.NoError(t, forever.Admit(ctx, "long", 6))
		assert.Equal(t, time.Duration(-1), left("long"))
	})
}

// TestNotMade: a Guard that wasn't made by New returns an error.
func TestNotMade(t *testing.T) {
	for _, g := range []*redisguard.Guard{nil, new(redisguard.Guard)} {
		assert.ErrorContains(t, g.Admit(t.Context(), "r", 1), "make it with New")
		assert.ErrorContains(t, g.Set(t.Context(), "r", 1, "k", "v"), "make it with New")
		_, err := g.Forget(t.Context(), "r")
		assert.ErrorContains(t, err, "make it with New")
	}
}

func TestServerAway(t *testing.T) {
	m := miniredis.RunT(t)
	g := newGuard(t, connect(t, m.Addr()))
	m.SetError("LOADING not yet")
	err := g.Check(t.Context(), "r", 5)
	assert.ErrorContains(t, err, "LOADING")
	assert.NotErrorIs(t, err, fencing.ErrStale)
	m.Close()
	assert.Error(t, g.Check(t.Context(), "r", 5))
}

// TestPipelineIsAnError: a pipeline answers before the server has, and that must not let a token
// pass.
func TestPipelineIsAnError(t *testing.T) {
	g := newGuard(t, connect(t, miniredis.RunT(t).Addr()).Pipeline())
	assert.ErrorContains(t, g.Check(t.Context(), "r", 5), "pipeline")
}

// answer is a client that always gives the same reply.
type answer struct {
	reply any
	err   error
}

func (a answer) Eval(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(a.reply)
	cmd.SetErr(a.err)
	return cmd
}

func (a answer) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return a.Eval(ctx, "", nil)
}

// TestStrangeReplies: only an explicit 'passed' lets a token pass.
func TestStrangeReplies(t *testing.T) {
	for _, reply := range []any{
		nil, "passed", int64(1), []any{}, []any{nil}, []any{int64(1)}, []any{"PASSED"}, []any{"stale"},
		[]any{"stale", "x"}, []any{"stale", int64(9)}, []any{"stale", "5"}, []any{"stale", "4"}, map[any]any{"passed": 1},
	} {
		err := newGuard(t, answer{reply: reply}).Check(t.Context(), "r", 5)
		assert.ErrorContains(t, err, "unexpected reply", "%v", reply)
		assert.NotErrorIs(t, err, fencing.ErrStale)
	}
	down := errors.New("down")
	assert.ErrorIs(t, newGuard(t, answer{err: down}).Check(t.Context(), "r", 5), down)
	assert.ErrorIs(t, newGuard(t, answer{err: redis.Nil}).Check(t.Context(), "r", 5), redis.Nil)
	assert.NoError(t, newGuard(t, answer{reply: []any{"passed"}}).Check(t.Context(), "r", 5))
}

func TestConfig(t *testing.T) {
	c := answer{}
	for says, config := range map[string]redisguard.Config{
		"Config.Client is nil":           {},
		"a nil *redis.Client":            {Client: (*redis.Client)(nil)},
		"Retention is -1s":               {Client: c, Retention: -time.Second},
		"Retention is 59.999s":           {Client: c, Retention: 59999 * time.Millisecond},
		"is 1m0.0005s, want whole milli": {Client: c, Retention: time.Minute + 500*time.Microsecond},
		"Bound.Ahead is -1s":             {Client: c, Bound: fencing.Bound{Ahead: -time.Second}},
	} {
		_, err := redisguard.New(config)
		assert.ErrorContains(t, err, says)
		assert.ErrorContains(t, err, "redisguard: ")
	}
	g := newGuard(t, c)
	assert.Equal(t, "fence:{cart/7}", g.Key("cart/7"))
}

// TestPrefixes: no two accepted prefixes give one key to two resources.
func TestPrefixes(t *testing.T) {
	keys := map[string]string{}
	for _, prefix := range []string{"a", "a:", ":", "{a}", "{a}:", "{a}a", "{a:}", "fence:", "{fence:}"} {
		g, err := redisguard.New(redisguard.Config{Client: answer{}, Prefix: prefix})
		require.NoError(t, err, prefix)
		for _, r := range []string{"a", "a:", "a}", "}", "{", "a}{a", "}{a", "a}:{a", "a}a{a", "{a", "{a}", "}:{", "a:}{a"} {
			key, of := g.Key(r), prefix+" "+r
			assert.Empty(t, keys[key], "%q has the key %q of %q", of, key, keys[key])
			keys[key] = of
		}
	}
	for _, prefix := range []string{"fence:{shop}:", "{", "}", "a{", "{}", "{a}{b}", "{{a}}", "a}", "{a"} {
		_, err := redisguard.New(redisguard.Config{Client: answer{}, Prefix: prefix})
		assert.ErrorContains(t, err, "Config.Prefix is "+strconv.Quote(prefix))
	}
}

// TestRing: a Ring is refused, and what embeds one. A cluster's client isn't.
func TestRing(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}, HeartbeatFrequency: time.Hour}) // it never dials
	defer func() { assert.NoError(t, ring.Close()) }()
	for _, c := range []redisguard.Scripter{ring, struct{ *redis.Ring }{ring}} {
		_, err := redisguard.New(redisguard.Config{Client: c})
		assert.ErrorContains(t, err, "a stale token would pass; pass a *redis.Client")
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer func() { assert.NoError(t, cluster.Close()) }()
	_, err := redisguard.New(redisguard.Config{Client: cluster})
	assert.NoError(t, err)
}
