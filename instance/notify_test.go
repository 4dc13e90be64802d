//go:build unix

package instance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

func enqueue(ctx context.Context, r *Redis, key, address string) wire.Vote {
	return r.Do(ctx, wire.Request{Op: wire.Enqueue, Keys: []string{key}, TTL: time.Minute, Waiter: wire.Waiter{Address: address}, Clock: true})
}

func wake(key, value string) wire.Request {
	return wire.Request{Op: wire.Release, Keys: []string{key}, Value: value, Notify: true}
}

// subscribers counts the connections subscribed to a channel.
func subscribers(t testing.TB, s *instancetest.Server) int {
	t.Helper()
	return strings.Count(s.MustAsk("CLIENT", "LIST", "TYPE", "pubsub"), " fd=")
}

// Who may write a lock's queue doesn't make its holder publish on another channel.
func TestOnlyWaitersAreNotified(t *testing.T) {
	r, ask, _ := fresh(t)
	func() {
		ctx := within(t)
		payments := r.Client().Subscribe(ctx, "payments")
		defer func() { require.NoError(t, payments.Close()) }()
		_, err := payments.Receive(ctx)
		require.NoError(t, err)
		e, err := r.Subscribe(ctx)
		require.NoError(t, err)
		defer func() { require.NoError(t, e.Close()) }()
		for _, in := range []wire.Request{wake("k", "v"), {}} {
			ask("SET", "k", "v")
			ask("RPUSH", WaitersKey("k"), "payments")
			granted(t, enqueue(ctx, r, "k", e.Address()))
			if in.Op == wire.Release {
				require.True(t, granted(t, r.Do(ctx, in)).Notified)
			} else {
				ask("DEL", "k")
				require.True(t, refused(t, r.Do(ctx, wire.Request{Op: wire.Dequeue, Keys: []string{"k"}, Waiter: wire.Waiter{Address: "another"}})).Notified)
			}
			require.EqualValues(t, 0, ask("EXISTS", WaitersKey("k")), "the next one in the queue was notified")
			key, err := e.Next()
			require.NoError(t, err)
			require.Equal(t, "k", key)
		}
	}()
}

// The subscription is one connection, which is gone after Close and isn't replaced when it is lost.
func TestSubscriptionOwnsItsConnection(t *testing.T) {
	r, s := real(t, Config{})
	e, err := r.Subscribe(within(t))
	require.NoError(t, err)
	require.Equal(t, 1, subscribers(t, s))
	over := make(chan error, 1)
	go func() {
		_, err := e.Next()
		over <- err
	}()
	s.MustAsk("CLIENT", "KILL", "TYPE", "pubsub")
	require.ErrorIs(t, <-over, ErrConnection)
	gone := func() bool { return subscribers(t, s) == 0 } // the server frees a killed client a moment later
	require.Eventually(t, gone, patience, time.Millisecond)
	require.NoError(t, e.Close())

	e, err = r.Subscribe(within(t))
	require.NoError(t, err)
	go func() {
		_, err := e.Next()
		over <- err
	}()
	require.NoError(t, e.Close())
	require.ErrorIs(t, <-over, ErrClosed)
	require.Eventually(t, gone, patience, time.Millisecond)
}

// If go-redis subscribes again on its own, notifications may have been missed: the subscription is over.
func TestSubscribedAgain(t *testing.T) {
	f := startFake(t, func(args []string) string {
		if args[0] != "subscribe" {
			return ":1\r\n"
		}
		subscribed := "*3\r\n" + bulk("subscribe") + bulk(args[1]) + ":1\r\n"
		return subscribed + "*3\r\n" + bulk("message") + bulk(args[1]) + bulk("") + subscribed + hangUp
	})
	e, err := open(t, "redis://"+f.addr, Config{}).Subscribe(within(t))
	require.NoError(t, err)
	_, err = e.Next()
	require.ErrorIs(t, err, ErrConnection)
	require.ErrorContains(t, err, "the subscription's connection was lost")
	require.NoError(t, e.Close())
}

func TestSubscribeHeedsItsContext(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	// Only the context ends it within a minute.
	r := open(t, s.URL(), Config{})
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	s.Pause()
	began := time.Now()
	_, err := r.Subscribe(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 30*time.Second)
	s.Resume()
	s.Kill()
	_, err = r.Subscribe(within(t))
	require.ErrorIs(t, err, ErrConnection)
}

// A user who lacks a right that only waiters need can still lock and release.
func TestUsersWithoutTheRightsToWait(t *testing.T) {
	for name, test := range map[string]struct {
		rights    string
		subscribe bool // Subscribe is refused, otherwise Enqueue
	}{
		"no channel":   {"resetchannels ~* +@all", true},
		"no subscribe": {"&* ~* +@all -subscribe", true},
		"no publish":   {"&* ~* +@all -publish", true},
		"no queue":     {"&* ~k ~{k}:redlock +@all", false},
		"no lists":     {"&* ~* +subscribe +publish " + rights, false},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "no channel" {
				instancetest.Needs(t, 6, 2, "channels have rights")
			}
			s := instancetest.Start(t, instancetest.Config{})
			s.MustAsk(append([]string{"ACL", "SETUSER", "limited", "on", ">pw"}, strings.Fields(test.rights)...)...)
			r := open(t, "redis://limited:pw@"+s.Addr(), Config{})
			ctx := within(t)
			e, err := r.Subscribe(ctx)
			if test.subscribe {
				require.ErrorIs(t, err, ErrPermission)
				require.Eventually(t, func() bool { return subscribers(t, s) == 0 }, patience, time.Millisecond)
			} else {
				require.NoError(t, err)
				defer func() { require.NoError(t, e.Close()) }()
			}
			for range 3 {
				granted(t, r.Do(ctx, acquire("k", "v")))
				if !test.subscribe {
					failed(t, enqueue(ctx, r, "k", e.Address()), ErrPermission)
				}
				s.MustAsk("RPUSH", WaitersKey("k"), "a waiter")
				require.False(t, granted(t, r.Do(ctx, wake("k", "v"))).Notified)
				refused(t, r.Do(ctx, wake("k", "v")))
			}
		})
	}
}

// A user who may not release a lock can still notify the waiters of others.
func TestNotifiesDespiteAnotherLock(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	s.MustAsk("ACL", "SETUSER", "limited", "on", ">pw", "~mine", "~{*", "+@all")
	r := open(t, "redis://limited:pw@"+s.Addr(), Config{})
	ctx := within(t)
	granted(t, r.Do(ctx, acquire("mine", "v")))
	granted(t, enqueue(ctx, r, "mine", channelPrefix+"x"))
	failed(t, r.Do(ctx, wake("theirs", "v")), ErrPermission)
	require.False(t, granted(t, r.Do(ctx, wake("mine", "v"))).Notified, "nobody has subscribed")
	require.Equal(t, ":0", s.MustAsk("LLEN", WaitersKey("mine")))
}
