package instance

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
)

// build makes a client of options that Harden has fixed and edit has spoiled.
func build(t *testing.T, edit func(opt *redis.Options)) *redis.Client {
	t.Helper()
	opt := Harden(&redis.Options{Addr: "127.0.0.1:1"})
	edit(opt)
	client := redis.NewClient(opt)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestUnfitOptions names each option that makes a client unfit.
func TestUnfitOptions(t *testing.T) {
	for option, edit := range map[string]func(opt *redis.Options){
		"ContextTimeoutEnabled": func(opt *redis.Options) { opt.ContextTimeoutEnabled = false },
		"MaxRetries":            func(opt *redis.Options) { opt.MaxRetries = 0 },    // go-redis makes it 3
		"DialerRetries":         func(opt *redis.Options) { opt.DialerRetries = 0 }, // go-redis makes it 5
		"ReadTimeout":           func(opt *redis.Options) { opt.ReadTimeout = -1 },
		"WriteTimeout":          func(opt *redis.Options) { opt.WriteTimeout = -2 },
		"Protocol":              func(opt *redis.Options) { opt.Protocol = 0 }, // go-redis makes it 3
	} {
		_, err := New(build(t, edit), Config{})
		require.ErrorIs(t, err, ErrClientOptions, option)
		var wrong *OptionError
		require.ErrorAs(t, err, &wrong, option)
		require.Equal(t, option, wrong.Option)
		for _, part := range []string{option, wrong.Got, wrong.Want, wrong.Why, "Harden"} {
			require.NotEmpty(t, part)
			require.ErrorContains(t, err, part)
		}
	}
	for _, edit := range []func(opt *redis.Options){
		func(*redis.Options) {},
		func(opt *redis.Options) { opt.ReadTimeout, opt.PoolSize, opt.DB = time.Second, 1, 3 },
		func(opt *redis.Options) { opt.DisableIdentity, opt.PipelinePoolSize = false, 0 },
	} {
		_, err := New(build(t, edit), Config{})
		require.NoError(t, err)
	}
}

// TestUnfitClients are clients of more than one master.
func TestUnfitClients(t *testing.T) {
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	failover := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1})
	pipeliner, err := build(t, func(*redis.Options) {}).AutoPipeline()
	require.NoError(t, err)
	for _, client := range []interface{ Close() error }{cluster, ring, failover, pipeliner} {
		t.Cleanup(func() { _ = client.Close() })
	}
	for name, client := range map[string]redis.UniversalClient{
		"nil":               nil,
		"nil *redis.Client": (*redis.Client)(nil),
		"ClusterClient":     cluster,
		"nil cluster":       (*redis.ClusterClient)(nil),
		"Ring":              ring,
		"failover":          failover,
		"AutoPipeliner":     pipeliner,
		"wrapper":           struct{ redis.UniversalClient }{},
	} {
		_, err := New(client, Config{})
		var wrong *OptionError
		require.ErrorAs(t, err, &wrong, name)
		require.ErrorIs(t, err, ErrClientOptions)
		require.Equal(t, "client", wrong.Option)
	}
}

// TestHardenCopies, keeps settings, and is idempotent.
func TestHardenCopies(t *testing.T) {
	opt := &redis.Options{Addr: "h:1", ReadTimeout: 7 * time.Second, PoolSize: 3, Username: "u", Password: "p", TLSConfig: &tls.Config{}, MaxRetries: 5}
	hard := Harden(opt)
	require.Equal(t, 5, opt.MaxRetries, "the argument is unchanged")
	require.Equal(t, "h:1", hard.Addr)
	require.Equal(t, 7*time.Second, hard.ReadTimeout)
	require.Equal(t, defaultIOTimeout, hard.WriteTimeout)
	require.Equal(t, defaultDialTimeout, hard.DialTimeout)
	require.Equal(t, 3, hard.PoolSize)
	require.Equal(t, "p", hard.Password)
	require.Same(t, opt.TLSConfig, hard.TLSConfig)
	for _, opt := range []*redis.Options{nil, {}, hard, {ReadTimeout: -2, WriteTimeout: -1, Protocol: 3}} {
		client := redis.NewClient(Harden(opt))
		_, err := New(client, Config{Name: "x"})
		require.NoError(t, err)
		// Options that a client has completed are accepted, too.
		again := redis.NewClient(Harden(client.Options()))
		_, err = New(again, Config{Name: "x"})
		require.NoError(t, err)
		require.NoError(t, client.Close())
		require.NoError(t, again.Close())
	}
}

// TestNewIsQuiet: it neither dials nor starts anything.
func TestNewIsQuiet(t *testing.T) {
	opt := Harden(&redis.Options{Addr: "127.0.0.1:1"})
	opt.Dialer = func(context.Context, string, string) (net.Conn, error) {
		t.Error("it dialed")
		return nil, errors.New("no")
	}
	before := runtime.NumGoroutine()
	client := redis.NewClient(opt)
	r, err := New(client, Config{})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:1", r.Name())
	require.Same(t, client, r.Client())
	// What a test before has left to a timer may run just now.
	for range 10_000 {
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
	require.NoError(t, r.Close())
	require.NoError(t, client.Close(), "it was still open: the caller closes its own client")
}

// TestOwnDialer: the caller's dialer is used, its errors are passed on, and its failures are not
// connections.
func TestOwnDialer(t *testing.T) {
	mine := errors.New("no route today")
	client := redis.NewClient(Harden(&redis.Options{MinIdleConns: 2, PoolSize: 4, Dialer: func(context.Context, string, string) (net.Conn, error) {
		return nil, mine
	}}))
	t.Cleanup(func() { _ = client.Close() })
	r, err := New(client, Config{})
	require.NoError(t, err)
	for range 20 {
		v := r.Do(context.Background(), every1())
		require.ErrorIs(t, v.Err, mine)
		require.ErrorIs(t, v.Err, ErrConnection)
		require.True(t, v.Unsent)
	}
}

// NewClient would look the name up otherwise, which takes as long as a name server likes.
func TestHardenedClientsLookNoNameUp(t *testing.T) {
	require.Equal(t, maintnotifications.ModeDisabled, Harden(&redis.Options{Addr: "redis.example:6379"}).MaintNotificationsConfig.Mode)
}
