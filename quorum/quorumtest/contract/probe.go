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
	if id.Epoch == "" {
		require.Negative(c.t, id.Served, "what is that old has an epoch")
		return
	}
	require.GreaterOrEqual(c.t, id.Served, time.Duration(0))
	another := wire.Known{RunID: "another", Epoch: "1", Voter: "another"}
	for _, known := range []struct {
		what string
		wire.Known
		anew bool
	}{
		{"this run", wire.Known{RunID: id.RunID, Epoch: id.Epoch}, false},
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
			require.NotEqual(c.t, before.Epoch, after.Epoch, "a client that knows %s leaves the mark anew", known.what)
			require.Less(c.t, after.Served, before.Served+2*grain, "the mark is as old as its epoch")
		} else {
			require.Equal(c.t, before.Epoch, after.Epoch, "a client that knows %s leaves the mark as it is", known.what)
		}
		require.Equal(c.t, after.Run(), c.probe(wire.Known{}).Run())
		again := c.probe(wire.Known{RunID: after.RunID, Epoch: after.Epoch, Voter: another.RunID})
		require.Equal(c.t, after.Epoch, again.Epoch, "a client tells of another server's votes until the mark was kept")
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
