package contract

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// tooFar demands that the request fails because the counter would reach the token.
func (c *check) tooFar(cmd wire.Request, token fencing.Token) {
	c.t.Helper()
	var vote wire.Vote
	from := c.clock.Now()
	c.changesNothing(strings.TrimPrefix(cmd.Key, c.prefix), func() { vote = c.send(cmd) })
	require.NoError(c.t, wellFormed(cmd, vote))
	require.Equal(c.t, wire.Failed, vote.Outcome, "%v with a counter too far ahead", cmd.Op)
	require.True(c.t, vote.Unsent || cmd.Op == wire.Raise, "%v leaves nothing to undo", cmd.Op)
	require.ErrorIs(c.t, vote.Err, wire.ErrCounter)
	var counter *wire.CounterError
	require.ErrorAs(c.t, vote.Err, &counter)
	require.Equal(c.t, token, counter.Token)
	require.Equal(c.t, cmd.Fence.Ahead, counter.Most)
	require.WithinRange(c.t, counter.Clock, from.Add(-grain-c.skew), c.clock.Now().Add(grain+c.skew))
}

// checkAcquireAhead: a grant raises a counter no further ahead of the clock than the request
// allows.
func checkAcquireAhead(c *check) {
	const minute = fencing.Token(time.Minute / time.Microsecond)
	commands := func(name, value, replace string) map[string]wire.Request {
		all := map[string]wire.Request{}
		for what, reserve := range map[string]int{"acquire": 0, "reserve": 3} {
			cmd := c.acquire(name, value)
			cmd.Fence.Ahead, cmd.Fence.Reserve, cmd.Replace = 20*time.Minute, reserve, replace
			all[what] = cmd
		}
		return all
	}
	token := c.granted(c.acquire("a", "v")).Token + 30*minute
	c.granted(c.raise("a", "v", token))
	for _, cmd := range commands("a", "w", "v") {
		c.tooFar(cmd, token+1)
	}
	c.granted(c.release("a", "v"))
	for _, cmd := range commands("a", "w", "") {
		c.tooFar(cmd, token+1)
		cmd.Run = c.probe().Run()
		c.tooFar(cmd, token+1)
	}
	require.Equal(c.t, token+1, c.granted(c.acquire("a", "w")).Token, "a client that lets it")

	// A counter that is a little less ahead counts on.
	token = c.granted(c.acquire("b", "v")).Token + 15*minute
	c.granted(c.raise("b", "v", token))
	c.granted(c.release("b", "v"))
	for _, cmd := range commands("b", "w", "") {
		token++
		require.Equal(c.t, token, c.granted(cmd).Token)
		c.granted(c.release("b", "w"))
	}
	// A counter that starts from the clock does so with any bound.
	cmd := c.acquire("c", "v")
	cmd.Fence.Ahead = time.Microsecond
	c.granted(cmd)

	// No bound goes beyond the last token.
	c.granted(c.acquire("d", "v"))
	last := c.raise("d", "v", fencing.MaxToken)
	last.Fence.Ahead = endless
	c.granted(last)
	c.granted(c.release("d", "v"))
	for _, cmd := range commands("d", "w", "") {
		cmd.Fence.Ahead = endless
		c.tooFar(cmd, fencing.MaxToken+1)
	}
}

// checkLiftAhead: no request lifts a counter further ahead of the clock than it allows,
// whatever tokens other servers issued.
func checkLiftAhead(c *check) {
	const minute = fencing.Token(time.Minute / time.Microsecond)
	now := fencing.Token(c.granted(wire.Request{Op: wire.Tick}).Clock.UnixMicro())
	for i, test := range []struct {
		lift func(name, value string, token fencing.Token) wire.Request
		have func(name string)
	}{
		{c.raise, func(name string) { c.granted(c.acquire(name, "v")) }},
		{c.raise, func(name string) { c.granted(c.bare(name, "v")) }}, // the counter was lost
		{c.restore, func(name string) { c.granted(c.acquire(name, "v")) }},
		{c.restore, func(name string) { c.granted(c.acquire(name, "v")); c.granted(c.release(name, "v")) }},
		{c.restore, func(string) {}},
	} {
		name := fmt.Sprint("a", i)
		test.have(name)
		lift := func(token fencing.Token) wire.Request {
			cmd := test.lift(name, "v", token)
			cmd.Fence.Ahead = 20 * time.Minute
			return cmd
		}
		c.tooFar(lift(now+30*minute), now+30*minute)
		c.tooFar(lift(fencing.MaxToken), fencing.MaxToken)
		c.granted(lift(now + 15*minute))
		require.Equal(c.t, now+15*minute, c.do(c.look(name)).Token)

		// A counter that is there already isn't lifted.
		c.granted(test.lift(name, "v", now+30*minute))
		c.granted(lift(now + 29*minute))
		require.Equal(c.t, now+30*minute, c.do(c.look(name)).Token)
	}
}

func checkCounterTTL(c *check) {
	cmd := c.acquire("a", "v")
	cmd.TTL, cmd.Fence.TTL = 5*time.Millisecond, short
	c.granted(cmd)
	renewals := map[string]wire.Request{
		"acquire": c.acquire("acquire", "w"),
		"raise":   c.raise("raise", "v", 1),
		"restore": c.restore("restore", "v", 1),
	}
	for name, renewal := range renewals {
		cmd := c.acquire(name, "v")
		cmd.Fence.TTL = short
		c.granted(cmd)
		if name == "acquire" {
			c.granted(c.release(name, "v"))
		}
		c.granted(renewal)
	}
	for until := c.clock.Now().Add(patience); c.do(c.look("a")).Token != 0; {
		require.True(c.t, c.clock.Now().Before(until), "the counter didn't expire")
		c.clock.Sleep(time.Millisecond)
	}
	// The old expiry of the renewed counters is about now. A lock with a short TTL lets it
	// pass.
	marker := c.bare("marker", "v")
	marker.TTL = short
	c.granted(marker)
	c.awaitFree("marker")
	for name := range renewals {
		require.NotZero(c.t, c.do(c.look(name)).Token, "%s didn't renew the counter", name)
	}
}
