//go:build unix

package instance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// The advice doesn't tell an operator to delete a counter that may be in order.
func TestCounterErrorOfSeveral(t *testing.T) {
	r, _ := real(t, Config{})
	ask := asker(t, r)
	now := time.Now().UnixMicro()
	ask("SET", CounterKey("a"), now-1e9)
	ask("SET", CounterKey("b"), now+8e9)
	for _, key := range []string{"a", "b"} {
		ask("SET", SetKey(key), fmt.Sprintf("%s 900000/0 ", set1.String()))
	}
	req := also(acquire("a", "v"), "b")
	req.Fence = wire.Fence{On: true, TTL: time.Hour, Ahead: time.Hour, Set: set1}
	vote := r.Do(within(t), req)
	require.ErrorIs(t, vote.Err, wire.ErrCounter)
	require.Contains(t, vote.Err.Error(), CounterKey("b"))
	require.NotContains(t, vote.Err.Error(), "DEL")
}

// A server without Lua is no instance. Verify and each request say why, for good, and nothing is
// left there. A release was sent, and was answered: package cleanup takes Unsent for silence, and
// would keep the delete forever.
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
	for _, req := range []wire.Request{
		{Op: wire.Acquire, Key: "a", Value: "v", TTL: time.Minute, Replace: "u"},
		also(acquire("a", "v"), "b"),
		{Op: wire.Release, Key: "a", Value: "v", Notify: true},
		also(wire.Request{Op: wire.Release, Key: "a", Value: "v"}, "b"),
	} {
		vote := r.Do(within(t), req)
		require.Equal(t, wire.Failed, vote.Outcome)
		said(vote.Err)
		require.Equal(t, req.Op == wire.Acquire, vote.Unsent, "%v", req.Op)
	}
	require.Equal(t, ":0", s.MustAsk("DBSIZE"))

	// One that has EVAL alone is none either.
	r, _ = real(t, Config{}, "--rename-command", "EVALSHA", "")
	_, err = r.Probe(within(t), wire.Known{})
	said(err)
	_, s = real(t, Config{})
	s.MustAsk("ACL", "SETUSER", "half", "on", ">pw", "~*", "+@all", "-evalsha")
	_, err = open(t, "redis://half:pw@"+s.Addr(), Config{}).Probe(within(t), wire.Known{})
	require.ErrorIs(t, err, ErrPermission)
	require.ErrorContains(t, err, "evalsha")
}
