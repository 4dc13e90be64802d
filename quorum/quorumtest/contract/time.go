package contract

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// checkTTL: keys live as long as they should, to the millisecond, and end then.
func checkTTL(c *check) {
	const ttl = 33 * time.Millisecond
	for _, locks := range []func(wire.Request) wire.Request{alone, several} {
		for _, cmds := range [][]wire.Request{
			{timed(c.acquire("acquire", "v"), ttl)},
			{timed(c.bare("bare", "v"), ttl)},
			{timed(c.restore("restore", "v", 1), ttl)},
			{c.acquire("extend", "v"), c.extend("extend", "v", ttl)},
		} {
			last := len(cmds) - 1
			for _, cmd := range cmds[:last] {
				c.granted(locks(cmd))
			}
			c.expires(locks(cmds[last]))
		}
	}
}

// checkCounterTTL: counters expire, and each grant, raise and restore renews them.
func checkCounterTTL(c *check) {
	renewals := map[string][]wire.Request{
		"acquire": {several(c.release("acquire", "v")), several(c.acquire("acquire", "w"))},
		"raise":   {several(c.raise("raise", "v", 1))},
		"restore": {several(c.restore("restore", "v", 1))},
		"none":    {},
	}
	brief := func(name string) {
		cmd := several(c.acquire(name, "v"))
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
	for _, key := range slices.Concat(keysOf(several(c.look("none"))), keysOf(several(c.look("last")))) {
		c.await(func() bool { return !counted(key) }, "the counter didn't expire")
	}
	for name, cmds := range renewals {
		for _, key := range keysOf(several(c.look(name))) {
			require.Equal(c.t, len(cmds) > 0, counted(key), "%s didn't renew the counter", name)
		}
	}
}
