package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// also makes a request for several keys of one for the first of them.
func (c *check) also(cmd wire.Request, names ...string) wire.Request {
	cmd.Also = nil
	for _, name := range names {
		cmd.Also = append(cmd.Also, c.key(name))
	}
	return cmd
}

// all looks at keys, and demands that each has the value, or is free if that is empty.
func (c *check) all(value string, names ...string) (tokens []fencing.Token) {
	c.t.Helper()
	for _, name := range names {
		vote := c.do(c.look(name))
		require.Equal(c.t, value, vote.Holder, "the holder of %q", name)
		tokens = append(tokens, vote.Token)
	}
	return tokens
}

// unchangedAll runs f, and demands that it changes nothing about the keys.
func (c *check) unchangedAll(f func(), names ...string) {
	c.t.Helper()
	run := f
	for _, name := range names {
		inner := run
		run = func() { c.changesNothing(name, inner) }
	}
	run()
}

func checkSeveralAcquire(c *check) {
	for range 3 {
		c.granted(c.acquire("b", "w"))
		c.granted(c.release("b", "w"))
	}
	sent := c.clock.Now()
	first := c.granted(c.also(c.acquire("a", "v"), "b", "c"))
	for _, token := range c.all("v", "a", "b", "c") {
		require.Equal(c.t, first.Token, token, "each counter is at the token")
	}
	for _, name := range []string{"a", "b", "c"} {
		c.held(name, "v", long, sent)
		c.changesNothing(name, func() { c.refused(c.acquire(name, "w")) })
	}
	// In the way are the first of the keys that are held, and none of the others is touched.
	for _, cmd := range []wire.Request{c.acquire("0", "w"), c.bare("0", "w")} {
		c.unchangedAll(func() {
			vote := c.refused(c.also(cmd, "b", "c", "d"))
			require.Equal(c.t, uint8(2), vote.InTheWay)
			c.hasLeft(vote.Remaining, long, sent)
			vote = c.refused(c.also(cmd, "1", "c", "d"))
			require.Equal(c.t, uint8(3), vote.InTheWay)
		}, "0", "1", "a", "b", "c", "d")
	}
	vote := c.refused(c.also(c.acquire("a", "w"), "d"))
	require.Equal(c.t, uint8(1), vote.InTheWay)

	require.Equal(c.t, wire.Granted, c.do(c.also(c.release("a", "v"), "b", "c")).Outcome)
	c.all("", "a", "b", "c")
	next := c.granted(c.also(c.acquire("b", "v"), "d"))
	require.Greater(c.t, next.Token, first.Token, "the token is above that of each earlier lease on any of the keys")
	for _, token := range c.all("v", "b", "d") {
		require.Equal(c.t, next.Token, token)
	}
	c.granted(c.also(c.release("b", "v"), "d"))
	require.Equal(c.t, next.Token+1, c.granted(c.acquire("d", "w")).Token)

	c.granted(c.also(c.bare("x", "v"), "y"))
	require.Equal(c.t, []fencing.Token{0, 0}, c.all("v", "x", "y"), "it has no counters")
	c.granted(c.also(c.release("x", "v"), "y"))
}

// The largest counter of all decides, and one that was lost or of another run counts from the
// clock, whichever key it is.
func checkSeveralTokens(c *check) {
	now := func() fencing.Token {
		return fencing.Token(c.granted(wire.Request{Op: wire.Tick}).Clock.UnixMicro())
	}
	all := func(cmd wire.Request) wire.Vote {
		vote := c.granted(c.also(cmd, "b"))
		for _, token := range c.all(cmd.Value, "a", "b") {
			require.Equal(c.t, vote.Token, token)
		}
		c.granted(c.also(c.release("a", cmd.Value), "b"))
		return vote
	}
	cmd := c.acquire("a", "v")
	before := now()
	first := all(cmd)
	require.Greater(c.t, first.Token, before, "lost counters start from the clock")
	require.Equal(c.t, first.Token+1, all(cmd).Token)
	run := c.run()
	// A client that knows the run sees that the grants before weren't in it. It may have asked
	// for one of the keys alone before.
	cmd.Run = run
	for range 2 {
		c.granted(cmd)
		c.granted(c.release("a", "v"))
	}
	before = now()
	second := all(cmd)
	require.Greater(c.t, second.Token, before)
	require.Equal(c.t, second.Token+1, all(cmd).Token)
	p, ok := c.inst.(Putter)
	if !ok {
		return
	}
	for _, name := range []string{"a", "b"} {
		p.PutRun(c.key(name), "another")
		before = now()
		require.Greater(c.t, all(cmd).Token, before, "%q is of another run", name)
	}
}

// Nothing is changed if one of the counters would go too far ahead, or one of the sets differs.
func checkSeveralRefusals(c *check) {
	far := c.acquire("b", "v")
	far.Fence.Token = fencing.Token(c.granted(wire.Request{Op: wire.Tick}).Clock.Add(30 * time.Minute).UnixMicro())
	c.granted(far)
	c.granted(c.release("b", "v"))
	near := func(cmd wire.Request) wire.Request {
		cmd.Fence.Ahead = time.Minute
		return cmd
	}
	failed := func(cmd wire.Request) {
		c.t.Helper()
		vote := c.send(cmd)
		require.Equal(c.t, wire.Failed, vote.Outcome)
		require.ErrorIs(c.t, vote.Err, wire.ErrCounter)
		if cmd.Op != wire.Raise {
			require.True(c.t, vote.Unsent, "there is nothing to delete")
		}
	}
	c.unchangedAll(func() { failed(c.also(near(c.acquire("a", "v")), "b", "c")) }, "a", "b", "c")
	c.granted(c.also(c.acquire("p", "v"), "q"))
	c.unchangedAll(func() {
		failed(c.also(near(c.raise("p", "v", far.Fence.Token)), "q"))
		failed(c.also(near(c.restore("p", "v", far.Fence.Token)), "q", "r"))
	}, "p", "q", "r")

	other := c.acquire("e", "v")
	other.Fence.Set = wire.Set{Name: "other", Version: 7, N: 5, Q: 3}
	c.granted(other)
	c.granted(c.release("e", "v"))
	c.unchangedAll(func() {
		cmd := c.also(c.acquire("d", "v"), "e", "f")
		c.mismatch(cmd, other.Fence.Set)
		require.Equal(c.t, uint8(2), c.do(cmd).InTheWay)
	}, "d", "e", "f")

	c.run()
	for _, cmd := range []wire.Request{c.acquire("d", "v"), c.raise("p", "v", 5), c.extend("p", "v", time.Hour), c.restore("p", "v", 5)} {
		cmd.Run = anotherRun
		c.unchangedAll(func() {
			vote := c.send(c.also(cmd, "q", "r"))
			require.ErrorIs(c.t, vote.Err, wire.ErrOtherRun, "%v", cmd.Op)
			require.True(c.t, vote.Unsent, "%v", cmd.Op)
		}, "d", "p", "q", "r")
	}
}

// Raise, Extend and Restore of a lease on several keys.
func checkSeveralHeld(c *check) {
	token := c.granted(c.also(c.acquire("a", "v"), "b", "c")).Token
	c.granted(c.also(c.raise("a", "v", token+10), "b", "c"))
	require.Equal(c.t, []fencing.Token{token + 10, token + 10, token + 10}, c.all("v", "a", "b", "c"))
	sent := c.clock.Now()
	c.granted(c.also(c.extend("a", "v", 2*long), "b", "c"))
	for _, name := range []string{"a", "b", "c"} {
		c.held(name, "v", 2*long, sent)
	}

	// One key is lost.
	c.granted(c.release("b", "v"))
	c.unchangedAll(func() { c.refused(c.also(c.raise("a", "v", token+20), "b", "c")) }, "a", "b", "c")
	c.unchangedAll(func() { c.refused(c.also(c.extend("a", "v", 3*long), "b", "c")) }, "a", "b", "c")
	restored := c.restore("a", "v", token+20)
	restored.TTL = 3 * long
	sent = c.clock.Now()
	c.granted(c.also(restored, "b", "c"))
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(c.t, token+20, c.held(name, "v", 3*long, sent), "each key has the whole time")
	}
	restored.TTL = long
	c.granted(c.also(restored, "b", "c"))
	for _, name := range []string{"a", "b", "c"} {
		c.held(name, "v", 3*long, sent)
	}

	// Another client has one key.
	c.granted(c.release("b", "v"))
	c.granted(c.acquire("b", "w"))
	c.unchangedAll(func() {
		c.refused(c.also(c.raise("a", "v", token+30), "b", "c"))
		c.refused(c.also(c.restore("a", "v", token+30), "b", "c"))
		c.refused(c.also(c.restore("a", "v", token+30), "b", "d"))
	}, "a", "b", "c", "d")
	c.unchangedAll(func() { c.refused(c.also(c.extend("a", "v", 4*long), "b", "c")) }, "a", "b", "c")
	c.refused(c.also(c.release("a", "v"), "b", "c"))
	c.all("", "a", "c")
	c.all("w", "b")
}

// A round replaces what an earlier one may have left, on all keys or none.
func checkSeveralReplace(c *check) {
	for _, fence := range []bool{true, false} {
		request := c.acquire
		if !fence {
			request = c.bare
		}
		token := c.granted(c.also(request("a", "old"), "b")).Token
		cmd := c.also(request("a", "new"), "b", "c")
		cmd.Replace = "old"
		vote := c.granted(cmd)
		require.True(c.t, vote.Replaced)
		if fence {
			require.Greater(c.t, vote.Token, token)
		}
		c.all("new", "a", "b", "c")
		c.granted(c.release("b", "new"))
		c.granted(c.acquire("b", "other"))
		cmd.Replace, cmd.Value = "new", "newer"
		c.unchangedAll(func() { require.Equal(c.t, uint8(2), c.refused(cmd).InTheWay) }, "a", "b", "c")
		c.granted(c.release("b", "other"))
		require.True(c.t, c.granted(cmd).Replaced)
		c.granted(c.also(c.release("a", "newer"), "b", "c"))
		cmd.Replace = "gone"
		require.False(c.t, c.granted(cmd).Replaced)
		c.granted(c.also(c.release("a", "newer"), "b", "c"))
	}
}

// Of many clients that ask for overlapping sets at once, no two have a key in common.
func checkSeveralRace(c *check) {
	sets := [][]string{{"a", "b"}, {"b", "c"}, {"a", "c"}, {"a", "b", "c"}, {"d"}, {"c", "d"}}
	votes := c.together(30, func(i int) wire.Vote {
		set := sets[i%len(sets)]
		return c.send(c.also(c.acquire(set[0], string(rune('A'+i))), set[1:]...))
	})
	holder := map[string]int{}
	for i, vote := range votes {
		require.NotEqual(c.t, wire.Failed, vote.Outcome, "%v", vote.Err)
		if vote.Outcome != wire.Granted {
			continue
		}
		for _, name := range sets[i%len(sets)] {
			before, twice := holder[name]
			require.False(c.t, twice, "%q was granted to %d and %d", name, before, i)
			holder[name] = i
			c.all(string(rune('A'+i)), name)
		}
	}
	require.NotEmpty(c.t, holder)
}
