//go:build unix

package instance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

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

func TestNothingToClose(t *testing.T) {
	for _, g := range []*Group{nil, {}} {
		require.Empty(t, g.Instances())
		require.Empty(t, g.Members())
		require.NoError(t, g.Close())
	}
	var none *Redis
	require.NoError(t, none.Close())
}
