//go:build unix

package instance_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// watched starts a master with a password, and Sentinels for it with passwords of their own.
func watched(t *testing.T, sentinels int) (master *instancetest.Server, watchers []*instancetest.Server) {
	t.Helper()
	master = instancetest.Start(t, instancetest.Config{Password: "masters"})
	host, port, _ := net.SplitHostPort(master.Addr())
	for range sentinels {
		s := instancetest.Start(t, instancetest.Config{Args: []string{"--sentinel"}})
		require.Equal(t, "+OK", s.MustAsk("SENTINEL", "MONITOR", "m", host, port, "1"))
		require.Equal(t, "+OK", s.MustAsk("SENTINEL", "SET", "m", "auth-pass", "masters"))
		watchers = append(watchers, s)
	}
	return master, watchers
}

func probed(t *testing.T, url string, cfg instance.Config) error {
	t.Helper()
	r, err := instance.Open(url, cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := r.Connect(ctx); err != nil {
		return err
	}
	_, err = r.Probe(ctx, wire.Known{})
	return err
}

// TestWhoRefusedUnderSentinel: the error says whether a Sentinel or the master refused, where that is and which
// account it is about. A Sentinel that hangs is named, too.
func TestWhoRefusedUnderSentinel(t *testing.T) {
	t.Parallel()
	instancetest.Needs(t, 6, 2, "Sentinel has accounts")
	master, watchers := watched(t, 1)
	s := watchers[0]
	url := func(account, rest string) string { return "redis://" + account + s.Addr() + "?master_name=m" + rest }

	err := probed(t, url("", ""), instance.Config{})
	require.ErrorIs(t, err, instance.ErrAuth)
	require.ErrorContains(t, err, "at "+master.Addr()+", the master that Sentinel names, whose account is username= and password= in the URL")
	err = probed(t, url("", "&password=wrong"), instance.Config{})
	require.ErrorIs(t, err, instance.ErrAuth)
	require.ErrorContains(t, err, master.Addr())
	require.NoError(t, probed(t, url("", "&password=masters"), instance.Config{}))

	s.MustAsk("ACL", "SETUSER", "default", ">sentinels")
	err = probed(t, url("", "&password=masters"), instance.Config{})
	require.ErrorIs(t, err, instance.ErrAuth)
	require.ErrorContains(t, err, s.Addr()+": this Sentinel refuses the account before the URL's @: ")
	require.NotContains(t, err.Error(), master.Addr())
}

// TestSentinelThatHangsIsNamed: with the others down the error says what each did.
func TestSentinelThatHangsIsNamed(t *testing.T) {
	t.Parallel()
	hung, down := instancetest.Start(t, instancetest.Config{}), instancetest.Start(t, instancetest.Config{})
	url := "redis://" + hung.Addr() + "?master_name=m&dial_timeout=300ms&addr=" + down.Addr()
	hung.Pause()
	down.Kill()
	err := probed(t, url, instance.Config{})
	require.False(t, errors.Is(err, context.DeadlineExceeded), "the caller's context has not ended")
	require.Regexp(t, hung.Addr()+`( doesn't answer|: quorum: instance did not answer in time)`, err.Error())
	require.Regexp(t, down.Addr()+`: .*connection refused`, err.Error())
	hung.Resume()
}

// TestNoSentinel: the error says that a plain server is no Sentinel, not that it lacks a command.
func TestNoSentinel(t *testing.T) {
	t.Parallel()
	s := instancetest.Start(t, instancetest.Config{})
	err := probed(t, "redis://"+s.Addr()+"?master_name=m", instance.Config{})
	require.ErrorContains(t, err, s.Addr()+": it is no Sentinel")
	require.NotContains(t, err.Error(), "rename-command")
	require.False(t, quorum.Retryable(err))
}

// TestMasterThatIsNoRedisIsNamed: the URL doesn't have its address.
func TestMasterThatIsNoRedisIsNamed(t *testing.T) {
	t.Parallel()
	web, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, web.Close()) }()
	go func() {
		for {
			conn, err := web.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	s := instancetest.Start(t, instancetest.Config{Args: []string{"--sentinel"}})
	host, port, _ := net.SplitHostPort(web.Addr().String())
	require.Equal(t, "+OK", s.MustAsk("SENTINEL", "MONITOR", "m", host, port, "1"))
	err = probed(t, "redis://"+s.Addr()+"?master_name=m", instance.Config{})
	require.ErrorIs(t, err, instance.ErrNotRedis)
	require.ErrorContains(t, err, "at "+web.Addr().String()+", the master that Sentinel names: ")
	require.Equal(t, 1, strings.Count(err.Error(), "not a Redis server"))
}
