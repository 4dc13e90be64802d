package contract

import (
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

func checkAcquire(c *check) {
	first := c.granted(c.acquire("a", "v")).Token
	for _, value := range []string{"other", "v"} {
		c.refused(c.acquire("a", value))
		c.refused(c.bare("a", value))
	}
	c.granted(c.release("a", "v"))
	c.expire("a", "v")
	require.Equal(c.t, first+2, c.granted(c.acquire("a", "v")).Token, "tokens rise by one")

	c.granted(c.bare("b", "v"))
	c.refused(c.acquire("b", "other"))
	require.Zero(c.t, c.token("b"), "a refused Acquire has made a counter")
}

func checkAcquireBare(c *check) {
	c.granted(c.bare("a", "v"))
	require.Zero(c.t, c.token("a"), "there is a counter")
	c.granted(c.release("a", "v"))

	c.granted(c.acquire("a", "v"))
	c.granted(c.release("a", "v"))
	c.granted(under(c.bare("a", "w"), wire.Set{Name: "other", Version: 1, N: 3, Q: 2}))
	c.granted(c.release("a", "w"))
	c.granted(c.acquire("a", "v"))
}

// checkReplace: a round replaces what an earlier one may have left, on all keys or none.
func checkReplace(c *check) {
	for name, acquire := range map[string]func(name, value string) wire.Request{"fence": c.acquire, "bare": c.bare} {
		c.granted(acquire(name, "v0"))
		require.True(c.t, c.granted(replacing(acquire(name, "v1"), "v0")).Replaced)
		c.refused(replacing(acquire(name, "v2"), "v0"))
		c.granted(c.release(name, "v1"))
		require.False(c.t, c.granted(replacing(acquire(name, "v3"), "v1")).Replaced, "there was nothing to replace")
	}
	c.clock.Sleep(tick)
	if c.keys == 1 {
		require.Equal(c.t, 4, c.granted(reserving(replacing(c.acquire("fence", "v4"), "v3"), 4)).Reserved)
		c.granted(replacing(c.acquire("fence", "v3"), "v4"))
	}
	newer, other := main, main
	newer.Version++
	other.Name = "others"
	c.mismatch(under(replacing(c.acquire("fence", "v4"), "v3"), other))
	require.True(c.t, c.granted(under(replacing(c.acquire("fence", "v4"), "v3"), newer)).Replaced)
	c.mismatch(replacing(c.acquire("fence", "v5"), "v4"))
}

func checkNoExpiry(c *check) {
	c.put("a", "operator", wire.NoExpiry)
	c.refused(c.acquire("a", "v"))
	c.refused(c.bare("a", "v"))
	c.refused(c.extend("a", "v", long))
	c.refused(c.release("a", "v"))
	c.granted(c.restore("a", "operator", 5))
	c.put("b", "other", long)
	c.refused(c.acquire("b", "v"))
}
