//go:build unix

package redisguard_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/redisguard"
)

// TestMarksSurviveACrash: with the persistence that the documentation asks for.
func TestMarksSurviveACrash(t *testing.T) {
	s := startRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	require.NoError(t, newGuard(t, connect(t, s.Addr())).Admit(t.Context(), "r", 34))
	s.Kill()
	s.Restart()
	g := newGuard(t, connect(t, s.Addr()))
	assert.ErrorIs(t, g.Check(t.Context(), "r", 33), fencing.ErrStale)
	assert.NoError(t, g.Check(t.Context(), "r", 34))
}

// TestReplica: a replica may be behind, so it passes no token, not even its mark.
func TestReplica(t *testing.T) {
	ctx := t.Context()
	master, replica := startRedis(t, "--repl-diskless-sync-delay", "0"), startRedis(t)
	g := newGuard(t, connect(t, master.Addr()))
	require.NoError(t, g.Admit(ctx, "r", 34))
	c := connect(t, replica.Addr())
	host, port, _ := net.SplitHostPort(master.Addr())
	require.NoError(t, c.ReplicaOf(ctx, host, port).Err())
	require.Eventually(t, func() bool { return c.Get(ctx, g.Key("r")).Val() == "34" }, time.Minute, 10*time.Millisecond)
	onReplica := newGuard(t, c)
	for _, tok := range []fencing.Token{34, 35} {
		assert.ErrorContains(t, onReplica.Check(ctx, "r", tok), "READONLY")
	}
}

// TestMemoryFull: a server without memory refuses to raise a mark, and so refuses the token; a
// stale token still gets its own error.
func TestMemoryFull(t *testing.T) {
	ctx := t.Context()
	c := connect(t, startRedis(t, "--maxmemory-policy", "noeviction").Addr())
	g := newGuard(t, c)
	require.NoError(t, g.Admit(ctx, "r", 34))
	require.NoError(t, c.ConfigSet(ctx, "maxmemory", "1").Err())
	err := g.Set(ctx, "r", 35, "data", "x")
	assert.ErrorContains(t, err, "OOM")
	assert.NotErrorIs(t, err, fencing.ErrStale)
	require.NoError(t, c.ConfigSet(ctx, "maxmemory", "0").Err())
	assert.Equal(t, "34", c.Get(ctx, g.Key("r")).Val())
	assert.Zero(t, c.Exists(ctx, "data").Val())
}

// TestCluster: keys with the resource as their hash tag are in the mark's slot; others are refused
// without a change. A script runs once with a client that neither retries nor follows redirections;
// MaxRetries alone isn't enough.
func TestCluster(t *testing.T) {
	ctx := t.Context()
	s := startRedis(t, "--cluster-enabled", "yes")
	c := connect(t, s.Addr())
	require.NoError(t, c.ClusterAddSlotsRange(ctx, 0, 16383).Err())
	require.Eventually(t, func() bool { return c.Set(ctx, "probe", "", 0).Err() == nil }, time.Minute, 10*time.Millisecond)
	g := newGuard(t, c)
	require.NoError(t, g.Set(ctx, "cart/7", 33, "{cart/7}:items", "milk"))
	assert.Equal(t, "milk", c.Get(ctx, "{cart/7}:items").Val())
	assert.ErrorContains(t, g.Set(ctx, "cart/7", 34, "elsewhere", "x"), "CROSSSLOT")
	assert.Equal(t, "33", c.Get(ctx, g.Key("cart/7")).Val())

	add, err := redisguard.NewScript("return redis.call('INCR', KEYS[1])")
	require.NoError(t, err)
	for redirects, want := range map[int]string{0: "2", -1: "1"} { // 0 means 3
		var armed atomic.Bool
		cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.Addr()}, MaxRetries: -1, MaxRedirects: redirects,
			DialTimeout: time.Minute, ReadTimeout: time.Minute,
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				return &unanswered{Conn: conn, armed: &armed}, err
			}})
		g := newGuard(t, cluster)
		_, err := g.Run(ctx, add, "a", 33, []string{"{a}:other"}) // the server knows the script
		require.NoError(t, err)
		armed.Store(true)
		_, err = g.Run(ctx, add, "a", 33, []string{"{a}:n"})
		assert.Equal(t, redirects == -1, err != nil, "%v", err)
		assert.Equal(t, want, c.Get(ctx, "{a}:n").Val())
		require.NoError(t, c.Del(ctx, "{a}:n").Err())
		require.NoError(t, cluster.Close())
	}
}

// unanswered is a connection that breaks when the first script that is sent after it was armed has
// run.
type unanswered struct {
	net.Conn
	armed  *atomic.Bool
	broken bool
}

func (u *unanswered) Write(b []byte) (int, error) {
	u.broken = bytes.Contains(b, []byte("evalsha")) && u.armed.CompareAndSwap(true, false)
	return u.Conn.Write(b)
}

func (u *unanswered) Read(b []byte) (int, error) {
	n, err := u.Conn.Read(b)
	if u.broken {
		_ = u.Conn.Close() // the client reads again
		return 0, io.EOF
	}
	return n, err
}
