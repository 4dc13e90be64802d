package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// checkTTL bounds a key's lifetime from both sides, however slow the machine is: it begins
// after the request was sent, and ends at most a TTL after the reply arrived.
func checkTTL(c *check) {
	for name, start := range map[string]func(ttl time.Duration){
		"acquire": func(ttl time.Duration) {
			cmd := c.acquire("acquire", "v")
			cmd.TTL = ttl
			c.granted(cmd)
		},
		"bare": func(ttl time.Duration) {
			cmd := c.bare("bare", "v")
			cmd.TTL = ttl
			c.granted(cmd)
		},
		"restore": func(ttl time.Duration) {
			cmd := c.restore("restore", "v", 1)
			cmd.TTL = ttl
			c.granted(cmd)
		},
		"extend": func(ttl time.Duration) {
			c.granted(c.acquire("extend", "v"))
			c.granted(c.extend("extend", "v", ttl))
		},
	} {
		const ttl = 33 * time.Millisecond
		sent := c.clock.Now()
		start(ttl)
		answered := c.clock.Now()
		for {
			looked := c.clock.Now()
			if c.do(c.look(name)).Outcome == wire.Granted {
				break
			}
			require.LessOrEqual(c.t, looked.Sub(answered), ttl+grain+c.skew, "%s: the key outlives its TTL", name)
			c.clock.Sleep(time.Millisecond)
		}
		require.GreaterOrEqual(c.t, c.clock.Since(sent), ttl-grain, "%s: the key expired before its TTL", name)
	}
}

func checkClock(c *check) {
	ask := func(cmd wire.Request) wire.Request {
		cmd.Clock = true
		return cmd
	}
	for _, cmd := range []wire.Request{
		{Op: wire.Tick},
		ask(wire.Request{Op: wire.Tick}),
		ask(c.look("a")),
		ask(c.acquire("a", "v")), ask(c.acquire("a", "w")),
		ask(c.raise("a", "v", 1)), ask(c.raise("a", "w", 1)),
		ask(c.extend("a", "v", long)), ask(c.extend("a", "w", long)),
		ask(c.restore("a", "v", 1)), ask(c.restore("a", "w", 1)),
		ask(c.look("a")),
		ask(c.release("a", "v")), ask(c.release("a", "v")),
		ask(c.bare("b", "v")), ask(c.bare("b", "v")),
	} {
		before := c.clock.Now()
		vote := c.do(cmd)
		after := c.clock.Now()
		require.WithinRange(c.t, vote.Clock, before.Add(-grain-c.skew), after.Add(grain+c.skew), "%v", cmd.Op)
	}
}
