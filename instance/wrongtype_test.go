//go:build unix

package instance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// TestKeysOfAnotherType: the error names the key that something else has written, and what to do about it. A counter
// is deleted only after MaxTTL, or tokens may fall.
func TestKeysOfAnotherType(t *testing.T) {
	t.Parallel()
	s := instancetest.Start(t, instancetest.Config{})
	r, err := instance.Open(s.URL(), instance.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	fence := wire.Fence{On: true, Ahead: 15 * time.Second, TTL: 24 * time.Hour}
	ask := func(op wire.Op, key string, also ...string) error {
		votes := make(chan wire.Vote, 1)
		req := wire.Request{Op: op, Key: key, Also: also, Value: "v", TTL: 10 * time.Second, Fence: fence}
		if op == wire.Raise || op == wire.Restore {
			req.Fence.Token = 7
		}
		r.Send(req, 5*time.Second, wire.ReceiverFunc(func(vote wire.Vote) { votes <- vote }))
		vote := <-votes
		require.Error(t, vote.Err, "%v", op)
		return vote.Err
	}
	s.MustAsk("RPUSH", "list", "x")
	for _, op := range []wire.Op{wire.Acquire, wire.Look, wire.Raise, wire.Restore} {
		err := ask(op, "list")
		require.ErrorIs(t, err, instance.ErrWrongType, "%v", op)
		require.ErrorContains(t, err, `"list"`, "%v", op)
		require.ErrorContains(t, err, "choose another resource name or delete the key")
	}
	s.MustAsk("HSET", instance.CounterKey("hash"), "f", "1")
	for _, op := range []wire.Op{wire.Acquire, wire.Look, wire.Restore} {
		err := ask(op, "hash")
		require.ErrorIs(t, err, wire.ErrCounter, "%v", op)
		require.NotErrorIs(t, err, instance.ErrWrongType, "%v", op)
		require.ErrorContains(t, err, `"{hash}:redlock" holds no token (WRONGTYPE`, "%v", op)
		require.ErrorContains(t, err, "when nobody has held the lock for MaxTTL (30s), and no sooner, or tokens may fall, delete it on this server")
		s.MustAsk("DEL", "hash")
	}
	s.MustAsk("SET", instance.CounterKey("text"), "not a number")
	for _, op := range []wire.Op{wire.Acquire, wire.Restore} {
		require.ErrorContains(t, ask(op, "text"), `"{text}:redlock" holds no token (`, "%v", op)
		s.MustAsk("DEL", "text")
	}
	require.ErrorContains(t, ask(wire.Restore, "free", "hash"), `"{free}:redlock", or another key of the lease holds no token`)
	require.ErrorContains(t, ask(wire.Acquire, "free", "list"), `"list"`)
}
