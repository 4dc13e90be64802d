package contract

import (
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

func checkAcquireFree(c *check) {
	sent := c.clock.Now()
	vote := c.granted(c.acquire("a", "v"))
	require.Equal(c.t, vote.Token, c.held("a", "v", long, sent), "the vote carries the counter")
}

func checkAcquireHeld(c *check) {
	sent := c.clock.Now()
	c.granted(c.acquire("a", "v"))
	for _, value := range []string{"other", "v"} {
		c.changesNothing("a", func() {
			vote := c.refused(c.acquire("a", value))
			c.lives(vote.Remaining, long, sent)
			vote = c.refused(c.bare("a", value))
			if vote.Remaining != 0 { // the bare SET may not say
				c.lives(vote.Remaining, long, sent)
			}
		})
	}
	// The key may also have been set without a counter.
	sent = c.clock.Now()
	c.granted(c.bare("b", "v"))
	c.changesNothing("b", func() { c.refused(c.acquire("b", "other")) })
	require.Zero(c.t, c.held("b", "v", long, sent), "a refused Acquire has made a counter")
}

func checkAcquireBare(c *check) {
	sent := c.clock.Now()
	c.granted(c.bare("a", "v"))
	require.Zero(c.t, c.held("a", "v", long, sent), "there is a counter")
	c.granted(c.release("a", "v"))

	token := c.granted(c.acquire("a", "v")).Token
	c.granted(c.release("a", "v"))
	other := c.bare("a", "w")
	other.Fence.Set = wire.Set{Name: "other", Version: 1, N: 3, Q: 2}
	c.granted(other)
	vote := c.do(c.look("a"))
	require.Equal(c.t, token, vote.Token, "the counter was touched")
	c.granted(c.release("a", "w"))
	require.Equal(c.t, token+1, c.granted(c.acquire("a", "v")).Token, "the counter or the set was touched")
}
