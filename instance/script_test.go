//go:build unix

package instance

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// What the proof of the tokens' order demands of the scripts, one test each.

// TestFlushedScripts: scripts that the server has lost are sent again.
func TestFlushedScripts(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		for range 3 {
			holder := value()
			ask("SCRIPT", "FLUSH")
			granted(t, r.Do(within(t), acquire("k", holder)))
			ask("SCRIPT", "FLUSH")
			granted(t, r.Do(within(t), request(wire.Release, "k", holder)))
		}
	})
}

// TestNoSecondSend: a failed vote is no reason for a second try.
func TestNoSecondSend(t *testing.T) {
	f := startFake(t, func([]string) string { return hangUp })
	r := open(t, "redis://"+f.addr, Config{})
	for i, req := range every() {
		before := len(f.commands())
		v := r.Do(within(t), req)
		require.Equal(t, wire.Failed, v.Outcome)
		require.False(t, v.Unsent)
		require.Equal(t, i+1, f.connections())
		require.Len(t, f.commands(), before+1, "%v", req.Op)
	}
}

// TestUnknownOperation is an error, not a panic.
func TestUnknownOperation(t *testing.T) {
	r, _ := mini(t, Config{})
	v := r.Do(within(t), wire.Request{Op: 99})
	require.True(t, failed(t, v, ErrConfig).Unsent)
	require.True(t, errors.Is(r.Do(within(t), wire.Request{}).Err, ErrConfig))
}
