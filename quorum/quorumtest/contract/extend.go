package contract

import (
	"time"

	"github.com/stretchr/testify/require"
)

func checkExtend(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	for _, ttl := range []time.Duration{2 * long, 10 * long, 30 * time.Second, 12_345 * time.Millisecond} {
		sent := c.clock.Now()
		c.granted(c.extend("a", "v", ttl))
		require.Equal(c.t, token, c.held("a", "v", ttl, sent), "Extend has touched the counter")
	}
	c.granted(c.extend("a", "v", time.Millisecond))
	c.awaitFree("a")
}

func checkExtendMine(c *check) {
	c.granted(c.acquire("a", "v"))
	c.changesNothing("a", func() { c.refused(c.extend("a", "w", 2*long)) })
	c.granted(c.release("a", "v"))
	c.changesNothing("a", func() { c.refused(c.extend("a", "v", long)) })
	c.expire("b", "v")
	c.changesNothing("b", func() { c.refused(c.extend("b", "v", long)) })
	c.granted(c.acquire("b", "w"))
	c.changesNothing("b", func() { c.refused(c.extend("b", "v", 2*long)) })
	c.changesNothing("new", func() { c.refused(c.extend("new", "v", long)) })
}
