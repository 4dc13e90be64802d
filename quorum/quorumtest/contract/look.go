package contract

import (
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

func checkLook(c *check) {
	require.Zero(c.t, c.free("a"), "a resource that was never locked has a counter")
	require.Zero(c.t, c.free("a"), "Look has made a counter")
	token := c.granted(c.acquire("a", "v")).Token
	c.changesNothing("a", func() {
		for range 3 {
			vote := c.refused(c.look("a"))
			require.Equal(c.t, token, vote.Token)
		}
		bare := c.look("a")
		bare.Fence.On = false
		vote := c.refused(bare)
		require.Equal(c.t, "v", vote.Holder)
		require.Positive(c.t, vote.Remaining)
	})
	c.granted(c.release("a", "v"))
	require.Equal(c.t, token, c.free("a"))
}

func checkNoExpiry(c *check) {
	raw, ok := c.inst.(Putter)
	if !ok {
		c.t.Skip("the instance is no Putter")
		return
	}
	raw.Put(c.key("a"), "operator", wire.NoExpiry)
	c.changesNothing("a", func() {
		require.Equal(c.t, wire.NoExpiry, c.refused(c.look("a")).Remaining)
		require.Equal(c.t, wire.NoExpiry, c.refused(c.acquire("a", "v")).Remaining)
		if remaining := c.refused(c.bare("a", "v")).Remaining; remaining != 0 {
			require.Equal(c.t, wire.NoExpiry, remaining)
		}
		c.refused(c.extend("a", "v", long))
		c.refused(c.release("a", "v"))
	})
	sent := c.clock.Now()
	raw.Put(c.key("b"), "other", long)
	require.Zero(c.t, c.held("b", "other", long, sent))
}
