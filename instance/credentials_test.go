//go:build unix

package instance_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// TestPasswordRotation: a password is changed while a lease is kept, and nothing is lost. Both are valid for a while.
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
	c, err := quorum.New(quorum.Config{Terms: quorum.Terms{TTL: 3 * time.Second}, InstanceTimeout: time.Second}, r)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(context.Background())) }()
	require.NoError(t, c.Trust(t.Context()))
	lease, err := c.Acquire(t.Context(), "orders:42")
	require.NoError(t, err)
	lease.KeepAlive()

	s.MustAsk("ACL", "SETUSER", "orders", ">new")
	password.Store("new")
	before := asked.Load()
	time.Sleep(6 * time.Second) // no connection is older than five
	require.Greater(t, asked.Load(), before)
	s.MustAsk("ACL", "SETUSER", "orders", "<old")
	time.Sleep(6 * time.Second)
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

// TestNoNewConnections: while none can be made, a connection that works is used for its lifetime. Then it isn't,
// because its address may have moved, unless that never happens.
func TestNoNewConnections(t *testing.T) {
	t.Parallel()
	for _, fixed := range []bool{false, true} {
		t.Run(map[bool]string{false: "moves", true: "fixed"}[fixed], func(t *testing.T) {
			t.Parallel()
			s := instancetest.Start(t, instancetest.Config{})
			var down atomic.Bool
			nowhere := errors.New("the name server is down")
			const life = 3 * time.Second
			client := redis.NewClient(instance.Harden(&redis.Options{Addr: s.Addr(), ConnMaxLifetime: life, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if down.Load() {
					return nil, nowhere
				}
				return (&net.Dialer{}).DialContext(ctx, network, addr)
			}}))
			defer func() { require.NoError(t, client.Close()) }()
			r, err := instance.New(client, instance.Config{FixedAddress: fixed})
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			tick := func() error {
				votes := make(chan wire.Vote, 1)
				r.Send(wire.Request{Op: wire.Tick}, time.Second, wire.ReceiverFunc(func(vote wire.Vote) { votes <- vote }))
				return (<-votes).Err
			}
			began := time.Now()
			require.NoError(t, r.Connect(t.Context()))
			connected := time.Now()
			require.NoError(t, tick())
			down.Store(true)
			// Others may have used the client's connections before, so two lifetimes.
			for time.Since(connected) < 3*life {
				err, now := tick(), time.Now()
				switch {
				case fixed || now.Sub(began) < 2*life-100*time.Millisecond:
					require.NoError(t, err, "after %v", now.Sub(began))
				case now.Sub(connected) > 2*life+time.Second:
					require.ErrorIs(t, err, nowhere, "after %v", now.Sub(began))
				}
				time.Sleep(50 * time.Millisecond)
			}
			down.Store(false)
			require.Eventually(t, func() bool { return tick() == nil }, 5*time.Second, 10*time.Millisecond)
		})
	}
}
