package contract

import (
	"errors"
	"fmt"
	"strings"
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
	reserve := func(value string, n int) wire.Request {
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
		c.changesNothing("a", func() { c.refused(reserve("w", 3)) })
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
	fromClock(reserve("v", 5))
	for _, n := range []int{5, 0, 127, 0} {
		c.clock.Sleep(2 * time.Millisecond)
		require.Equal(c.t, n, take(reserve("v", n)), "the clock has ticked more often")
	}
	c.clock.Sleep(2 * time.Millisecond)
	c.earlier("a")
	another := reserve("v", 7)
	another.Run = c.run()
	fromClock(another)

	c.clock.Sleep(2 * time.Millisecond)
	require.Equal(c.t, 2, take(reserve("v", 2)))
	other := reserve("v", 2)
	other.Fence.Set.Name = "others"
	c.changesNothing("a", func() { require.ErrorAs(c.t, c.do(other).Err, new(*wire.SetMismatchError)) })
	require.Zero(c.t, take(reserve("v", 0)))
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

// checkStart: a counter that starts from the clock starts at the token of the request, if that is
// above the clock and no further ahead than the request allows. Another counter ignores it.
func checkStart(c *check) {
	const minute = fencing.Token(time.Minute / time.Microsecond)
	clock := func() fencing.Token {
		return fencing.Token(c.granted(wire.Request{Op: wire.Tick}).Clock.UnixMicro())
	}
	run := c.probe().Run()
	n := 0
	for _, test := range []struct {
		what  string
		start fencing.Token
		there bool
	}{
		{"ahead of the clock", clock() + 15*minute, true},
		{"behind the clock", clock() - minute, false},
		{"too far ahead of the clock", clock() + 25*minute, false},
		{"none", 0, false},
	} {
		for _, in := range []wire.Run{"", run} {
			n++
			acquire := func(value string) wire.Request {
				cmd := c.acquire(fmt.Sprint("a", n), value)
				cmd.Fence.Ahead, cmd.Fence.Token, cmd.Run = 20*time.Minute, test.start, in
				return cmd
			}
			from := clock()
			first := c.send(acquire("v"))
			require.NoError(c.t, wellFormed(acquire("v"), first))
			if in != "" && test.start > from+20*minute && errors.Is(first.Err, wire.ErrCounter) {
				continue // a transaction has made a counter that is too far ahead
			}
			require.Equal(c.t, wire.Granted, first.Outcome, "%s: %v", test.what, first.Err)
			token := first.Token
			if test.there {
				require.Equal(c.t, test.start, token, test.what)
			} else {
				require.GreaterOrEqual(c.t, token, from, test.what)
				require.Less(c.t, token, from+minute, test.what)
			}
			c.granted(c.release(fmt.Sprint("a", n), "v"))
			again := acquire("w")
			if again.Fence.Token > 0 {
				again.Fence.Token += minute
			}
			// A transaction that made the counter wrote no run beside it.
			next := c.granted(again).Token
			if next != token+1 {
				require.True(c.t, in != "" && test.there, test.what)
				require.Equal(c.t, again.Fence.Token, next, test.what)
			}
			c.granted(c.release(fmt.Sprint("a", n), "w"))
			last := acquire("x")
			last.Fence.Token = 0
			require.Equal(c.t, next+1, c.granted(last).Token, "the counter goes on: %s", test.what)
		}
	}

	// Where the lock is held the counter may be made for nothing.
	c.granted(c.bare("b", "v"))
	cmd := c.acquire("b", "w")
	cmd.Fence.Token, cmd.Run = clock()+15*minute, run
	c.refused(cmd)
	require.Contains(c.t, []fencing.Token{0, cmd.Fence.Token}, c.do(c.look("b")).Token)
	c.granted(c.release("b", "v"))
	cmd = c.acquire("b", "x")
	cmd.Run = run
	from := clock()
	require.Greater(c.t, c.granted(cmd).Token, from)
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

		// Nor does a counter count for such a token that is there already.
		c.granted(test.lift(name, "v", now+30*minute))
		c.tooFar(lift(now+29*minute), now+29*minute)
		c.granted(lift(now + 16*minute))
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
