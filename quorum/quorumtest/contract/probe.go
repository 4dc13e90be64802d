package contract

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
)

func (c *check) probe(known wire.Known) wire.Identity {
	c.t.Helper()
	ctx, cancel := c.clock.WithTimeout(c.t.Context(), patience)
	defer cancel()
	id, err := c.inst.Probe(ctx, known)
	require.NoError(c.t, err)
	return id
}

func checkProbe(c *check) {
	require.NotEmpty(c.t, c.inst.Name())
	require.Equal(c.t, c.inst.Name(), c.inst.Name())
	cancelled, cancel := context.WithCancel(c.t.Context())
	cancel()
	_, err := c.inst.Probe(cancelled, wire.Known{})
	require.ErrorIs(c.t, err, context.Canceled)
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

// checkMark draws what clients know at random, of the server and of the set. A model of the mark says whether a
// probe keeps the mark or writes it anew, under which set, or fails.
func checkMark(c *check) {
	found := c.probe(wire.Known{})
	if found.Mark == "" {
		require.Negative(c.t, found.Served, "what is that old has a mark")
		return
	}
	set := wire.Set{Name: "contract", Version: 1, N: 5, Q: 3, MaxTTL: time.Minute}
	if text := found.Mark.Set(); text != "" { // of whoever used the server before
		var err error
		set, err = wire.ParseSet(text)
		require.NoError(c.t, err)
	}
	draw, seen := rand.New(rand.NewPCG(3, 0)), map[string]int{}
	for range 200 {
		model := memory.NewMark(found, found.Mark.Since(), found.Mark.Set())
		known := wire.Known{
			RunID: one(draw, found.RunID, found.RunID, "another", ""), Epoch: one(draw, found.Epoch(), "1", ""),
			Voter: one(draw, "", found.RunID, "another"), Ago: one(draw, 0, 0, time.Hour),
		}
		known.Set = one(draw, wire.Set{}, set, changed(draw, set))
		c.clock.Sleep(grain) // longer than the other run's votes are ago
		want, now := found, c.clock.Now()
		if since := found.Mark.Since(); now.Before(since) {
			now = since // the server's clock is ahead of this one
		}
		wantErr := model.Probe(&want, known, now)
		ctx, cancel := c.clock.WithTimeout(c.t.Context(), patience)
		got, err := c.inst.Probe(ctx, known)
		cancel()
		what := fmt.Sprintf("%+v, and the mark is %q", known, found.Mark)
		if c.compareErrors(what, wantErr, err); err != nil {
			require.Zero(c.t, got.Mark, what)
			seen["refused"]++
			continue
		}
		anew := want.Epoch() != found.Epoch()
		require.Equal(c.t, anew, got.Epoch() != found.Epoch(), "%s: the mark is written anew", what)
		require.Equal(c.t, wire.MarkOf(found.Mark.ReplID(), got.Epoch(), want.Mark.Set()), got.Mark, what)
		if anew {
			require.LessOrEqual(c.t, got.Served, 2*c.skew+grain, "%s: the mark is as old as its epoch", what)
			seen["anew"]++
		} else {
			require.GreaterOrEqual(c.t, got.Served, found.Served, what)
		}
		if known.Set != (wire.Set{}) && known.Set != set {
			set = known.Set
			seen["set"]++
		}
		found = got
	}
	for _, what := range []string{"refused", "anew", "set"} {
		require.GreaterOrEqual(c.t, seen[what], 10, what)
	}
}

// changed is a set that differs from this one, or a newer version of it.
func changed(draw *rand.Rand, s wire.Set) wire.Set {
	switch draw.IntN(10) {
	case 0:
		s.Version--
	case 1:
		s.N += 10
	case 2:
		s.Q++
	case 3:
		s.MaxTTL++
	case 4:
		s.Name, s.Version = s.Name+"2", s.Version+1
	case 5:
		s.Name, s.Version = s.Name[:max(1, len(s.Name))-1]+".", s.Version+1 // a name has no patterns
	case 6:
		s.Version += 1 << 53
	default:
		s.Version++ // which an integer alone tells from the last one, above 2^53
	}
	return s
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

	c.granted(c.bare("kept", "v"))
	set := wire.Set{Name: "kept", Version: 2, N: 5, Q: 3, MaxTTL: time.Minute}
	marked := c.probe(wire.Known{Set: set}).Mark
	raw.Restart(true)
	if marked == "" || c.answered(c.look("kept")).Outcome == wire.Granted {
		return // it can't keep its data
	}
	again := c.probe(wire.Known{})
	require.NotEqual(c.t, marked, again.Mark)
	require.Equal(c.t, set.String(), again.Mark.Set(), "a restart that keeps the data keeps the set")
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
