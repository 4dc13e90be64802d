package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// notMine demands that requests for a lock that isn't the value's any more are refused: another
// has it, it was released, it has expired, or it never was.
func (c *check) notMine(requests ...func(name, value string) wire.Request) {
	c.t.Helper()
	refused := func(name string) {
		for _, request := range requests {
			c.refused(request(name, "v"))
		}
	}
	refused("new")
	c.expire("a", "v")
	refused("a")
	c.granted(c.acquire("a", "v"))
	c.granted(c.release("a", "v"))
	refused("a")
	// Values are compared in full.
	for _, value := range []string{"w", "vv", "V", " v", "v ", "v*", "v\n"} {
		c.granted(c.acquire("a", value))
		refused("a")
		c.granted(c.release("a", value))
	}
	c.granted(c.bare("b", "w"))
	refused("b")
}

func checkRaise(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	for _, step := range []fencing.Token{0, 1, 1000, 123_456_789} {
		c.granted(c.raise("a", "v", token+step))
		require.Equal(c.t, token+step, c.token("a"))
	}
	for _, lower := range []fencing.Token{token - 1, 9, 99, 10, 1} {
		c.granted(c.raise("a", "v", lower))
	}
	c.granted(c.release("a", "v"))
	c.granted(c.acquire("a", "v"))
	c.granted(c.release("a", "v"))

	// A missing counter is lower than any.
	c.granted(c.bare("b", "v"))
	c.granted(c.raise("b", "v", 5))
	require.EqualValues(c.t, 5, c.token("b"))
	c.granted(c.release("b", "v"))
	c.notMine(func(name, value string) wire.Request { return c.raise(name, value, token+1_000_000_000) })
}

func checkExtend(c *check) {
	c.granted(c.acquire("a", "v"))
	for _, ttl := range []time.Duration{2 * long, 10 * long, 30 * time.Second, 12_345 * time.Millisecond} {
		c.granted(c.extend("a", "v", ttl))
	}
	c.granted(c.release("a", "v"))
	c.notMine(func(name, value string) wire.Request { return c.extend(name, value, 2*long) })
}

func checkRestore(c *check) {
	// On a server without a counter.
	token := c.now() - minute
	c.granted(c.restore("new", "v", token))
	require.Equal(c.t, token, c.token("new"))
	c.granted(c.release("new", "v"))
	require.Equal(c.t, token+1, c.granted(c.acquire("new", "w")).Token)

	// On a server with a lower counter, or a higher one.
	c.expire("a", "v")
	token = c.token("a")
	c.granted(c.restore("a", "v", token+5))
	c.granted(c.release("a", "v"))
	c.granted(c.restore("a", "v", token))
	require.Equal(c.t, token+5, c.token("a"))

	// On a server that has the key, for less time or for more.
	c.granted(c.restore("a", "v", token+7))
	c.granted(timed(c.restore("a", "v", token+7), 2*long))
	c.granted(c.restore("a", "v", token+7))

	// Over nobody else, and without counters.
	bare := func(name, value string) wire.Request { return timed(c.request(wire.Restore, name, value), long) }
	c.granted(bare("bare", "v"))
	c.granted(bare("bare", "v"))
	require.Zero(c.t, c.token("bare"))
	for _, name := range []string{"a", "new", "bare"} {
		c.refused(c.restore(name, "other", token+10))
		c.refused(bare(name, "other"))
	}
}

func checkRelease(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.granted(c.release("a", "v"))
	require.Equal(c.t, token, c.token("a"), "the counter outlives the lock")
	c.refused(c.release("a", "v"))
	c.notMine(c.release)
}

func checkLook(c *check) {
	bare := c.look("a")
	bare.Fence.On = false
	for range 3 {
		require.Equal(c.t, wire.Granted, c.do(c.look("a")).Outcome)
		c.granted(bare)
	}
	c.granted(c.acquire("a", "v"))
	for range 3 {
		require.Equal(c.t, "v", c.refused(c.look("a")).Holder)
		c.refused(bare)
	}
	c.granted(c.release("a", "v"))
}
