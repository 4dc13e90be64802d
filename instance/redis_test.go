//go:build unix

package instance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// TestOperations walks through all operations, with fencing.
func TestOperations(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		ctx, mine, theirs := within(t), value(), value()

		v := granted(t, r.Do(ctx, request(wire.Look, "k", "")))
		require.Zero(t, v.Token)
		v = granted(t, r.Do(ctx, acquire("k", mine)))
		first := v.Token
		require.True(t, first.Valid())
		require.False(t, v.Clock.IsZero())
		require.Equal(t, mine, ask("GET", "k"))
		require.Equal(t, first.String(), tokenIn(ask, "k"))
		require.Equal(t, set1.String(), setIn(ask, "k"))
		require.InDelta(t, 10_000, ask("PTTL", "k"), 5000)
		require.InDelta(t, 5_400_000, ask("PTTL", CounterKey("k")), 10_000, "six quarters")
		require.InDelta(t, 5_400_000, ask("PTTL", SetKey("k")), 10_000)

		v = refused(t, r.Do(ctx, acquire("k", theirs)))
		require.Zero(t, v.Token)
		require.InDelta(t, 10*time.Second, v.Remaining, float64(5*time.Second))
		require.Equal(t, first.String(), tokenIn(ask, "k"), "a refusal changes nothing")

		v = refused(t, r.Do(ctx, request(wire.Look, "k", "")))
		require.Equal(t, mine, v.Holder)
		require.Equal(t, first, v.Token)
		require.Positive(t, v.Remaining)

		raise := request(wire.Raise, "k", mine)
		raise.Fence.Token = first + 5
		granted(t, r.Do(ctx, raise))
		require.Equal(t, (first + 5).String(), tokenIn(ask, "k"))
		raise.Fence.Token = first + 2
		granted(t, r.Do(ctx, raise))
		require.Equal(t, (first + 5).String(), tokenIn(ask, "k"), "never lowered")
		raise.Value, raise.Fence.Token = theirs, first+9
		refused(t, r.Do(ctx, raise))
		raise.Key, raise.Value = "free", mine
		refused(t, r.Do(ctx, raise))
		require.Nil(t, tokenIn(ask, "free"))

		extend := request(wire.Extend, "k", mine)
		extend.TTL = time.Minute
		granted(t, r.Do(ctx, extend))
		require.InDelta(t, 60_000, ask("PTTL", "k"), 5000)
		extend.Value = theirs
		refused(t, r.Do(ctx, extend))
		extend.Key = "free"
		refused(t, r.Do(ctx, extend))
		require.Nil(t, ask("GET", "free"))

		refused(t, r.Do(ctx, request(wire.Release, "k", theirs)))
		granted(t, r.Do(ctx, request(wire.Release, "k", mine)))
		refused(t, r.Do(ctx, request(wire.Release, "k", mine)))
		require.Nil(t, ask("GET", "k"))

		v = granted(t, r.Do(ctx, request(wire.Look, "k", "")))
		require.Equal(t, first+5, v.Token)
		v = granted(t, r.Do(ctx, acquire("k", theirs)))
		require.Equal(t, first+6, v.Token)

		v = granted(t, r.Do(ctx, wire.Request{Op: wire.Tick, Clock: true}))
		require.False(t, v.Clock.IsZero())
	})
}

// TestRestore restores leases, and nothing else.
func TestRestore(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		ctx, mine := within(t), value()
		restore := request(wire.Restore, "k", mine)
		restore.Fence.Token = 1000

		granted(t, r.Do(ctx, restore))
		require.Equal(t, mine, ask("GET", "k"))
		require.Equal(t, "1000", tokenIn(ask, "k"))
		require.Equal(t, set1.String(), setIn(ask, "k"))
		require.Empty(t, runIn(ask, "k"), "it vouches for nothing")
		require.InDelta(t, 5_400_000, ask("PTTL", CounterKey("k")), 10_000)
		require.InDelta(t, 5_400_000, ask("PTTL", SetKey("k")), 10_000)

		ask("PEXPIRE", "k", 5000)
		counted(ask, "k", 2000, "other@1 N=3 Q=2", "another run")
		granted(t, r.Do(ctx, restore))
		require.InDelta(t, restore.TTL.Milliseconds(), ask("PTTL", "k"), 500, "a key that is ours gets the time of the others")
		require.Equal(t, "other@1 N=3 Q=2", setIn(ask, "k"), "no vote on the set")
		require.Equal(t, "another run", runIn(ask, "k"))
		require.Equal(t, "2000", tokenIn(ask, "k"))

		restore.Value, restore.Fence.Token = value(), 3000
		refused(t, r.Do(ctx, restore))
		require.Equal(t, "2000", tokenIn(ask, "k"))

		bare := request(wire.Restore, "bare", mine)
		bare.Fence.On = false
		granted(t, r.Do(ctx, bare))
		require.Equal(t, mine, ask("GET", "bare"))
		require.Equal(t, int64(0), ask("EXISTS", CounterKey("bare"), SetKey("bare")), "no counter without fencing")
	})
}

// TestAcquireWithoutFence is the SET NX PX of the Redis document.
func TestAcquireWithoutFence(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		for _, clock := range []bool{false, true} {
			ask("DEL", "k")
			req := acquire("k", value())
			req.Fence.On, req.Clock = false, clock
			v := granted(t, r.Do(within(t), req))
			require.Zero(t, v.Token)
			require.Equal(t, clock, !v.Clock.IsZero())
			require.Equal(t, req.Value, ask("GET", "k"))
			require.Equal(t, int64(0), ask("EXISTS", CounterKey("k"), SetKey("k")))

			v = refused(t, r.Do(within(t), req))
			require.Equal(t, clock, !v.Clock.IsZero())
			require.InDelta(t, 10*time.Second, v.Remaining, float64(5*time.Second))
			ask("PERSIST", "k")
			require.Equal(t, wire.NoExpiry, refused(t, r.Do(within(t), req)).Remaining)
		}
	})
}

// TestAnyValueIsAHolder reads keys with values that no lock has.
func TestAnyValueIsAHolder(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		for _, holder := range []string{"", "\r\n", "a\x00b", "*7\r\n$1\r\nx\r\n", string(make([]byte, 10_000)), "-ERR no", "\xff\xfe"} {
			ask("SET", "k", holder)
			v := refused(t, r.Do(within(t), request(wire.Look, "k", "")))
			require.Equal(t, holder, v.Holder)
			require.Equal(t, wire.NoExpiry, v.Remaining)
			require.Equal(t, wire.NoExpiry, refused(t, r.Do(within(t), acquire("k", value()))).Remaining)
			refused(t, r.Do(within(t), request(wire.Release, "k", value())))
		}
	})
}

// TestWrongTypes meets keys and counters that don't come from this library.
func TestWrongTypes(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		ctx := within(t)
		ask("RPUSH", "list", "x")
		refused(t, r.Do(ctx, acquire("list", value())))
		refused(t, r.Do(ctx, request(wire.Extend, "list", value())))
		refused(t, r.Do(ctx, request(wire.Release, "list", value())))
		for _, op := range []wire.Op{wire.Raise, wire.Restore, wire.Look} {
			req := request(op, "list", value())
			req.Fence.Token = 1
			failed(t, r.Do(ctx, req), ErrWrongType)
		}
		require.Equal(t, int64(1), ask("LLEN", "list"))

		ask("HSET", "{k}:redlock", "token", "5")
		failed(t, r.Do(ctx, acquire("k", value())), ErrWrongType)
		require.Nil(t, ask("GET", "k"), "nothing was changed")
	})
}

func TestNilAndZeroGroup(t *testing.T) {
	for _, g := range []*Group{nil, {}} {
		require.Empty(t, g.Instances())
		require.Empty(t, g.Members())
		require.NoError(t, g.Close())
	}
}
