//go:build unix

package instance_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// TestPasswordRotation: a password is changed while a lease is kept, and nothing is lost. Both are valid until
// a connection has been replaced, as all are in time. Then the server refuses the old one.
func TestPasswordRotation(t *testing.T) {
	t.Parallel()
	s := instancetest.Start(t, instancetest.Config{})
	s.MustAsk("ACL", "SETUSER", "orders", "on", ">old", "~*", "&*", "+@all")
	var password atomic.Value
	password.Store("old")
	var asked atomic.Int64
	r, err := instance.Open("redis://"+s.Addr(), instance.Config{Credentials: func(context.Context) (string, string, error) {
		asked.Add(1)
		return "orders", password.Load().(string), nil
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	c, err := quorum.New(quorum.Config{TTL: 6 * time.Second, InstanceTimeout: time.Second}, r)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(context.Background())) }()
	require.NoError(t, c.Trust(t.Context()))
	lease, err := c.Acquire(t.Context(), "orders:42")
	require.NoError(t, err)
	lease.KeepAlive()

	s.MustAsk("ACL", "SETUSER", "orders", ">new")
	password.Store("new")
	before := asked.Load()
	require.Eventually(t, func() bool { return asked.Load() > before }, time.Minute, 10*time.Millisecond)
	s.MustAsk("ACL", "SETUSER", "orders", "<old")
	s.MustAsk("CLIENT", "KILL", "USER", "orders")
	deadline := lease.Deadline()
	require.Eventually(t, func() bool { return lease.Deadline().After(deadline) }, time.Minute, 10*time.Millisecond)
	require.NoError(t, lease.Err())
	require.NoError(t, lease.Release(t.Context()))
}

// TestCredentialsOfDeployments: the provider's account is the master's. That of the URL is for Sentinel.
func TestCredentialsOfDeployments(t *testing.T) {
	t.Parallel()
	instancetest.Needs(t, 6, 2, "Sentinel has accounts")
	master, watchers := watched(t, 1)
	watchers[0].MustAsk("ACL", "SETUSER", "default", ">sentinels")
	given := func(password string, err error) instance.Config {
		return instance.Config{Credentials: func(context.Context) (string, string, error) { return "default", password, err }}
	}
	url := "redis://:sentinels@" + watchers[0].Addr() + "?master_name=m"
	require.NoError(t, probed(t, url, given("masters", nil)))
	require.ErrorIs(t, probed(t, url, given("wrong", nil)), instance.ErrAuth)
	refused := errors.New("no token")
	require.ErrorIs(t, probed(t, url, given("", refused)), refused)

	node := instancetest.Start(t, instancetest.Config{Password: "nodes", Args: []string{"--cluster-enabled", "yes"}})
	for from := 0; from < 16384; from += 1024 {
		args := []string{"CLUSTER", "ADDSLOTS"}
		for slot := from; slot < from+1024; slot++ {
			args = append(args, strconv.Itoa(slot))
		}
		node.MustAsk(args...)
	}
	require.Eventually(t, func() bool { return probed(t, "redis://"+node.Addr()+"?cluster=true", given("nodes", nil)) == nil }, 20*time.Second, 100*time.Millisecond)
	require.ErrorIs(t, probed(t, "redis://"+node.Addr()+"?cluster=true", given("wrong", nil)), instance.ErrAuth)

	_, err := instance.Open("redis://:masters@"+master.Addr(), given("masters", nil))
	require.ErrorIs(t, err, instance.ErrConfig)
	require.NotContains(t, err.Error(), "masters")
	_, err = instance.Open(url+"&password=masters", given("masters", nil))
	require.ErrorIs(t, err, instance.ErrConfig)
	client := redis.NewClient(instance.Harden(&redis.Options{Addr: master.Addr()}))
	defer func() { require.NoError(t, client.Close()) }()
	_, err = instance.New(client, given("masters", nil))
	require.ErrorIs(t, err, instance.ErrConfig)
	require.ErrorContains(t, err, "CredentialsProviderContext")
}

// TestCredentialsThatPanic: a Config.Credentials that panics makes the connection fail, on any goroutine.
func TestCredentialsThatPanic(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	var panics atomic.Bool
	opened := func() *instance.Redis {
		r, err := instance.Open("redis://"+s.Addr(), instance.Config{Credentials: func(context.Context) (string, string, error) {
			if panics.Load() {
				panic("ouch")
			}
			return "", "", nil
		}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		return r
	}
	sub, err := opened().Subscribe(t.Context())
	require.NoError(t, err)
	panics.Store(true)
	for name, connects := range map[string]func(r *instance.Redis) error{
		"connect":   func(r *instance.Redis) error { return r.Connect(t.Context()) },
		"subscribe": func(r *instance.Redis) error { _, err := r.Subscribe(t.Context()); return err },
		"rights":    func(r *instance.Redis) error { _, err := r.Rights(t.Context()); return err },
	} {
		err := connects(opened())
		require.ErrorIs(t, err, instance.ErrConnection, name)
		require.ErrorContains(t, err, "Config.Credentials panicked: ouch", name)
	}
	s.MustAsk("CLIENT", "KILL", "TYPE", "pubsub") // go-redis makes another connection for the subscription
	_, err = sub.Next()
	require.ErrorIs(t, err, instance.ErrConnection)
}
