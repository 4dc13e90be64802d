package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// checkTTL bounds a key's lifetime from both sides, however slow the machine is: it begins
// after the request was sent, and ends at most a TTL after the reply arrived.
func checkTTL(c *check) {
	const ttl = 33 * time.Millisecond
	for name, cmds := range map[string][]wire.Request{
		"acquire": {timed(c.acquire("acquire", "v"), ttl)},
		"bare":    {timed(c.bare("bare", "v"), ttl)},
		"restore": {timed(c.restore("restore", "v", 1), ttl)},
		"extend":  {c.acquire("extend", "v"), c.extend("extend", "v", ttl)},
	} {
		var sent, answered time.Time
		for _, cmd := range cmds {
			sent = c.clock.Now()
			require.Equal(c.t, wire.Granted, c.send(cmd).Outcome, name)
			answered = c.clock.Now()
		}
		for _, key := range keysOf(cmds[0]) {
			for {
				looked := c.clock.Now()
				if c.send(wire.Request{Op: wire.Look, Key: key}).Outcome == wire.Granted {
					break
				}
				require.LessOrEqual(c.t, looked.Sub(answered), ttl+grain+c.skew, "%s: the key outlives its TTL", name)
				c.clock.Sleep(time.Millisecond)
			}
		}
		require.GreaterOrEqual(c.t, c.clock.Since(sent), ttl-grain, "%s: the key expired before its TTL", name)
	}
}

func checkCounterTTL(c *check) {
	counters := func(name string) (all []wire.Vote) {
		for _, key := range keysOf(c.acquire(name, "")) {
			all = append(all, c.send(wire.Request{Op: wire.Look, Key: key, Fence: wire.Fence{On: true}}))
		}
		return all
	}
	brief := func(name string) wire.Request {
		cmd := c.acquire(name, "v")
		cmd.Fence.TTL = short
		return cmd
	}
	renewals := map[string][]wire.Request{
		"acquire": {c.release("acquire", "v"), c.acquire("acquire", "w")},
		"raise":   {c.raise("raise", "v", 1)},
		"restore": {c.restore("restore", "v", 1)},
		"none":    {},
	}
	for name, cmds := range renewals {
		for _, cmd := range append([]wire.Request{brief(name)}, cmds...) {
			require.Equal(c.t, wire.Granted, c.send(cmd).Outcome)
		}
	}
	// When the others have expired, it is past the old expiry of the renewed ones, too.
	last := brief("last")
	require.Equal(c.t, wire.Granted, c.send(last).Outcome)
	for _, name := range []string{"none", "last"} {
		for i := range counters(name) {
			for until := c.clock.Now().Add(patience); counters(name)[i].Token != 0; {
				require.True(c.t, c.clock.Now().Before(until), "the counter didn't expire")
				c.clock.Sleep(time.Millisecond)
			}
		}
	}
	for name, cmds := range renewals {
		for _, vote := range counters(name) {
			require.Equal(c.t, len(cmds) > 0, vote.Token != 0, "%s didn't renew the counter", name)
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
