//go:build unix

package instance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// TestManyTransactions: the replies to MULTI are not kept. They would fill a buffer after 13 107
// transactions, and then every further one would fail.
func TestManyTransactions(t *testing.T) {
	r, _ := real(t, Config{})
	run := runOf(t, r)
	for i := range 14_000 {
		req := acquire("k", value())
		req.Run = run
		v := r.Do(within(t), req)
		require.Equal(t, wire.Granted, v.Outcome, "%d: %v", i, v.Err)
		granted(t, r.Do(within(t), request(wire.Release, "k", req.Value)))
	}
}
