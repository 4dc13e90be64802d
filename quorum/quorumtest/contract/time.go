package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
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

// checkCounterTTL: a counter lives until the clock has passed its value by Ahead and Fence.TTL, and then
// expires. A raise and a restore may prolong its life. Nothing shortens it.
func checkCounterTTL(c *check) {
	near := func(cmd wire.Request, ttl time.Duration) wire.Request {
		cmd.Fence.Ahead, cmd.Fence.TTL = 2*time.Second, ttl
		return several(cmd)
	}
	granted := func(cmd wire.Request) wire.Vote {
		c.t.Helper()
		vote := c.send(cmd)
		require.Equal(c.t, wire.Granted, vote.Outcome, "%v: %v", cmd.Op, vote.Err)
		return vote
	}
	counted := func(key string) bool { // the model doesn't know when exactly counters end
		return c.send(wire.Request{Op: wire.Look, Keys: []string{key}, Fence: wire.Fence{On: true}}).Token != 0
	}
	now := func() fencing.Token {
		return fencing.Token(granted(wire.Request{Op: wire.Tick, Clock: true}).Clock.UnixMicro())
	}
	start := func(name string, ttl time.Duration) {
		cmd := near(c.acquire(name, "v"), ttl)
		cmd.Fence.Token = now()
		granted(cmd)
	}
	const second = minute / 60
	lift := func(request func(name, value string, token fencing.Token) wire.Request, by fencing.Token, ttl time.Duration) func(string) wire.Request {
		return func(name string) wire.Request { return near(request(name, "v", now()+by), ttl) }
	}

	// Which of them outlive a counter that is made last.
	cases := map[string]struct {
		ttl   time.Duration
		then  func(name string) wire.Request
		lives bool
	}{
		"none": {ttl: short},
		"acquired again, briefly": {time.Hour, func(name string) wire.Request {
			granted(several(c.release(name, "v")))
			return near(c.acquire(name, "w"), time.Millisecond)
		}, true},
		"raised for long":       {short, lift(c.raise, second/1000, time.Hour), true},
		"restored for long":     {short, lift(c.restore, second/1000, time.Hour), true},
		"raised briefly":        {time.Hour, lift(c.raise, second/1000, time.Millisecond), true},
		"restored briefly":      {time.Hour, lift(c.restore, second/1000, time.Millisecond), true},
		"raised far":            {short, lift(c.raise, second, short), true},
		"restored far":          {short, lift(c.restore, second, short), true},
		"raised to what it has": {time.Hour, func(name string) wire.Request { return near(c.raise(name, "v", 1), short) }, true},
	}
	for name, is := range cases {
		if start(name, is.ttl); is.then != nil {
			granted(is.then(name))
		}
	}
	made := now()
	start("last", short)
	for _, name := range []string{"none", "last"} {
		for _, key := range several(c.look(name)).Keys {
			c.await(func() bool { return !counted(key) }, "the counter didn't expire")
		}
	}
	lived := time.Duration(now()-made) * time.Microsecond
	require.GreaterOrEqual(c.t, lived, 2*time.Second+short-grain, "the counter expired too early")
	for name, is := range cases {
		for _, key := range several(c.look(name)).Keys {
			require.Equal(c.t, is.lives, counted(key), name)
		}
	}
	for _, key := range several(c.look("endless")).Keys {
		c.await(func() bool { return !counted(key) }, "the counter has no expiry")
	}
}
