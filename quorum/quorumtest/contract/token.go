package contract

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

func checkTokens(c *check) {
	last := c.granted(c.acquire("a", "v0")).Token
	for i := 1; i <= 5; i++ {
		value, before := fmt.Sprint("v", i), fmt.Sprint("v", i-1)
		c.refused(c.acquire("a", value))
		c.granted(c.release("a", before))
		require.Equal(c.t, last, c.free("a"), "Release or a refused Acquire has touched the counter")
		vote := c.granted(c.acquire("a", value))
		require.Equal(c.t, last+1, vote.Token, "after a release")
		last = vote.Token
	}
	c.granted(c.release("a", "v5"))
	require.Equal(c.t, last+1, c.expire("a", "x"))
	require.Equal(c.t, last+1, c.free("a"))
	require.Equal(c.t, last+2, c.granted(c.acquire("a", "y")).Token, "after an expiry")
}

// checkSeed allows a second, because the server may round.
func checkSeed(c *check) {
	tick := wire.Request{Op: wire.Tick, Clock: true}
	before := c.granted(tick).Clock
	token := c.granted(c.acquire("a", "v")).Token
	after := c.granted(tick).Clock
	require.GreaterOrEqual(c.t, int64(token), before.Add(-time.Second).UnixMicro(), "an instance that lost its data hands out old tokens")
	require.LessOrEqual(c.t, int64(token), after.Add(time.Second).UnixMicro(), "tokens from the future")
}

// checkReserved: no other request is granted a reserved token.
func checkReserved(c *check) {
	spare := func(value string, n int) wire.Request {
		cmd := c.acquire("a", value)
		cmd.Fence.Reserve, cmd.Clock = n, true
		return cmd
	}
	var last fencing.Token
	// take returns how many were reserved.
	take := func(cmd wire.Request) int {
		c.t.Helper()
		vote := c.granted(cmd)
		require.Equal(c.t, vote.Token, c.do(c.look("a")).Token, "the last of them is the counter")
		require.Equal(c.t, last+1, vote.Token-fencing.Token(vote.Reserved), "the first of them is the next token")
		c.changesNothing("a", func() { c.refused(spare("w", 3)) })
		c.granted(c.release("a", cmd.Value))
		last = vote.Token
		return vote.Reserved
	}
	fromClock := func(cmd wire.Request) {
		c.t.Helper()
		vote := c.granted(cmd)
		require.Equal(c.t, vote.Clock.UnixMicro()+1, int64(vote.Token), "right above the clock")
		c.granted(c.release("a", cmd.Value))
		last = vote.Token
	}
	fromClock(spare("v", 5))
	for _, n := range []int{5, 0, 127, 0} {
		c.clock.Sleep(2 * time.Millisecond)
		require.Equal(c.t, n, take(spare("v", n)), "the clock has ticked more often")
	}
	c.clock.Sleep(2 * time.Millisecond)
	c.earlier("a")
	another := spare("v", 7)
	another.Run = c.run()
	fromClock(another)

	c.clock.Sleep(2 * time.Millisecond)
	require.Equal(c.t, 2, take(spare("v", 2)))
	other := spare("v", 2)
	other.Fence.Set.Name = "others"
	c.changesNothing("a", func() { require.ErrorAs(c.t, c.do(other).Err, new(*wire.SetMismatchError)) })
	require.Zero(c.t, take(spare("v", 0)))
}

// checkReservedClock: tokens are reserved up to the clock, and no further.
func checkReservedClock(c *check) {
	for _, n := range []int{1, 127, 1_000_000} {
		name := fmt.Sprint("a", n)
		c.granted(c.acquire(name, "v"))
		for i := range 20 {
			c.granted(c.release(name, "v"))
			cmd := c.acquire(name, "v")
			cmd.Fence.Reserve, cmd.Clock = n, true
			vote := c.granted(cmd)
			first := int64(vote.Token) - int64(vote.Reserved)
			// The clock may be coarse.
			most := max(0, min(int64(n), vote.Clock.UnixMicro()-first))
			require.LessOrEqual(c.t, int64(vote.Reserved), most, "%d of %d", i, n)
			require.GreaterOrEqual(c.t, int64(vote.Reserved), max(0, min(int64(n), most-grain.Microseconds())), "%d of %d", i, n)
		}
	}
	// None while the counter is ahead of the clock.
	token := c.granted(c.acquire("b", "v")).Token + fencing.Token(time.Minute/time.Microsecond)
	c.granted(c.raise("b", "v", token))
	c.granted(c.release("b", "v"))
	cmd := c.acquire("b", "v")
	cmd.Fence.Reserve = 7
	vote := c.granted(cmd)
	require.Equal(c.t, token+1, vote.Token)
	require.Zero(c.t, vote.Reserved)
}

// checkLargeTokens: scripts count in floating point, and some conversions to text keep only
// 14 or 17 digits.
func checkLargeTokens(c *check) {
	c.granted(c.acquire("a", "v"))
	far := func(cmd wire.Request) wire.Request {
		cmd.Fence.Ahead = endless
		return cmd
	}
	for _, token := range []fencing.Token{fencing.MaxToken - 2, fencing.MaxToken - 1} {
		c.granted(far(c.raise("a", "v", token)))
		require.Equal(c.t, token, c.do(c.look("a")).Token)
	}
	c.granted(c.release("a", "v"))
	require.Equal(c.t, fencing.MaxToken, c.granted(far(c.acquire("a", "v"))).Token)
	require.Equal(c.t, fencing.MaxToken, c.do(c.look("a")).Token)
	c.granted(far(c.restore("b", "v", fencing.MaxToken-1)))
	require.Equal(c.t, fencing.MaxToken-1, c.do(c.look("b")).Token)
}
