package contract

import (
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
)

func checkRaise(c *check) {
	sent := c.clock.Now()
	token := c.granted(c.acquire("a", "v")).Token
	for _, step := range []fencing.Token{0, 1, 1000, 123_456_789} {
		c.granted(c.raise("a", "v", token+step))
		require.Equal(c.t, token+step, c.held("a", "v", long, sent), "raised by %d", step)
	}
	token += 123_456_789
	for _, lower := range []fencing.Token{token - 1, 9, 99, 10, 1} {
		c.changesNothing("a", func() { c.granted(c.raise("a", "v", lower)) })
	}
	c.granted(c.release("a", "v"))
	require.Equal(c.t, token+1, c.granted(c.acquire("a", "w")).Token)

	// A missing counter is lower than any.
	c.granted(c.bare("b", "v"))
	c.granted(c.raise("b", "v", 5))
	require.EqualValues(c.t, 5, c.do(c.look("b")).Token)
}

func checkRaiseMine(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.changesNothing("a", func() { c.refused(c.raise("a", "w", token+10)) })
	c.granted(c.release("a", "v"))
	c.changesNothing("a", func() { c.refused(c.raise("a", "v", token+10)) })
	token = c.expire("b", "v")
	c.changesNothing("b", func() { c.refused(c.raise("b", "v", token+10)) })
	c.changesNothing("new", func() { c.refused(c.raise("new", "v", 10)) })
}
