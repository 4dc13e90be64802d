package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
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
			c.hasLeft(vote.Remaining, long, sent)
			vote = c.refused(c.bare("a", value))
			if vote.Remaining != 0 { // the bare SET may not say
				c.hasLeft(vote.Remaining, long, sent)
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

func checkRestore(c *check) {
	// On a server without a counter.
	sent := c.clock.Now()
	old := fencing.Token(c.granted(wire.Request{Op: wire.Tick}).Clock.Add(-time.Second).UnixMicro())
	c.granted(c.restore("new", "v", old))
	require.Equal(c.t, old, c.held("new", "v", long, sent))
	c.granted(c.release("new", "v"))
	require.Equal(c.t, old+1, c.granted(c.acquire("new", "w")).Token)

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

func checkRelease(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.granted(c.release("a", "v"))
	require.Equal(c.t, token, c.free("a"), "the counter outlives the lock")
	c.changesNothing("a", func() { c.refused(c.release("a", "v")) })
}

func checkReleaseMine(c *check) {
	c.granted(c.acquire("a", "job-10"))
	for _, value := range []string{"w", "job-1", "job-100", "JOB-10", " job-10", "job-10 ", "job-*", "10"} {
		c.changesNothing("a", func() { c.refused(c.release("a", value)) })
	}
	c.changesNothing("new", func() { c.refused(c.release("new", "v")) })
	c.expire("b", "v")
	c.changesNothing("b", func() { c.refused(c.release("b", "v")) })
	c.granted(c.acquire("b", "w"))
	c.changesNothing("b", func() { c.refused(c.release("b", "v")) })
}

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
