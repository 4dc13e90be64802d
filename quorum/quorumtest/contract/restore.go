package contract

import (
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

func checkRestore(c *check) {
	// On a server without a counter.
	sent := c.clock.Now()
	c.granted(c.restore("new", "v", 1000))
	require.EqualValues(c.t, 1000, c.held("new", "v", long, sent))
	c.granted(c.release("new", "v"))
	require.EqualValues(c.t, 1001, c.granted(c.acquire("new", "w")).Token)

	// On a server with a lower counter, or a higher one.
	token := c.expire("a", "v")
	sent = c.clock.Now()
	c.granted(c.restore("a", "v", token+5))
	require.Equal(c.t, token+5, c.held("a", "v", long, sent))
	c.granted(c.release("a", "v"))
	c.granted(c.restore("a", "v", token))
	require.Equal(c.t, token+5, c.do(c.look("a")).Token, "the counter was lowered")

	// On a server that has the key.
	c.granted(c.restore("a", "v", token+7))
	vote := c.do(c.look("a"))
	require.Equal(c.t, token+7, vote.Token)
	require.Equal(c.t, "v", vote.Holder)
}

func checkRestoreOthers(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.changesNothing("a", func() { c.refused(c.restore("a", "w", token+10)) })
	c.granted(c.bare("b", "v"))
	c.changesNothing("b", func() { c.refused(c.restore("b", "w", 10)) })
}

func checkRestoreBare(c *check) {
	bare := func(name string) wire.Request {
		cmd := c.restore(name, "v", 0)
		cmd.Fence.On, cmd.Fence.TTL, cmd.Fence.Set = false, 0, wire.Set{}
		return cmd
	}
	sent := c.clock.Now()
	c.granted(bare("a"))
	require.Zero(c.t, c.held("a", "v", long, sent), "there is a counter")
	c.granted(bare("a"))
	require.Zero(c.t, c.do(c.look("a")).Token, "there is a counter")
	c.granted(c.bare("b", "other"))
	c.changesNothing("b", func() { c.refused(bare("b")) })
}
