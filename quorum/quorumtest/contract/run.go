package contract

import (
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// checkRun: a counter of another run is lifted to the clock by a client that knows the run. Any
// other one goes on.
func checkRun(c *check) {
	acquire := func(name, value string) wire.Request {
		c.clock.Sleep(tick) // the clock is ahead of the counter
		return c.acquire(name, value)
	}
	grant := func(cmd wire.Request) {
		c.t.Helper()
		c.granted(cmd)
		cmd.Op = wire.Release
		c.granted(cmd)
	}
	grant(acquire("a", "v")) // a counter without a known run
	grant(acquire("a", "v"))
	grant(c.known(acquire("a", "v")))
	grant(c.known(acquire("a", "v")))
	grant(acquire("a", "v")) // counts on, and leaves the run
	grant(c.known(acquire("a", "v")))
	c.earlier(c.acquire("a", ""))
	grant(acquire("a", "v"))
	grant(c.known(acquire("a", "v")))
	newer := main
	newer.Version++
	grant(under(c.known(acquire("a", "v")), newer)) // the run stays known
	grant(under(c.known(acquire("a", "v")), newer))

	// A counter ahead of the clock isn't lowered.
	c.granted(c.restore("c", "v", c.now()+minute))
	c.granted(c.release("c", "v"))
	grant(c.known(acquire("c", "v")))
	c.earlier(c.acquire("c", ""))
	grant(c.known(acquire("c", "v")))

	// A refusal changes no run.
	c.granted(c.known(acquire("d", "w")))
	c.earlier(c.acquire("d", ""))
	c.refused(c.known(acquire("d", "v")))
	older := main
	older.Version--
	c.mismatch(under(c.known(acquire("d", "v")), older))
	c.granted(c.release("d", "w"))
	grant(c.known(acquire("d", "v")))

	// A hand-off.
	c.granted(c.known(acquire("e", "v1")))
	c.granted(replacing(c.known(acquire("e", "v2")), "v1"))
	c.earlier(c.acquire("e", ""))
	c.granted(replacing(c.known(acquire("e", "v3")), "v2"))
	c.granted(replacing(acquire("e", "v4"), "v3"))
	c.granted(replacing(c.known(acquire("e", "v5")), "v4"))
}

// checkRunKept: Raise and Restore write tokens of other servers, which say nothing about the
// tokens of this one.
func checkRunKept(c *check) {
	token := c.granted(c.known(c.acquire("a", "v"))).Token
	c.granted(c.raise("a", "v", token+1))
	c.granted(c.restore("a", "v", token+2))
	c.granted(c.release("a", "v"))
	c.granted(c.restore("a", "v", token+3))
	c.granted(c.release("a", "v"))
	c.clock.Sleep(tick)
	require.Equal(c.t, token+4, c.granted(c.known(c.acquire("a", "w"))).Token)

	// No run is known where none was written.
	c.granted(c.known(c.restore("b", "v", 5)))
	c.granted(c.release("b", "v"))
	c.granted(c.bare("c", "v"))
	c.granted(c.known(c.raise("c", "v", 5)))
	c.granted(c.release("c", "v"))
	for _, name := range []string{"b", "c"} {
		from := c.now()
		require.Greater(c.t, c.granted(c.known(c.acquire(name, "w"))).Token, from)
	}
}

// checkOtherRun: a server executes no request for another run. The replication ID and the epoch
// are both compared, each of them in full, and the ID alone where no epoch is known.
func checkOtherRun(c *check) {
	run := c.known(wire.Request{}).Run
	token := c.granted(c.known(c.acquire("held", "v"))).Token
	others := []wire.Run{anotherRun}
	if id, epoch := run.ReplID(), run.Epoch(); epoch != "" {
		others = append(others, wire.RunOf(anotherRun, epoch))
		for _, other := range []string{"1", "1" + epoch, epoch[1:], epoch + "1"} {
			others = append(others, wire.RunOf(id, other))
		}
	}
	cmds := []wire.Request{
		c.acquire("held", "w"), c.acquire("free", "v"), c.bare("free", "v"), replacing(c.acquire("held", "w"), "v"),
		c.raise("held", "v", token+5), c.extend("held", "v", 2*long), c.restore("held", "v", token+5), c.restore("free", "v", token), {Op: wire.Tick},
	}
	if c.keys == 1 {
		cmds = append(cmds, reserving(c.acquire("free", "v"), 3))
	}
	cmds[1].Fence.Token = token + minute
	for _, cmd := range cmds {
		for _, cmd.Run = range others {
			c.fails(cmd, wire.ErrOtherRun)
		}
	}
	for _, cmd := range cmds[4:7] {
		c.granted(c.known(cmd))
	}
	c.granted(c.known(c.bare("bare", "v")))
	c.granted(c.known(wire.Request{Op: wire.Tick}))
}
