package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// known is an Acquire by a client that knows the server's run.
func (c *check) known(name, value string) wire.Request {
	cmd := c.acquire(name, value)
	cmd.Run = c.run()
	return cmd
}

// run is the server's run. If the server hides it, the check is skipped.
func (c *check) run() wire.Run {
	c.t.Helper()
	run := c.probe().Run()
	if run == "" {
		c.t.Skip("the server hides its run")
	}
	return run
}

// anotherRun is a replication ID as Redis writes them.
const anotherRun = "0123456789abcdef0123456789abcdef01234567"

// earlier makes another run the one that last raised the counter.
func (c *check) earlier(name string) {
	c.t.Helper()
	put, ok := c.inst.(Putter)
	if !ok {
		c.t.Skip("the instance is no Putter")
	}
	put.PutRun(c.key(name), anotherRun)
}

// goesOn demands that the request is granted the next token.
func (c *check) goesOn(cmd wire.Request) fencing.Token {
	c.t.Helper()
	last := c.do(wire.Request{Op: wire.Look, Key: cmd.Key, Fence: wire.Fence{On: true}}).Token
	require.NotZero(c.t, last)
	counted := c.mayCount.Load()
	token := c.granted(cmd).Token
	c.counts(last+1, token, counted, "the counter was lifted")
	return token
}

// lifted demands that the request is granted the first token after the server's clock.
func (c *check) lifted(cmd wire.Request) fencing.Token {
	c.t.Helper()
	tick := wire.Request{Op: wire.Tick}
	from := c.granted(tick).Clock
	token := c.granted(cmd).Token
	to := c.granted(tick).Clock
	require.Greater(c.t, token, fencing.Token(from.UnixMicro()), "the counter wasn't lifted to the clock")
	require.LessOrEqual(c.t, token, fencing.Token(to.UnixMicro())+1, "the counter was lifted above the clock")
	return token
}

func checkRun(c *check) {
	take := func(demand func(wire.Request) fencing.Token, cmd wire.Request) fencing.Token {
		c.t.Helper()
		c.clock.Sleep(2 * time.Millisecond) // the clock is ahead of the counter
		token := demand(cmd)
		c.granted(wire.Request{Op: wire.Release, Key: cmd.Key, Value: cmd.Value})
		return token
	}
	take(c.lifted, c.known("a", "v"))
	take(c.goesOn, c.known("a", "v"))
	take(c.goesOn, c.acquire("a", "v")) // a client that knows no run counts on, and leaves the run
	take(c.goesOn, c.known("a", "v"))
	c.earlier("a")
	take(c.goesOn, c.acquire("a", "v"))
	take(c.lifted, c.known("a", "v"))
	take(c.goesOn, c.known("a", "v"))
	// Another set takes over, and the run stays known.
	cmd := c.known("a", "v")
	cmd.Fence.Set.Version++
	take(c.goesOn, cmd)

	// A counter without a known run.
	take(c.lifted, c.acquire("b", "v"))
	take(c.goesOn, c.acquire("b", "v"))
	take(c.lifted, c.known("b", "v"))
	take(c.goesOn, c.known("b", "v"))

	// A counter ahead of the clock isn't lowered. The clock must not catch up meanwhile,
	// because the server and this goroutine may be slow.
	token := c.granted(c.known("c", "v")).Token + fencing.Token(time.Minute/time.Microsecond)
	c.granted(c.raise("c", "v", token))
	c.granted(c.release("c", "v"))
	c.earlier("c")
	counted := c.mayCount.Load()
	next := c.granted(c.known("c", "w")).Token
	c.counts(token+1, next, counted, "the counter was lowered or lifted")
	require.Equal(c.t, next, c.do(c.look("c")).Token)

	// A refusal changes no run, wherever the counter is.
	c.granted(c.known("f", "w"))
	for _, name := range []string{"c", "f"} {
		c.earlier(name)
		c.changesNothing(name, func() { c.refused(c.known(name, "v")) })
		other := c.known(name, "v")
		other.Fence.Set.Version--
		c.changesNothing(name, func() { c.mismatch(other, main) })
		c.granted(c.release(name, "w"))
	}
	c.counts(token+2, c.granted(c.known("c", "v")).Token, counted, "the counter was lowered or lifted")
	take(c.lifted, c.known("f", "v"))

	// A hand-off.
	c.granted(c.known("d", "v1"))
	replace := func(before, value string) wire.Request {
		cmd := c.known("d", value)
		cmd.Replace = before
		return cmd
	}
	c.goesOn(replace("v1", "v2"))
	c.clock.Sleep(2 * time.Millisecond)
	c.earlier("d")
	c.lifted(replace("v2", "v3"))
	c.clock.Sleep(2 * time.Millisecond)
	without := replace("v3", "v4")
	without.Run = ""
	c.goesOn(without)
	c.goesOn(replace("v4", "v5"))

	// Without fencing there is nothing to lift.
	bare := c.bare("e", "v")
	bare.Run = c.run()
	c.granted(bare)
	require.Zero(c.t, c.do(c.look("e")).Token)
}

// checkRunKept: Raise and Restore write tokens of other servers, which say nothing about the
// tokens of this one.
func checkRunKept(c *check) {
	token := c.granted(c.known("a", "v")).Token
	c.granted(c.raise("a", "v", token+1))
	c.granted(c.restore("a", "v", token+2))
	c.granted(c.release("a", "v"))
	c.granted(c.restore("a", "v", token+3))
	c.granted(c.release("a", "v"))
	c.clock.Sleep(2 * time.Millisecond)
	c.goesOn(c.known("a", "w"))

	// No run is known where none was written.
	c.granted(c.restore("b", "v", 5))
	c.granted(c.release("b", "v"))
	c.lifted(c.known("b", "w"))
	c.granted(c.bare("c", "v"))
	c.granted(c.raise("c", "v", 5))
	c.granted(c.release("c", "v"))
	c.lifted(c.known("c", "w"))
}

// checkOtherRun: a server executes no request for another run. Only an Acquire may set its
// key there, if its vote isn't Unsent.
func checkOtherRun(c *check) {
	run := c.run()
	token := c.granted(c.known("held", "v")).Token
	replace := c.known("held", "w")
	replace.Replace = c.known("held", "v").Value
	reserve := c.acquire("free", "v")
	reserve.Fence.Reserve = 3
	// The replication ID and the epoch are both compared, each of them in full.
	others := []wire.Run{anotherRun}
	if id, epoch := run.ReplID(), run.Epoch(); epoch != "" {
		others = []wire.Run{wire.RunOf(anotherRun, epoch)}
		for _, other := range []string{"1", "1" + epoch, epoch[1:], epoch + "1"} {
			others = append(others, wire.RunOf(id, other))
		}
	}
	for _, another := range others {
		c.doesNothingIn(another, run, []wire.Request{
			c.acquire("free", "v"), c.bare("free", "v"), reserve, replace,
			c.raise("held", "v", token+5), c.extend("held", "v", short), c.restore("free", "v", token), {Op: wire.Tick},
		})
	}
	for _, cmd := range []wire.Request{
		c.raise("held", "v", token+5), c.extend("held", "v", long), c.restore("held", "v", token+5),
		c.bare("bare", "v"), {Op: wire.Tick},
	} {
		cmd.Run = run
		c.granted(cmd)
	}
}

func (c *check) doesNothingIn(another, run wire.Run, cmds []wire.Request) {
	for _, cmd := range cmds {
		cmd.Run = another
		vote := wire.Vote{}
		c.changesNothing("held", func() {
			c.changesNothing("free", func() {
				vote = c.send(cmd)
				if cmd.Op == wire.Acquire && !vote.Unsent {
					c.do(wire.Request{Op: wire.Release, Key: cmd.Key, Value: cmd.Value})
				}
			})
		})
		require.Equal(c.t, wire.Failed, vote.Outcome, "%v in another run", cmd.Op)
		require.True(c.t, vote.Unsent || cmd.Op == wire.Acquire, "%v in another run leaves nothing to undo", cmd.Op)
		var other *wire.RunError
		require.ErrorAs(c.t, vote.Err, &other, "%v in another run", cmd.Op)
		require.Equal(c.t, wire.RunError{Asked: another, Found: run, Role: "master"}, *other)
	}
}
