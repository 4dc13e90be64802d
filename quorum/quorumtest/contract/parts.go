package contract

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// parts is the contract. Each part stands for itself, so that a broken instance
// fails the part that names what is broken.
var parts = []part{
	{"name", checkName},
	{"acquire a free key", checkAcquireFree},
	{"acquire a held key", checkAcquireHeld},
	{"acquire without fence", checkAcquireBare},
	{"tokens rise", checkTokens},
	{"a new counter starts from the clock", checkSeed},
	{"a counter of another run is lifted to the clock", checkRun},
	{"a run is Acquire's to write", checkRunKept},
	{"another run is not asked", checkOtherRun},
	{"counters expire", checkCounterTTL},
	{"tokens are exact to the last", checkLargeTokens},
	{"raise", checkRaise},
	{"raise only while mine", checkRaiseMine},
	{"extend", checkExtend},
	{"extend only while mine", checkExtendMine},
	{"restore", checkRestore},
	{"restore over nobody else", checkRestoreOthers},
	{"restore without fence", checkRestoreBare},
	{"release", checkRelease},
	{"release only while mine", checkReleaseMine},
	{"acquire reserves tokens", checkSpare},
	{"reserved tokens end at the clock", checkSpareClock},
	{"how far acquire counts", checkAcquireAhead},
	{"how far raise and restore lift", checkLiftAhead},
	{"replace", checkReplace},
	{"replace without fence", checkReplaceBare},
	{"the wait queue", checkQueue},
	{"notifications", checkNotifications},
	{"closed subscriptions are passed over", checkClosedSubscriptions},
	{"look changes nothing", checkLook},
	{"keys without expiry", checkNoExpiry},
	{"ttl", checkTTL},
	{"clock", checkClock},
	{"set: the same and a new one", checkSetAgrees},
	{"set: mismatch", checkSetMismatch},
	{"set: a held key is not taken over", checkSetHeld},
	{"keys", checkKeys},
	{"values", checkValues},
	{"send: one vote for each", checkSendOnce},
	{"send: a timeout", checkSendTimeout},
	{"send: many at once", checkSendMany},
	{"send: from a receiver", checkSendAgain},
	{"probe: the context is over", checkContextOver},
	{"one of many acquires", checkRace},
	{"tokens of many cycles", checkCycles},
	{"many keys at once", checkManyKeys},
	{"probe", checkProbe},
	{"mark", checkMark},
	{"restart", checkRestart},
}

func checkName(c *check) {
	require.NotEmpty(c.t, c.inst.Name())
	require.Equal(c.t, c.inst.Name(), c.inst.Name())
}

func checkAcquireFree(c *check) {
	sent := c.clock.Now()
	vote := c.granted(c.acquire("a", "v"))
	require.Equal(c.t, vote.Token, c.held("a", "v", long, sent), "the vote carries the counter")
}

func checkAcquireHeld(c *check) {
	sent := c.clock.Now()
	c.granted(c.acquire("a", "v"))
	for _, value := range []string{"other", "v"} {
		c.changesNothing("a", func() {
			vote := c.refused(c.acquire("a", value))
			c.lives(vote.Remaining, long, sent)
			vote = c.refused(c.bare("a", value))
			if vote.Remaining != 0 { // the bare SET may not tell
				c.lives(vote.Remaining, long, sent)
			}
		})
	}
	// What stands in the way may also be older than any counter.
	sent = c.clock.Now()
	c.granted(c.bare("b", "v"))
	c.changesNothing("b", func() { c.refused(c.acquire("b", "other")) })
	require.Zero(c.t, c.held("b", "v", long, sent), "a refused Acquire has made a counter")
}

func checkAcquireBare(c *check) {
	sent := c.clock.Now()
	c.granted(c.bare("a", "v"))
	require.Zero(c.t, c.held("a", "v", long, sent), "there is a counter")
	c.granted(c.release("a", "v"))

	token := c.granted(c.acquire("a", "v")).Token
	c.granted(c.release("a", "v"))
	other := c.bare("a", "w")
	other.Fence.Set = wire.Set{Name: "other", Version: 1, N: 3, Q: 2}
	c.granted(other)
	vote := c.do(c.look("a"))
	require.Equal(c.t, token, vote.Token, "the counter was touched")
	c.granted(c.release("a", "w"))
	require.Equal(c.t, token+1, c.granted(c.acquire("a", "v")).Token, "the counter or the set was touched")
}

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

// checkSeed allows a second: the seed's grain is the server's own affair.
func checkSeed(c *check) {
	tick := wire.Request{Op: wire.Tick, Clock: true}
	before := c.granted(tick).Clock
	token := c.granted(c.acquire("a", "v")).Token
	after := c.granted(tick).Clock
	require.GreaterOrEqual(c.t, int64(token), before.Add(-time.Second).UnixMicro(), "an instance that lost its data hands out old tokens")
	require.LessOrEqual(c.t, int64(token), after.Add(time.Second).UnixMicro(), "tokens from the future")
}

// known is an Acquire by a client that knows the server's run.
func (c *check) known(name, value string) wire.Request {
	cmd := c.acquire(name, value)
	cmd.Run = c.run()
	return cmd
}

// run is the server's run. A server that hides it has none of what is checked.
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

// earlier makes the counter one of another run.
func (c *check) earlier(name string) {
	c.t.Helper()
	put, ok := c.inst.(Putter)
	if !ok {
		c.t.Skip("the instance is no Putter")
	}
	put.PutRun(c.key(name), anotherRun)
}

// goesOn demands that the command is granted the token that comes next.
func (c *check) goesOn(cmd wire.Request) fencing.Token {
	c.t.Helper()
	last := c.do(wire.Request{Op: wire.Look, Key: cmd.Key, Fence: wire.Fence{On: true}}).Token
	require.NotZero(c.t, last)
	token := c.granted(cmd).Token
	require.Equal(c.t, last+1, token, "the counter was lifted")
	return token
}

// lifted demands that the command is granted the first token after the server's
// clock.
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

// checkSpare: tokens that are reserved beside a command's own are nobody else's.
func checkSpare(c *check) {
	spare := func(value string, n int) wire.Request {
		cmd := c.acquire("a", value)
		cmd.Fence.Reserve, cmd.Clock = n, true
		return cmd
	}
	var last fencing.Token
	// take gives how many were reserved.
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

// checkSpareClock: tokens are reserved up to the clock, and no further.
func checkSpareClock(c *check) {
	for _, n := range []int{1, 127, 1_000_000} {
		name := fmt.Sprint("a", n)
		c.granted(c.acquire(name, "v"))
		for i := range 20 {
			c.granted(c.release(name, "v"))
			cmd := c.acquire(name, "v")
			cmd.Fence.Reserve, cmd.Clock = n, true
			vote := c.granted(cmd)
			first := int64(vote.Token) - int64(vote.Reserved)
			// The grain is that of a clock that is coarse.
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

// tooFar demands that the command fails because the counter would come to the token.
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

// checkAcquireAhead: a grant takes a counter no further ahead of the clock than the command
// says.
func checkAcquireAhead(c *check) {
	const minute = fencing.Token(time.Minute / time.Microsecond)
	commands := func(name, value, replace string) map[string]wire.Request {
		all := map[string]wire.Request{}
		for what, spare := range map[string]int{"acquire": 0, "reserve": 3} {
			cmd := c.acquire(name, value)
			cmd.Fence.Ahead, cmd.Fence.Reserve, cmd.Replace = 20*time.Minute, spare, replace
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

	// One that is a little less ahead than it may be goes on.
	token = c.granted(c.acquire("b", "v")).Token + 15*minute
	c.granted(c.raise("b", "v", token))
	c.granted(c.release("b", "v"))
	for _, cmd := range commands("b", "w", "") {
		token++
		require.Equal(c.t, token, c.granted(cmd).Token)
		c.granted(c.release("b", "w"))
	}
	// One that starts from the clock does so with any bound.
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

// checkLiftAhead: nobody lifts a counter further ahead of the clock than the command says,
// whatever other servers gave.
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
	take(c.goesOn, c.acquire("a", "v")) // a client that knows no run goes on, and leaves the run
	take(c.goesOn, c.known("a", "v"))
	c.earlier("a")
	take(c.goesOn, c.acquire("a", "v"))
	take(c.lifted, c.known("a", "v"))
	take(c.goesOn, c.known("a", "v"))
	// Another set takes over, and the run stays known.
	cmd := c.known("a", "v")
	cmd.Fence.Set.Version++
	take(c.goesOn, cmd)

	// A counter of no known run.
	take(c.lifted, c.acquire("b", "v"))
	take(c.goesOn, c.acquire("b", "v"))
	take(c.lifted, c.known("b", "v"))
	take(c.goesOn, c.known("b", "v"))

	// One that is ahead of the clock isn't lowered. The clock must not catch up meanwhile:
	// a server may be slow, and so may this goroutine.
	token := c.granted(c.known("c", "v")).Token + fencing.Token(time.Minute/time.Microsecond)
	c.granted(c.raise("c", "v", token))
	c.granted(c.release("c", "v"))
	c.earlier("c")
	require.Equal(c.t, token+1, c.granted(c.known("c", "w")).Token)
	require.Equal(c.t, token+1, c.do(c.look("c")).Token)

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
	require.Equal(c.t, token+2, c.granted(c.known("c", "v")).Token)
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

// checkRunKept: what Raise and Restore write comes from other servers, and says
// nothing of what this one gave.
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

// checkOtherRun: a server does nothing that it is asked in another run than its own.
func checkOtherRun(c *check) {
	run := c.run()
	token := c.granted(c.known("held", "v")).Token
	replace := c.known("held", "w")
	replace.Replace = c.known("held", "v").Value
	spare := c.acquire("free", "v")
	spare.Fence.Reserve = 3
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
			c.acquire("free", "v"), c.bare("free", "v"), spare, replace,
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
		c.changesNothing("held", func() { c.changesNothing("free", func() { vote = c.send(cmd) }) })
		require.Equal(c.t, wire.Failed, vote.Outcome, "%v in another run", cmd.Op)
		require.True(c.t, vote.Unsent, "%v in another run leaves nothing to undo", cmd.Op)
		var other *wire.RunError
		require.ErrorAs(c.t, vote.Err, &other, "%v in another run", cmd.Op)
		require.Equal(c.t, wire.RunError{Asked: another, Found: run, Role: "master"}, *other)
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
	// Those that were renewed had their old end about now. A lock that is
	// taken now and waited for lets it pass.
	marker := c.bare("marker", "v")
	marker.TTL = short
	c.granted(marker)
	c.awaitFree("marker")
	for name := range renewals {
		require.NotZero(c.t, c.do(c.look(name)).Token, "%s didn't renew the counter", name)
	}
}

// checkLargeTokens: scripts count in floating point, and some of the ways from
// there to text keep 14 digits or 17.
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

func checkRaise(c *check) {
	sent := c.clock.Now()
	token := c.granted(c.acquire("a", "v")).Token
	for _, step := range []fencing.Token{0, 1, 1000, 123_456_789} {
		c.granted(c.raise("a", "v", token+step))
		require.Equal(c.t, token+step, c.held("a", "v", long, sent), "raised by %d", step)
	}
	token += 123_456_789
	for _, lower := range []fencing.Token{token - 1, 9, 99, 10, 1} {
		c.changesNothing("a", func() { c.granted(c.raise("a", "v", lower)) })
	}
	c.granted(c.release("a", "v"))
	require.Equal(c.t, token+1, c.granted(c.acquire("a", "w")).Token)

	// A counter that is gone, or never was, is as low as can be.
	c.granted(c.bare("b", "v"))
	c.granted(c.raise("b", "v", 5))
	require.EqualValues(c.t, 5, c.do(c.look("b")).Token)
}

func checkRaiseMine(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.changesNothing("a", func() { c.refused(c.raise("a", "w", token+10)) })
	c.granted(c.release("a", "v"))
	c.changesNothing("a", func() { c.refused(c.raise("a", "v", token+10)) })
	token = c.expire("b", "v")
	c.changesNothing("b", func() { c.refused(c.raise("b", "v", token+10)) })
	c.changesNothing("new", func() { c.refused(c.raise("new", "v", 10)) })
}

func checkExtend(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	for _, ttl := range []time.Duration{2 * long, 10 * long, 30 * time.Second, 12_345 * time.Millisecond} {
		sent := c.clock.Now()
		c.granted(c.extend("a", "v", ttl))
		require.Equal(c.t, token, c.held("a", "v", ttl, sent), "Extend has touched the counter")
	}
	c.granted(c.extend("a", "v", time.Millisecond))
	c.awaitFree("a")
}

func checkExtendMine(c *check) {
	c.granted(c.acquire("a", "v"))
	c.changesNothing("a", func() { c.refused(c.extend("a", "w", 2*long)) })
	c.granted(c.release("a", "v"))
	c.changesNothing("a", func() { c.refused(c.extend("a", "v", long)) })
	c.expire("b", "v")
	c.changesNothing("b", func() { c.refused(c.extend("b", "v", long)) })
	c.granted(c.acquire("b", "w"))
	c.changesNothing("b", func() { c.refused(c.extend("b", "v", 2*long)) })
	c.changesNothing("new", func() { c.refused(c.extend("new", "v", long)) })
}

func checkRestore(c *check) {
	// On a server that knows nothing of the resource.
	sent := c.clock.Now()
	c.granted(c.restore("new", "v", 1000))
	require.EqualValues(c.t, 1000, c.held("new", "v", long, sent))
	c.granted(c.release("new", "v"))
	require.EqualValues(c.t, 1001, c.granted(c.acquire("new", "w")).Token)

	// On one that has an older counter, or a younger.
	token := c.expire("a", "v")
	sent = c.clock.Now()
	c.granted(c.restore("a", "v", token+5))
	require.Equal(c.t, token+5, c.held("a", "v", long, sent))
	c.granted(c.release("a", "v"))
	c.granted(c.restore("a", "v", token))
	require.Equal(c.t, token+5, c.do(c.look("a")).Token, "the counter was lowered")

	// Where the key is held already.
	c.granted(c.restore("a", "v", token+7))
	vote := c.do(c.look("a"))
	require.Equal(c.t, token+7, vote.Token)
	require.Equal(c.t, "v", vote.Holder)
}

func checkRestoreOthers(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.changesNothing("a", func() { c.refused(c.restore("a", "w", token+10)) })
	c.granted(c.bare("b", "v"))
	c.changesNothing("b", func() { c.refused(c.restore("b", "w", 10)) })
}

func checkRestoreBare(c *check) {
	bare := func(name string) wire.Request {
		cmd := c.restore(name, "v", 0)
		cmd.Fence.On, cmd.Fence.TTL, cmd.Fence.Set = false, 0, wire.Set{}
		return cmd
	}
	sent := c.clock.Now()
	c.granted(bare("a"))
	require.Zero(c.t, c.held("a", "v", long, sent), "there is a counter")
	c.granted(bare("a"))
	require.Zero(c.t, c.do(c.look("a")).Token, "there is a counter")
	c.granted(c.bare("b", "other"))
	c.changesNothing("b", func() { c.refused(bare("b")) })
}

func checkRelease(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.granted(c.release("a", "v"))
	require.Equal(c.t, token, c.free("a"), "the counter outlives the lock")
	c.changesNothing("a", func() { c.refused(c.release("a", "v")) })
}

func checkReleaseMine(c *check) {
	c.granted(c.acquire("a", "job-10"))
	for _, value := range []string{"w", "job-1", "job-100", "JOB-10", " job-10", "job-10 ", "job-*", "10"} {
		c.changesNothing("a", func() { c.refused(c.release("a", value)) })
	}
	c.changesNothing("new", func() { c.refused(c.release("new", "v")) })
	c.expire("b", "v")
	c.changesNothing("b", func() { c.refused(c.release("b", "v")) })
	c.granted(c.acquire("b", "w"))
	c.changesNothing("b", func() { c.refused(c.release("b", "v")) })
}

func checkLook(c *check) {
	require.Zero(c.t, c.free("a"), "a resource that was never locked has a counter")
	require.Zero(c.t, c.free("a"), "Look has made a counter")
	token := c.granted(c.acquire("a", "v")).Token
	c.changesNothing("a", func() {
		for range 3 {
			vote := c.refused(c.look("a"))
			require.Equal(c.t, token, vote.Token)
		}
		bare := c.look("a")
		bare.Fence.On = false
		vote := c.refused(bare)
		require.Equal(c.t, "v", vote.Holder)
		require.Positive(c.t, vote.Remaining)
	})
	c.granted(c.release("a", "v"))
	require.Equal(c.t, token, c.free("a"))
}

func checkNoExpiry(c *check) {
	raw, ok := c.inst.(Putter)
	if !ok {
		c.t.Skip("the instance is no Putter")
		return
	}
	raw.Put(c.key("a"), "operator", wire.NoExpiry)
	c.changesNothing("a", func() {
		require.Equal(c.t, wire.NoExpiry, c.refused(c.look("a")).Remaining)
		require.Equal(c.t, wire.NoExpiry, c.refused(c.acquire("a", "v")).Remaining)
		if remaining := c.refused(c.bare("a", "v")).Remaining; remaining != 0 {
			require.Equal(c.t, wire.NoExpiry, remaining)
		}
		c.refused(c.extend("a", "v", long))
		c.refused(c.release("a", "v"))
	})
	sent := c.clock.Now()
	raw.Put(c.key("b"), "other", long)
	require.Zero(c.t, c.held("b", "other", long, sent))
}

// checkTTL bounds a key's life from both sides, however slow the machine is: it
// lives from some moment after the command was sent, and to one before the
// answer came plus the TTL.
func checkTTL(c *check) {
	for name, start := range map[string]func(ttl time.Duration){
		"acquire": func(ttl time.Duration) {
			cmd := c.acquire("acquire", "v")
			cmd.TTL = ttl
			c.granted(cmd)
		},
		"bare": func(ttl time.Duration) {
			cmd := c.bare("bare", "v")
			cmd.TTL = ttl
			c.granted(cmd)
		},
		"restore": func(ttl time.Duration) {
			cmd := c.restore("restore", "v", 1)
			cmd.TTL = ttl
			c.granted(cmd)
		},
		"extend": func(ttl time.Duration) {
			c.granted(c.acquire("extend", "v"))
			c.granted(c.extend("extend", "v", ttl))
		},
	} {
		const ttl = 33 * time.Millisecond
		sent := c.clock.Now()
		start(ttl)
		answered := c.clock.Now()
		for {
			looked := c.clock.Now()
			if c.do(c.look(name)).Outcome == wire.Granted {
				break
			}
			require.LessOrEqual(c.t, looked.Sub(answered), ttl+grain+c.skew, "%s: the key outlives its TTL", name)
			c.clock.Sleep(time.Millisecond)
		}
		require.GreaterOrEqual(c.t, c.clock.Since(sent), ttl-grain, "%s: the key expired before its TTL", name)
	}
}

func checkClock(c *check) {
	ask := func(cmd wire.Request) wire.Request {
		cmd.Clock = true
		return cmd
	}
	for _, cmd := range []wire.Request{
		{Op: wire.Tick},
		ask(wire.Request{Op: wire.Tick}),
		ask(c.look("a")),
		ask(c.acquire("a", "v")), ask(c.acquire("a", "w")),
		ask(c.raise("a", "v", 1)), ask(c.raise("a", "w", 1)),
		ask(c.extend("a", "v", long)), ask(c.extend("a", "w", long)),
		ask(c.restore("a", "v", 1)), ask(c.restore("a", "w", 1)),
		ask(c.look("a")),
		ask(c.release("a", "v")), ask(c.release("a", "v")),
		ask(c.bare("b", "v")), ask(c.bare("b", "v")),
	} {
		before := c.clock.Now()
		vote := c.do(cmd)
		after := c.clock.Now()
		require.WithinRange(c.t, vote.Clock, before.Add(-grain-c.skew), after.Add(grain+c.skew), "%v", cmd.Op)
	}
}

func checkSetAgrees(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.granted(c.release("a", "v"))
	for i, version := range []uint64{7, 8, 8, 12, 100, 1 << 63} {
		cmd := c.acquire("a", "v")
		cmd.Fence.Set = wire.Set{Name: "main", Version: version, N: 3 + 2*int(version%3), Q: 3}
		require.Equal(c.t, token+1+fencing.Token(i), c.granted(cmd).Token, "%v", cmd.Fence.Set)
		c.granted(c.release("a", "v"))
	}
	unnamed := c.acquire("b", "v")
	unnamed.Fence.Set = wire.Set{N: 3, Q: 2}
	token = c.granted(unnamed).Token
	c.granted(c.release("b", "v"))
	require.Equal(c.t, token+1, c.granted(unnamed).Token)
}

func checkSetMismatch(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	c.granted(c.release("a", "v"))
	others := []wire.Set{
		{Name: "main", Version: 6, N: 5, Q: 3},
		{Name: "main", Version: 0, N: 5, Q: 3},
		{Name: "main", Version: 7, N: 3, Q: 3},
		{Name: "main", Version: 7, N: 5, Q: 4},
		{Name: "main", Version: 7, N: 15, Q: 3},
		{Name: "other", Version: 7, N: 5, Q: 3},
		{Name: "other", Version: 8, N: 5, Q: 3},
		{Name: "main2", Version: 70, N: 5, Q: 3},
		{Name: "mai", Version: 70, N: 5, Q: 3},
		{Name: "", Version: 8, N: 5, Q: 3},
	}
	for i, set := range others {
		cmd := c.acquire("a", "w")
		cmd.Fence.Set = set
		c.changesNothing("a", func() { c.mismatch(cmd, main) })
		// The set is each resource's own.
		elsewhere := c.acquire(fmt.Sprint("elsewhere", i), "w")
		elsewhere.Fence.Set = set
		c.granted(elsewhere)
	}
	require.Equal(c.t, token+1, c.granted(c.acquire("a", "v")).Token, "a refused client has left its mark")
	c.granted(c.release("a", "v"))

	// Versions are numbers: 10 is above 9, and those above 2^53 are told apart.
	for _, step := range [][2]uint64{{9, 10}, {99, 100}, {1<<53 + 2, 1<<53 + 3}} {
		older, newer := main, main
		older.Version, newer.Version = step[0], step[1]
		name := fmt.Sprint("from ", older.Version)
		cmd := c.acquire(name, "v")
		cmd.Fence.Set = older
		c.granted(cmd)
		c.granted(c.release(name, "v"))
		cmd.Fence.Set = newer
		c.granted(cmd)
		c.granted(c.release(name, "v"))
		cmd.Fence.Set = older
		c.changesNothing(name, func() { c.mismatch(cmd, newer) })
	}
}

// mismatch demands that the command is refused for the sake of the set.
func (c *check) mismatch(cmd wire.Request, theirs wire.Set) {
	c.t.Helper()
	vote := c.do(cmd)
	require.Equal(c.t, wire.Refused, vote.Outcome, "%v locks what was last locked under %v", cmd.Fence.Set, theirs)
	require.ErrorIs(c.t, vote.Err, wire.ErrSetMismatch)
	var mismatch *wire.SetMismatchError
	require.ErrorAs(c.t, vote.Err, &mismatch)
	require.Equal(c.t, cmd.Fence.Set, mismatch.Mine)
	require.Equal(c.t, theirs.String(), mismatch.Theirs)
}

// checkSetHeld: a newer set takes a resource over where its key is free, and
// not before. Which of the two reasons for the refusal is told is the
// instance's choice.
func checkSetHeld(c *check) {
	token := c.granted(c.acquire("a", "v")).Token
	for _, set := range []wire.Set{
		{Name: "main", Version: 8, N: 7, Q: 4},
		{Name: "main", Version: 6, N: 5, Q: 3},
		{Name: "other", Version: 8, N: 5, Q: 3},
	} {
		cmd := c.acquire("a", "w")
		cmd.Fence.Set = set
		c.changesNothing("a", func() { require.Equal(c.t, wire.Refused, c.do(cmd).Outcome) })
	}
	c.granted(c.release("a", "v"))
	require.Equal(c.t, token+1, c.granted(c.acquire("a", "v")).Token)
}

// odd is text that has been mangled by one layer or another.
var odd = []string{
	"plain", "plain ", "plain\n", "line", "with space", " ", "tab\there", "line\nbreak", "crlf\r\nend", "trailing ", " leading",
	"ünïcode", "日本語", "🔒", "e\u0301", "\u00e9", "\u202e", "quote\"s'`", `back\slash`, `\n`, "%s%d", "$1", "*", "?", "[a-z]", "a:b:c",
	"0", "-1", "1e3", "007", "nil", "OK", "UPPER", "upper", "\xff\xfe", "\x01\x02\x7f", strings.Repeat("x", 1024-64), strings.Repeat("ß", 480),
}

// checkKeys takes all odd keys at once: two that are one and the same to the
// server show as a refusal.
func checkKeys(c *check) {
	tokens := map[string]fencing.Token{}
	for i, name := range odd {
		tokens[name] = c.granted(c.acquire(name, fmt.Sprint("v", i))).Token
	}
	for i, name := range odd {
		value := fmt.Sprint("v", i)
		vote := c.refused(c.look(name))
		require.Equal(c.t, value, vote.Holder, "%q", name)
		require.Equal(c.t, tokens[name], vote.Token, "%q", name)
		c.granted(c.raise(name, value, tokens[name]+3))
		c.granted(c.extend(name, value, long))
		c.granted(c.release(name, value))
		require.Equal(c.t, tokens[name]+3, c.free(name), "%q", name)
	}
}

func checkValues(c *check) {
	for i, value := range odd {
		sent := c.clock.Now()
		token := c.granted(c.acquire("a", value)).Token
		require.Equal(c.t, token, c.held("a", value, long, sent), "%q", value)
		if other := odd[(i+1)%len(odd)]; other != value {
			c.changesNothing("a", func() { c.refused(c.release("a", other)) })
		}
		c.granted(c.raise("a", value, token+1))
		c.granted(c.extend("a", value, long))
		c.granted(c.restore("a", value, token+2))
		c.granted(c.release("a", value))
		require.Equal(c.t, token+2, c.free("a"), "%q", value)
		c.granted(c.restore("a", value, token+2))
		require.Equal(c.t, value, c.do(c.look("a")).Holder)
		c.granted(c.release("a", value))
	}
}

func checkContextOver(c *check) {
	cancelled, cancel := context.WithCancel(c.t.Context())
	cancel()
	late, cancel := c.clock.WithDeadline(c.t.Context(), c.clock.Now().Add(-time.Second))
	defer cancel()
	for name, ctx := range map[string]context.Context{"cancelled": cancelled, "deadline": late} {
		_, err := c.inst.Probe(ctx, wire.Known{})
		require.ErrorIs(c.t, err, ctx.Err(), "%s: probe", name)
	}
}

// checkRace lets many clients want one key at the same moment.
func checkRace(c *check) {
	const clients = 50
	for _, fence := range []bool{true, false} {
		name := fmt.Sprint("fence ", fence)
		votes := c.together(clients, func(i int) wire.Vote {
			cmd := c.bare(name, fmt.Sprint("v", i))
			if fence {
				cmd = c.acquire(name, fmt.Sprint("v", i))
			}
			return c.send(cmd)
		})
		winner := -1
		for i, vote := range votes {
			switch vote.Outcome {
			case wire.Granted:
				require.Negative(c.t, winner, "%s: both %d and %d were granted", name, winner, i)
				winner = i
			case wire.Failed:
				require.NoError(c.t, vote.Err)
			}
		}
		require.GreaterOrEqual(c.t, winner, 0, "%s: nobody was granted", name)
		vote := c.refused(c.look(name))
		require.Equal(c.t, fmt.Sprint("v", winner), vote.Holder)
		require.Equal(c.t, votes[winner].Token, vote.Token)
	}
}

// together runs f in n goroutines that start at once, and gives what they give.
func (c *check) together(n int, f func(i int) wire.Vote) []wire.Vote {
	var (
		votes = make([]wire.Vote, n)
		start = make(chan struct{})
		wg    sync.WaitGroup
	)
	for i := range n {
		wg.Go(func() {
			<-start
			votes[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return votes
}

// checkCycles lets clients take one lock in turn, in no particular order. Who
// holds it writes down its token before releasing, so the list is in the order
// of acquisition.
func checkCycles(c *check) {
	const clients, turns = 8, 10
	var (
		mu     sync.Mutex
		tokens []fencing.Token
	)
	until := c.clock.Now().Add(patience)
	votes := c.together(clients, func(i int) wire.Vote {
		for turn := range turns {
			value := fmt.Sprint("v", i, ".", turn)
			vote := c.send(c.acquire("a", value))
			for vote.Outcome == wire.Refused && c.clock.Now().Before(until) {
				c.clock.Sleep(time.Duration(1+i%3) * 300 * time.Microsecond)
				vote = c.send(c.acquire("a", value))
			}
			if vote.Outcome != wire.Granted {
				return vote
			}
			mu.Lock()
			tokens = append(tokens, vote.Token)
			mu.Unlock()
			if vote = c.send(c.release("a", value)); vote.Outcome != wire.Granted {
				return vote
			}
		}
		return wire.Vote{Outcome: wire.Granted}
	})
	for i, vote := range votes {
		require.Equal(c.t, wire.Granted, vote.Outcome, "client %d never got the lock, or lost it while it held it: %v", i, vote.Err)
	}
	require.Len(c.t, tokens, clients*turns)
	for i := 1; i < len(tokens); i++ {
		require.Less(c.t, tokens[i-1], tokens[i], "the tokens at %d and %d of %v", i-1, i, tokens)
	}
}

// checkManyKeys: answers must find the caller who asked.
func checkManyKeys(c *check) {
	votes := c.together(30, func(i int) wire.Vote {
		name, value := fmt.Sprint("k", i), fmt.Sprint("v", i)
		var vote wire.Vote
		for range 3 {
			acquired := c.send(c.acquire(name, value))
			if acquired.Outcome != wire.Granted {
				return acquired
			}
			vote = c.send(c.look(name))
			if vote.Holder != value || vote.Token != acquired.Token {
				return vote
			}
			if vote = c.send(c.release(name, value)); vote.Outcome != wire.Granted {
				return vote
			}
		}
		return vote
	})
	for i, vote := range votes {
		require.Equal(c.t, wire.Granted, vote.Outcome, "client %d, who is alone on its key, was answered %+v", i, vote)
	}
}

func (c *check) probe() wire.Identity { return c.probeKnowing(wire.Known{}) }

func (c *check) probeKnowing(before wire.Known) wire.Identity {
	c.t.Helper()
	ctx, cancel := c.clock.WithTimeout(c.t.Context(), patience)
	defer cancel()
	id, err := c.inst.Probe(ctx, before)
	require.NoError(c.t, err)
	return id
}

func checkProbe(c *check) {
	before := c.clock.Now()
	id := c.probe()
	after := c.clock.Now()
	hides := len(id.Hidden) > 0
	for field, empty := range map[string]bool{
		"RunID": id.RunID == "", "ReplID": id.ReplID == "", "Role": id.Role == "", "Persistence": id.Persistence == "", "Eviction": id.Eviction == "",
		"Uptime": id.Uptime < 0, "Clock": id.Clock.IsZero(), "Served": id.Served < 0,
	} {
		assert.True(c.t, !empty || hides, "%s is missing, and Hidden doesn't say why", field)
	}
	require.NotEmpty(c.t, id.Dialect, "an instance knows how it speaks")
	require.Contains(c.t, []string{"", "master"}, id.Role, "Check needs a server that takes locks")
	require.Zero(c.t, id.Uptime%time.Second, "whole seconds")
	require.Less(c.t, id.Uptime, 100*365*24*time.Hour, "an uptime that no server has")
	if !id.Clock.IsZero() {
		require.WithinRange(c.t, id.Clock, before.Add(-grain-c.skew), after.Add(grain+c.skew))
	}
	again := c.probe()
	require.Equal(c.t, id.RunID, again.RunID, "the run ID changes only with a restart")
	require.Equal(c.t, id.Run(), again.Run(), "the run changes only with a restart or a promotion")
	require.GreaterOrEqual(c.t, again.Uptime, id.Uptime)
	require.LessOrEqual(c.t, again.Uptime-id.Uptime, c.clock.Since(before)+time.Second)
	if id.Served >= 0 {
		require.GreaterOrEqual(c.t, again.Served, id.Served, "the mark is left once in a run")
		require.LessOrEqual(c.t, again.Served-id.Served, c.clock.Since(before)+grain)
		c.clock.Sleep(10 * grain)
		require.Greater(c.t, c.probe().Served, again.Served, "the mark is left once in a run")
	}
	require.Equal(c.t, id.Vouched, again.Vouched)
	require.Equal(c.t, id.Dialect, again.Dialect)
}

// checkMark looks which clients leave the mark anew: those that have found another run
// under the name since it was left, and nobody else.
func checkMark(c *check) {
	id := c.probe()
	if id.Epoch == "" {
		require.Negative(c.t, id.Served, "what is that old has an epoch")
		return
	}
	require.GreaterOrEqual(c.t, id.Served, time.Duration(0))
	another := wire.Known{RunID: "another", Run: "another@1", Voter: "another"}
	for _, known := range []struct {
		what string
		wire.Known
		anew bool
	}{
		{"this run", wire.Known{RunID: id.RunID, Run: id.Run()}, false},
		{"nothing", wire.Known{}, false},
		{"another run, until just now", another, true},
		{"nothing, after that", wire.Known{}, false},
		{"another run, before the mark was left", wire.Known{RunID: another.RunID, Run: another.Run, Voter: another.RunID, Ago: time.Hour}, false},
		{"another run, lately", wire.Known{RunID: another.RunID, Run: another.Run, Voter: another.RunID, Lately: true}, true},
		{"this run without its mark, and another one's votes", wire.Known{RunID: id.RunID, Run: wire.Run(id.ReplID), Voter: another.RunID}, true},
		{"this run with its mark, and another one's votes", wire.Known{RunID: id.RunID, Run: id.Run(), Marked: true, Voter: another.RunID}, false},
		{"another run that had no vote", wire.Known{RunID: another.RunID, Run: another.Run}, false},
		{"another mark in this run", wire.Known{RunID: id.RunID, Run: wire.RunOf(id.ReplID, "1")}, false},
		{"this process as a replica", wire.Known{RunID: id.RunID, Lately: true}, false},
	} {
		before := c.probe()
		c.clock.Sleep(2 * grain) // longer than the other run's last sight is ago
		after := c.probeKnowing(known.Known)
		require.Equal(c.t, before.ReplID, after.ReplID)
		if known.anew {
			require.NotEqual(c.t, before.Epoch, after.Epoch, "a client that knows %s leaves the mark anew", known.what)
			require.Less(c.t, after.Served, before.Served+2*grain, "the mark is as old as its epoch")
		} else {
			require.Equal(c.t, before.Epoch, after.Epoch, "a client that knows %s leaves the mark as it is", known.what)
		}
		require.Equal(c.t, after.Run(), c.probe().Run())
	}
}

func checkRestart(c *check) {
	raw, ok := c.inst.(Restarter)
	if !ok {
		c.t.Skip("the instance is no Restarter")
		return
	}
	c.granted(c.acquire("a", "v"))
	before := c.probe()
	restarted := c.clock.Now()
	raw.Restart(false)
	vote := c.answered(c.look("a"))
	require.Equal(c.t, wire.Granted, vote.Outcome, "the server has kept the key")
	after := c.probe()
	if before.RunID != "" {
		require.NotEqual(c.t, before.RunID, after.RunID)
	}
	if before.Run() != "" {
		require.NotEqual(c.t, before.Run(), after.Run())
		old := c.acquire("a", "w")
		old.Run = before.Run()
		require.ErrorIs(c.t, c.send(old).Err, wire.ErrOtherRun, "the new run takes a command for the old one")
	}
	if after.Uptime >= 0 {
		require.Less(c.t, after.Uptime, time.Minute)
	}
	if after.Served >= 0 {
		require.LessOrEqual(c.t, after.Served, c.clock.Since(restarted)+grain, "the mark is of the old run")
	}
	require.False(c.t, after.Vouched, "nobody vouches for a server that has forgotten")
}

// answered sends a command until it is answered: connections to the
// server's old run fail first.
func (c *check) answered(cmd wire.Request) wire.Vote {
	c.t.Helper()
	for until := c.clock.Now().Add(patience); ; {
		vote := c.send(cmd)
		require.NoError(c.t, wellFormed(cmd, vote))
		if vote.Outcome != wire.Failed {
			return vote
		}
		require.True(c.t, c.clock.Now().Before(until), "no answer: %v", vote.Err)
		c.clock.Sleep(time.Millisecond)
	}
}
