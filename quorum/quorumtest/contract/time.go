package contract

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// checkTTL: keys live as long as they should, to the millisecond, and end then.
func checkTTL(c *check) {
	for _, ttl := range []time.Duration{12_345 * time.Millisecond, 33 * time.Millisecond} {
		for name, cmds := range map[string][]wire.Request{
			"acquire": {timed(c.acquire("acquire", "v"), ttl)},
			"bare":    {timed(c.bare("bare", "v"), ttl)},
			"restore": {timed(c.restore("restore", "v", 1), ttl)},
			"extend":  {c.acquire("extend", "v"), c.extend("extend", "v", ttl)},
		} {
			last := len(cmds) - 1
			for _, cmd := range cmds[:last] {
				c.granted(cmd)
			}
			if ttl < time.Second {
				c.expires(cmds[last])
				continue
			}
			c.granted(cmds[last])
			c.granted(c.release(name, "v"))
		}
	}
}

// checkCounterTTL: counters expire, and each grant, raise and restore renews them.
func checkCounterTTL(c *check) {
	renewals := map[string][]wire.Request{
		"acquire": {c.release("acquire", "v"), c.acquire("acquire", "w")},
		"raise":   {c.raise("raise", "v", 1)},
		"restore": {c.restore("restore", "v", 1)},
		"none":    {},
	}
	brief := func(name string) {
		cmd := c.acquire(name, "v")
		cmd.Fence.TTL = short
		require.Equal(c.t, wire.Granted, c.send(cmd).Outcome)
	}
	counted := func(key string) bool { // the model doesn't know when exactly counters end
		return c.send(wire.Request{Op: wire.Look, Key: key, Fence: wire.Fence{On: true}}).Token != 0
	}
	for name, cmds := range renewals {
		brief(name)
		for _, cmd := range cmds {
			require.Equal(c.t, wire.Granted, c.send(cmd).Outcome)
		}
	}
	brief("last") // has expired last: it is past the old end of those that were renewed, too
	for _, key := range slices.Concat(keysOf(c.acquire("none", "")), keysOf(c.acquire("last", ""))) {
		c.await(func() bool { return !counted(key) }, "the counter didn't expire")
	}
	for name, cmds := range renewals {
		for _, key := range keysOf(c.acquire(name, "")) {
			require.Equal(c.t, len(cmds) > 0, counted(key), "%s didn't renew the counter", name)
		}
	}
}

// checkClock: a server tells its clock where it is asked to, and only there. The model sees to
// that.
func checkClock(c *check) {
	for _, clock := range []bool{true, false} {
		for _, cmd := range []wire.Request{
			{Op: wire.Tick},
			c.look("a"), c.bare("a", "v"), c.bare("a", "w"), c.look("a"),
			c.raise("a", "v", 1), c.raise("a", "w", 1),
			c.extend("a", "v", long), c.extend("a", "w", long),
			c.restore("a", "v", 1), c.restore("a", "w", 1),
			c.release("a", "v"), c.release("a", "v"),
		} {
			cmd.Clock = clock
			c.do(cmd)
		}
	}
}
