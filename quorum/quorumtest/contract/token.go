package contract

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

func checkReserved(c *check) {
	cycle := func(cmd wire.Request) int {
		c.t.Helper()
		vote := c.granted(cmd)
		c.refused(reserving(c.acquire("a", "w"), 3))
		c.granted(c.release("a", "v"))
		return vote.Reserved
	}
	require.Zero(c.t, cycle(reserving(c.acquire("a", "v"), 5)), "it starts above the clock")
	for _, n := range []int{5, 0, 127, 0} {
		c.clock.Sleep(tick)
		require.Equal(c.t, n, cycle(reserving(c.acquire("a", "v"), n)), "the clock has ticked more often")
	}
	for range 20 { // up to the clock, and no further
		cycle(reserving(c.acquire("a", "v"), 1_000_000))
	}
	token := c.now() + minute
	c.granted(c.restore("a", "v", token))
	c.granted(c.release("a", "v"))
	require.Zero(c.t, cycle(reserving(c.acquire("a", "v"), 7)), "the counter is ahead of the clock")
	other := main
	other.Name = "others"
	c.mismatch(under(reserving(c.acquire("a", "v"), 2), other))

	c.granted(c.acquire("b", "v"))
	c.granted(c.release("b", "v"))
	c.clock.Sleep(tick)
	c.earlier(c.look("b"))
	require.Zero(c.t, c.granted(c.known(reserving(c.acquire("b", "v"), 7))).Reserved, "it starts above the clock")
}

// checkLargeTokens: scripts count in floating point, and some conversions to text keep only
// 14 or 17 digits.
func checkLargeTokens(c *check) {
	c.granted(c.acquire("a", "v"))
	for _, token := range []fencing.Token{fencing.MaxToken - 2, fencing.MaxToken - 1} {
		c.granted(within(c.raise("a", "v", token), endless))
	}
	c.granted(c.release("a", "v"))
	require.Equal(c.t, fencing.MaxToken, c.granted(within(c.acquire("a", "v"), endless)).Token)
	c.granted(c.release("a", "v"))
	c.fails(within(c.acquire("a", "v"), endless), wire.ErrCounter)
	c.granted(within(c.restore("b", "v", fencing.MaxToken-1), endless))
}

// checkAhead: no request takes a counter further ahead of the clock than it allows, whatever is
// there already and whatever tokens other servers issued. What it doesn't allow changes nothing.
func checkAhead(c *check) {
	const bound = 20 * time.Minute
	now := c.now()
	for i, have := range []func(name string){
		func(string) {},
		func(name string) { c.granted(c.acquire(name, "v")) },
		func(name string) { c.granted(c.bare(name, "v")) }, // the counter was lost
		func(name string) { c.granted(c.acquire(name, "v")); c.granted(c.release(name, "v")) },
	} {
		name := fmt.Sprint("a", i)
		have(name)
		lifts := []func(name, value string, token fencing.Token) wire.Request{c.restore}
		if c.do(c.look(name)).Outcome == wire.Refused {
			lifts = append(lifts, c.raise)
		}
		for j, lift := range lifts {
			c.fails(within(lift(name, "v", now+30*minute), bound), wire.ErrCounter)
			c.fails(within(lift(name, "v", fencing.MaxToken), bound), wire.ErrCounter)
			c.granted(within(lift(name, "v", now+fencing.Token(15+j)*minute), bound))
		}
		// Nor is a counter settled at such a token that is there already.
		c.granted(c.raise(name, "v", now+30*minute))
		for _, lift := range lifts {
			c.fails(within(lift(name, "v", now+29*minute), bound), wire.ErrCounter)
			c.granted(within(lift(name, "v", now+16*minute), bound))
		}
		// Nor does it count.
		c.fails(within(replacing(c.acquire(name, "w"), "v"), bound), wire.ErrCounter)
		c.granted(c.release(name, "v"))
		c.fails(within(c.acquire(name, "w"), bound), wire.ErrCounter)
		c.fails(within(c.known(c.acquire(name, "w")), bound), wire.ErrCounter)
		if c.keys == 1 {
			c.fails(within(reserving(c.acquire(name, "w"), 3), bound), wire.ErrCounter)
		}
		c.granted(c.acquire(name, "w"))
	}
	// A counter that starts from the clock does so with any bound.
	c.granted(within(c.acquire("new", "v"), time.Microsecond))
}

// checkStart: a counter that starts from the clock starts at the token of the request, if that is
// above the clock and no further ahead than the request allows. Another counter ignores it.
func checkStart(c *check) {
	for i, start := range []fencing.Token{c.now() + 15*minute, c.now() - minute, c.now() + 90*minute, 0} {
		for _, known := range []bool{false, true} {
			name := fmt.Sprint("a", i, known)
			acquire := func(value string, start fencing.Token) wire.Request {
				cmd := c.acquire(name, value)
				if cmd.Fence.Token = start; known {
					cmd = c.known(cmd)
				}
				return cmd
			}
			c.granted(c.bare(name, "v"))
			c.refused(acquire("w", start))
			require.Zero(c.t, c.token(name), "a refused request has made a counter")
			c.granted(c.release(name, "v"))

			token := c.granted(acquire("v", start)).Token
			require.Equal(c.t, i == 0, token == start)
			c.refused(acquire("w", start+minute))
			c.granted(c.release(name, "v"))
			require.Equal(c.t, token+1, c.granted(acquire("v", start+minute)).Token)
		}
	}
}
