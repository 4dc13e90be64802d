package contract

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

func checkContextOver(c *check) {
	cancelled, cancel := context.WithCancel(c.t.Context())
	cancel()
	late, cancel := c.clock.WithDeadline(c.t.Context(), c.clock.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{cancelled, late} {
		_, err := c.inst.Probe(ctx, wire.Known{})
		require.ErrorIs(c.t, err, ctx.Err())
	}
}

func (c *check) probe(known wire.Known) wire.Identity {
	c.t.Helper()
	ctx, cancel := c.clock.WithTimeout(c.t.Context(), patience)
	defer cancel()
	id, err := c.inst.Probe(ctx, known)
	require.NoError(c.t, err)
	return id
}

func checkProbe(c *check) {
	before := c.clock.Now()
	id := c.probe(wire.Known{})
	after := c.clock.Now()
	for field, missing := range map[string]bool{
		"RunID": id.RunID == "", "ReplID": id.ReplID == "", "Role": id.Role == "", "Persistence": id.Persistence == "", "Eviction": id.Eviction == "",
		"Uptime": id.Uptime < 0, "Clock": id.Clock.IsZero(), "Served": id.Served < 0,
	} {
		require.True(c.t, !missing || len(id.Hidden) > 0, "%s is missing, and Hidden doesn't say why", field)
	}
	require.Contains(c.t, []string{"", "master"}, id.Role, "Check needs a server that takes locks")
	require.Zero(c.t, id.Uptime%time.Second, "whole seconds")
	require.Less(c.t, id.Uptime, 100*365*24*time.Hour, "an uptime that no server has")
	if !id.Clock.IsZero() {
		require.WithinRange(c.t, id.Clock, before.Add(-grain-c.skew), after.Add(grain+c.skew))
	}
	c.clock.Sleep(10 * grain)
	again := c.probe(wire.Known{})
	require.Equal(c.t, id.RunID, again.RunID, "the run ID changes only with a restart")
	require.Equal(c.t, id.Run(), again.Run(), "the run changes only with a restart or a promotion")
	require.Equal(c.t, id.Vouched, again.Vouched)
	require.GreaterOrEqual(c.t, again.Uptime, id.Uptime)
	require.LessOrEqual(c.t, again.Uptime-id.Uptime, c.clock.Since(before)+time.Second)
	if id.Served >= 0 {
		require.Greater(c.t, again.Served, id.Served, "the mark is left once in a run")
		require.LessOrEqual(c.t, again.Served-id.Served, c.clock.Since(before)+grain)
	}
}

// checkMark: a client leaves the mark anew if it has found another run under the name since
// the mark was left. No other client does.
func checkMark(c *check) {
	id := c.probe(wire.Known{})
	if id.Mark == "" {
		require.Negative(c.t, id.Served, "what is that old has a mark")
		return
	}
	require.GreaterOrEqual(c.t, id.Served, time.Duration(0))
	another := wire.Known{RunID: "another", Epoch: "1", Voter: "another"}
	for _, known := range []struct {
		what string
		wire.Known
		anew bool
	}{
		{"this run", wire.Known{RunID: id.RunID, Epoch: id.Epoch()}, false},
		{"nothing", wire.Known{}, false},
		{"another run, until just now", another, true},
		{"nothing, after that", wire.Known{}, false},
		{"another run, before the mark was left", wire.Known{RunID: another.RunID, Epoch: another.Epoch, Voter: another.RunID, Ago: time.Hour}, false},
		{"this run without its mark, and another one's votes", wire.Known{RunID: id.RunID, Voter: another.RunID}, true},
		{"another run that had no vote", wire.Known{RunID: another.RunID, Epoch: another.Epoch}, false},
		{"another mark in this run", wire.Known{RunID: id.RunID, Epoch: "1"}, false},
	} {
		before := c.probe(wire.Known{})
		c.clock.Sleep(2 * grain) // longer than since the other run was last seen
		after := c.probe(known.Known)
		require.Equal(c.t, before.ReplID, after.ReplID)
		if known.anew {
			require.NotEqual(c.t, before.Epoch(), after.Epoch(), "a client that knows %s leaves the mark anew", known.what)
			require.Less(c.t, after.Served, before.Served+2*grain, "the mark is as old as its epoch")
		} else {
			require.Equal(c.t, before.Epoch(), after.Epoch(), "a client that knows %s leaves the mark as it is", known.what)
		}
		require.Equal(c.t, after.Run(), c.probe(wire.Known{}).Run())
		again := c.probe(wire.Known{RunID: after.RunID, Epoch: after.Epoch(), Voter: another.RunID})
		require.Equal(c.t, after.Epoch(), again.Epoch(), "a client tells of another server's votes until the mark was kept")
	}
}

// checkSet: the mark has the set of the clients that use the server, and a probe by a client of another one
// fails. A newer set takes its place under the same epoch, so that nothing is forgotten.
func checkSet(c *check) {
	id := c.probe(wire.Known{})
	if id.Mark == "" {
		c.t.Skip("the instance keeps no mark")
	}
	set := wire.Set{Name: "contract", Version: 1, N: 5, Q: 3, MaxTTL: time.Minute}
	if text := id.Mark.Set(); text != "" { // of whoever used the server before
		var err error
		set, err = wire.ParseSet(text)
		require.NoError(c.t, err)
		set.Version++
	}
	named := func(set wire.Set) { // by a probe that succeeds
		c.t.Helper()
		c.clock.Sleep(2 * grain)
		now := c.probe(wire.Known{Set: set})
		require.Equal(c.t, wire.MarkOf(id.Mark.ReplID(), id.Epoch(), set.String()), now.Mark)
		require.Equal(c.t, now.Mark, c.probe(wire.Known{}).Mark, "a client without a set changes nothing")
		require.GreaterOrEqual(c.t, now.Served, id.Served)
	}
	refused := func(mine, theirs wire.Set) {
		c.t.Helper()
		before := c.probe(wire.Known{}).Mark
		ctx, cancel := c.clock.WithTimeout(c.t.Context(), patience)
		defer cancel()
		for _, known := range []wire.Known{{Set: mine}, {Set: mine, RunID: "another", Epoch: "1", Voter: "another"}} {
			got, err := c.inst.Probe(ctx, known)
			require.Equal(c.t, &wire.SetMismatchError{Mine: mine, Theirs: theirs.String()}, as[*wire.SetMismatchError](c, "a probe by "+mine.String(), err))
			require.Zero(c.t, got.Mark)
		}
		require.Equal(c.t, before, c.probe(wire.Known{}).Mark)
	}
	named(set)
	old := c.acquire("a", "v")
	old.Run = c.probe(wire.Known{}).Run()
	for _, version := range []uint64{set.Version + 1, 1<<53 + 2, 1<<53 + 3} { // which differ in an integer only
		version = max(version, set.Version+1)
		newer := set
		newer.Version = version
		named(newer)
		refused(set, newer)
		set = newer
	}
	for _, change := range []func(*wire.Set){
		func(s *wire.Set) { s.Version = 0 },
		func(s *wire.Set) { s.N += 10 },
		func(s *wire.Set) { s.Q++ },
		func(s *wire.Set) { s.MaxTTL++ },
		func(s *wire.Set) { s.Name, s.Version = s.Name+"2", s.Version+1 },
		func(s *wire.Set) { s.Name, s.Version = s.Name[:max(1, len(s.Name))-1]+".", s.Version+1 }, // a name has no patterns
	} {
		other := set
		change(&other)
		refused(other, set)
	}
	named(set)

	// A client of the old set learns of the new one with its next acquisition, and keeps its leases.
	if old.Run != "" {
		vote := c.send(old)
		mismatch := as[*wire.SetMismatchError](c, "an acquisition under the old mark", vote.Err)
		require.Equal(c.t, set.String(), mismatch.Theirs)
		require.Equal(c.t, old.Run.Set(), mismatch.Mine.String())
		require.False(c.t, vote.Unsent, "it has set the key")
		require.Equal(c.t, "v", c.send(c.look("a")).Holder)
		require.True(c.t, c.send(old).Unsent, "it has set no key")
		for _, op := range []wire.Op{wire.Extend, wire.Restore, wire.Raise, wire.Pass, wire.Tick} {
			kept := c.raise("a", "v", 1)
			kept.Op, kept.Run, kept.TTL = op, old.Run, long
			require.Equal(c.t, wire.Granted, c.send(kept).Outcome, "%v under the old mark", op)
		}
	}
	renewed := c.probe(wire.Known{RunID: "another", Epoch: "1", Voter: "another"})
	require.NotEqual(c.t, id.Epoch(), renewed.Epoch())
	require.Equal(c.t, set.String(), renewed.Mark.Set(), "the set stays when the mark is written anew")
	if raw, ok := c.inst.(Restarter); ok {
		kept := c.bare("kept", "v")
		kept.Run, kept.TTL = renewed.Run(), long
		require.Equal(c.t, wire.Granted, c.send(kept).Outcome)
		raw.Restart(true)
		if c.answered(c.look("kept")).Outcome == wire.Granted {
			return // it can't keep its data
		}
		lower := set
		lower.Version--
		ctx, cancel := c.clock.WithTimeout(c.t.Context(), patience)
		defer cancel()
		_, err := c.inst.Probe(ctx, wire.Known{Set: lower})
		require.ErrorIs(c.t, err, wire.ErrSetMismatch, "a restart that keeps the data keeps the set")
		after := c.probe(wire.Known{Set: set})
		require.NotEqual(c.t, renewed.Mark, after.Mark)
		require.Equal(c.t, set.String(), after.Mark.Set())
	}
}

func checkRestart(c *check) {
	raw, ok := c.inst.(Restarter)
	if !ok {
		c.t.Skip("the instance is no Restarter")
	}
	c.granted(c.acquire("a", "v"))
	before := c.probe(wire.Known{})
	restarted := c.clock.Now()
	raw.Restart(false)
	require.Equal(c.t, wire.Granted, c.answered(c.look("a")).Outcome, "the server has kept the key")
	after := c.probe(wire.Known{})
	if before.RunID != "" {
		require.NotEqual(c.t, before.RunID, after.RunID)
	}
	if before.ReplID != "" {
		require.NotEqual(c.t, before.ReplID, after.ReplID)
	}
	if before.Run() != "" {
		require.NotEqual(c.t, before.Run(), after.Run())
		old := c.acquire("a", "w")
		old.Run = before.Run()
		require.ErrorIs(c.t, c.send(old).Err, wire.ErrOtherRun, "the new run takes a request for the old one")
	}
	if after.Uptime >= 0 {
		require.Less(c.t, after.Uptime, time.Minute)
	}
	if after.Served >= 0 {
		require.LessOrEqual(c.t, after.Served, c.clock.Since(restarted)+grain, "the mark is of the old run")
	}
	require.False(c.t, after.Vouched, "a server that has lost its data is vouched for")
}

// answered sends a request until it is answered, because connections to the old run fail
// first.
func (c *check) answered(cmd wire.Request) wire.Vote {
	c.t.Helper()
	for until := c.clock.Now().Add(patience); ; c.clock.Sleep(time.Millisecond) {
		vote := c.send(cmd)
		if vote.Outcome != wire.Failed {
			return vote
		}
		require.True(c.t, c.clock.Now().Before(until), "no answer: %v", vote.Err)
	}
}
