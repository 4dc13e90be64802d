package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// The parts in this file are about keys of one lock that aren't in the same state.

func (c *check) abc(cmd wire.Request) wire.Request { return c.of(cmd, "a", "b", "c") }

// checkSome: a lease of which a key was lost, or is another's now.
func checkSome(c *check) {
	for _, bare := range []bool{false, true} {
		acquire := c.acquire
		if bare {
			acquire = c.bare
		}
		token := max(1, c.granted(c.abc(acquire("", "v"))).Token)
		c.granted(c.of(c.release("", "v"), "b"))
		c.refused(c.abc(c.raise("", "v", token+20)))
		c.refused(c.abc(c.extend("", "v", 3*long)))
		c.granted(c.abc(timed(c.restore("", "v", token+20), 3*long)))
		c.granted(c.abc(c.restore("", "v", token+20)))
		c.granted(c.of(c.release("", "v"), "b", "c"))
		c.refused(c.abc(c.release("", "v")))

		c.granted(c.abc(acquire("", "v")))
		c.granted(c.of(c.release("", "v"), "b"))
		c.granted(c.of(acquire("", "w"), "b"))
		c.refused(c.abc(c.raise("", "v", token+30)))
		c.refused(c.abc(c.extend("", "v", 3*long)))
		c.refused(c.abc(c.restore("", "v", token+30)))
		c.refused(c.of(c.restore("", "v", token+30), "b", "d"))
		c.refused(c.abc(replacing(acquire("", "new"), "v")))
		c.refused(c.abc(c.release("", "v"))) // but a and c are released
		c.granted(c.of(c.release("", "w"), "b"))

		// What is held of a replaced lease is replaced, and the rest is set.
		c.granted(c.of(acquire("", "v"), "a", "b"))
		require.True(c.t, c.granted(c.abc(replacing(acquire("", "new"), "v"))).Replaced)
		c.granted(c.abc(c.release("", "new")))
	}
}

func checkInTheWay(c *check) {
	c.granted(c.of(c.acquire("", "v"), "b", "c"))
	for _, request := range []wire.Request{c.acquire("", "w"), c.bare("", "w"), replacing(c.acquire("", "w"), "x")} {
		require.EqualValues(c.t, 2, c.refused(c.of(request, "a", "b", "c", "d")).InTheWay)
		require.EqualValues(c.t, 3, c.refused(c.of(request, "0", "1", "c", "d")).InTheWay)
		require.EqualValues(c.t, 1, c.refused(c.of(request, "b", "d")).InTheWay)
	}
	other := main
	other.Name = "other"
	c.granted(c.of(under(c.acquire("", "v"), other), "e"))
	cmd := c.of(c.acquire("", "w"), "c", "d", "e") // the set is looked at first
	c.mismatch(cmd)
	require.EqualValues(c.t, 3, c.do(cmd).InTheWay)
}

// checkLargest: the largest counter of all decides, and one that was lost or is of another run
// counts from the clock, whichever key it is of.
func checkLargest(c *check) {
	all := func(cmd wire.Request) fencing.Token {
		c.t.Helper()
		c.clock.Sleep(tick)
		vote := c.granted(c.abc(cmd))
		c.granted(c.abc(c.release("", cmd.Value)))
		return vote.Token
	}
	from := c.now()
	first := all(c.acquire("", "v"))
	require.Greater(c.t, first, from, "lost counters start from the clock")
	require.Equal(c.t, first+1, all(c.acquire("", "v")))
	for range 3 {
		c.granted(c.of(c.acquire("", "v"), "b"))
		c.granted(c.of(c.release("", "v"), "b"))
	}
	require.Equal(c.t, first+5, all(c.acquire("", "v")), "b's counter decides")
	c.granted(c.of(c.restore("", "v", first+minute), "c"))
	c.granted(c.of(c.release("", "v"), "c"))
	c.fails(c.abc(within(c.acquire("", "v"), time.Second)), wire.ErrCounter)
	require.Equal(c.t, first+minute+1, all(c.acquire("", "v")), "c's counter decides")

	for _, name := range []string{"a", "b", "c"} {
		last := all(c.known(c.acquire("", "v")))
		require.Equal(c.t, last+1, all(c.known(c.acquire("", "v"))))
		c.earlier(c.look(name))
		cmd := c.known(c.acquire("", "v"))
		cmd.Fence.Token = last + 2*minute
		require.Equal(c.t, last+2*minute, all(cmd), "%q is of another run", name)
	}
}
