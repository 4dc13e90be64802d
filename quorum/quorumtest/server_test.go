package quorumtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

var set = wire.Set{Name: "main", Version: 1, N: 3, Q: 2}

func acquire(value string) wire.Request {
	return wire.Request{Op: wire.Acquire, Keys: []string{"k"}, Value: value, TTL: time.Second, Fence: wire.Fence{On: true, Floor: 1, TTL: time.Hour, Ahead: time.Minute}}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A hung server takes requests into its socket buffer and carries them out when it wakes up, each
// with its full TTL, though the callers have long given up.
func TestServerHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quorumtest.NewServer("a", nil)
		s.Hang()
		sent := time.Now()
		vote := s.Do(within(t, 50*time.Millisecond), acquire("v"))
		assert.Equal(t, wire.Failed, vote.Outcome)
		assert.False(t, vote.Unsent, "a hung server has the request in its buffer")
		assert.ErrorIs(t, vote.Err, context.DeadlineExceeded)
		assert.Equal(t, 50*time.Millisecond, time.Since(sent))
		assert.Empty(t, s.Keys())

		probed, err := s.Probe(within(t, 50*time.Millisecond), wire.Known{})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Zero(t, probed)

		waiter := make(chan wire.Vote)
		go func() { waiter <- s.Do(t.Context(), acquire("w")) }()
		synctest.Wait()
		time.Sleep(10 * time.Second)
		s.Resume()
		assert.Equal(t, wire.Refused, (<-waiter).Outcome, "the buffer is worked off in order")
		value, remaining, ok := s.Get("k")
		assert.True(t, ok)
		assert.Equal(t, "v", value)
		assert.Equal(t, time.Second, remaining)
		time.Sleep(time.Second)
		assert.Empty(t, s.Keys())
	})
}

// A request in flight arrives, even if its caller has given up.
func TestServerDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quorumtest.NewServer("a", nil)
		s.Delay(
			func(wire.Request) time.Duration { return 100 * time.Millisecond },
			func(wire.Request) time.Duration { return 30 * time.Millisecond })
		sent := time.Now()
		vote := s.Do(t.Context(), acquire("v"))
		require.Equal(t, wire.Granted, vote.Outcome)
		assert.Equal(t, 130*time.Millisecond, time.Since(sent))
		_, remaining, _ := s.Get("k")
		assert.Equal(t, 970*time.Millisecond, remaining, "the TTL counts from the arrival")

		release := wire.Request{Op: wire.Release, Keys: []string{"k"}, Value: "v"}
		assert.Equal(t, wire.Failed, s.Do(within(t, 99*time.Millisecond), release).Outcome)
		assert.Len(t, s.Keys(), 1)
		time.Sleep(time.Millisecond)
		assert.Empty(t, s.Keys())
		require.Len(t, s.Log(), 2)
		assert.Equal(t, sent.Add(230*time.Millisecond), s.Log()[1].At)

		// Requests are carried out in the order in which they arrive.
		s.Delay(func(cmd wire.Request) time.Duration {
			if cmd.Value == "slow" {
				return time.Second
			}
			return 0
		}, nil)
		slow := make(chan wire.Vote)
		go func() { slow <- s.Do(t.Context(), acquire("slow")) }()
		synctest.Wait()
		fast := acquire("fast")
		fast.TTL = time.Minute
		assert.Equal(t, wire.Granted, s.Do(t.Context(), fast).Outcome)
		assert.Equal(t, wire.Refused, (<-slow).Outcome)
	})
}

func TestServerEnds(t *testing.T) {
	cases := map[string]struct {
		fate     quorumtest.Fate
		is       error
		executed bool
		unsent   bool
		waits    bool
	}{
		"request lost": {fate: quorumtest.Fate{End: quorumtest.LoseRequest}, is: context.DeadlineExceeded, waits: true},
		"reply lost":   {fate: quorumtest.Fate{End: quorumtest.LoseReply}, is: context.DeadlineExceeded, executed: true, waits: true},
		"reset before": {fate: quorumtest.Fate{End: quorumtest.ResetBefore}, is: quorumtest.ErrConnReset},
		"reset after":  {fate: quorumtest.Fate{End: quorumtest.ResetAfter}, is: quorumtest.ErrConnReset, executed: true},
		"refused":      {fate: quorumtest.Fate{End: quorumtest.Refuse}, is: quorumtest.ErrConnRefused, unsent: true},
		"server error": {fate: quorumtest.Fate{Err: errors.ErrUnsupported}, is: errors.ErrUnsupported},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := quorumtest.NewServer("a", nil)
				s.SetFate(func(wire.Request) quorumtest.Fate { return c.fate })
				start := time.Now()
				vote := s.Do(within(t, 500*time.Millisecond), acquire("v"))
				assert.Equal(t, wire.Failed, vote.Outcome)
				assert.ErrorIs(t, vote.Err, c.is)
				assert.Equal(t, c.unsent, vote.Unsent)
				assert.Equal(t, c.waits, time.Since(start) == 500*time.Millisecond)
				_, _, exists := s.Get("k")
				assert.Equal(t, c.executed, exists)
				_, err := s.Probe(within(t, time.Second), wire.Known{})
				assert.ErrorIs(t, err, c.is)
				s.EndWith(quorumtest.Answer)
				_, err = s.Probe(t.Context(), wire.Known{})
				assert.NoError(t, err)
			})
		})
	}
}

func TestServerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quorumtest.NewServer("a", nil)
		time.Sleep(2500 * time.Millisecond)
		first, err := s.Probe(t.Context(), wire.Known{})
		require.NoError(t, err)
		assert.Equal(t, s.RunID(), first.RunID)
		assert.Equal(t, 2*time.Second, first.Uptime)
		assert.Equal(t, 2500*time.Millisecond, first.Served)
		vote := s.Do(t.Context(), acquire("v"))
		require.Equal(t, wire.Granted, vote.Outcome)

		// A caller that waits when the server dies can't know what became of its request.
		s.Hang()
		waiter := make(chan wire.Vote)
		go func() { waiter <- s.Do(t.Context(), acquire("w")) }()
		synctest.Wait()
		s.Kill()
		lost := <-waiter
		assert.ErrorIs(t, lost.Err, quorumtest.ErrConnReset)
		assert.False(t, lost.Unsent)
		down := s.Do(t.Context(), acquire("w"))
		assert.ErrorIs(t, down.Err, quorumtest.ErrConnRefused)
		assert.True(t, down.Unsent)

		s.Start(true)
		second, err := s.Probe(t.Context(), wire.Known{})
		require.NoError(t, err)
		assert.NotEqual(t, first.RunID, second.RunID)
		assert.Zero(t, second.Uptime)
		assert.Zero(t, second.Served)
		assert.NotEqual(t, first.ReplID, second.ReplID)
		assert.Equal(t, []string{"k"}, s.Keys())
		assert.Equal(t, vote.Token, s.Counter("k"))

		time.Sleep(time.Millisecond)
		s.Restart(false)
		assert.Empty(t, s.Keys())
		assert.Zero(t, s.Counter("k"))
		again := s.Do(t.Context(), acquire("v"))
		assert.Greater(t, again.Token, vote.Token, "an empty server seeds its counters from its clock")

		s.Reconnect()
		third, err := s.Probe(t.Context(), wire.Known{})
		require.NoError(t, err)
		assert.NotEqual(t, second.RunID, third.RunID)
		assert.Equal(t, []string{"k"}, s.Keys())

		time.Sleep(time.Millisecond)
		s.FlushAll()
		flushed, err := s.Probe(t.Context(), wire.Known{})
		require.NoError(t, err)
		assert.Equal(t, third.ReplID, flushed.ReplID)
		assert.NotEqual(t, third.Run(), flushed.Run())
		assert.Zero(t, flushed.Served, "the mark has gone with the data")
		s.Put("k", "v", time.Minute)

		s.Promote()
		promoted, err := s.Probe(t.Context(), wire.Known{})
		require.NoError(t, err)
		assert.Zero(t, promoted.Served)
		assert.Equal(t, third.RunID, promoted.RunID)
		assert.NotEqual(t, third.ReplID, promoted.ReplID)
		assert.Equal(t, []string{"k"}, s.Keys())

		s.SetIdentity(func(id *wire.Identity) { id.RunID, id.Role = first.RunID, "slave" })
		twin, err := s.Probe(t.Context(), wire.Known{})
		require.NoError(t, err)
		assert.Equal(t, first.RunID, twin.RunID)
		assert.Equal(t, "slave", twin.Role)
		assert.Negative(t, twin.Served)
	})
}

func TestServerClock(t *testing.T) {
	mock := clock.NewMock()
	mock.Set(time.Unix(1_700_000_000, 0))
	s := quorumtest.NewServer("a", mock)
	vote := s.Do(t.Context(), acquire("v"))
	assert.EqualValues(t, 1_700_000_000_000_001, vote.Token)
	s.StepClock(999 * time.Millisecond)
	_, remaining, ok := s.Get("k")
	assert.True(t, ok)
	assert.Equal(t, time.Millisecond, remaining)
	s.StepClock(time.Millisecond)
	assert.Empty(t, s.Keys(), "keys expire by the server's own clock")
	assert.Equal(t, time.Unix(1_700_000_001, 0), s.Do(t.Context(), wire.Request{Op: wire.Tick}).Clock)
	mock.Add(time.Second)
	assert.Equal(t, time.Unix(1_700_000_002, 0), s.Clock())
}

func TestServerRejectsWhatQuorumNeverSends(t *testing.T) {
	s := quorumtest.NewServer("a", nil)
	bad := []wire.Request{
		{Op: 99, Keys: []string{"k"}},
		{Op: wire.Look},
		{Op: wire.Release, Keys: []string{"k"}},
		{Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Microsecond},
		{Op: wire.Extend, Keys: []string{"k"}, Value: "v", TTL: 1500 * time.Microsecond},
		{Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Second, Fence: wire.Fence{On: true}},
		{Op: wire.Raise, Keys: []string{"k"}, Value: "v", Fence: wire.Fence{TTL: time.Hour, Ahead: time.Second}},
		{Op: wire.Raise, Keys: []string{"k"}, Value: "v", Fence: wire.Fence{TTL: time.Hour, Token: 5}},
		{Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, Floor: 1, TTL: time.Hour, Ahead: 1500}},
		{Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: time.Second}},
		{Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Second, Delete: []string{"w", "v"}},
		{Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Second, Delete: []string{""}},
		{Op: wire.Extend, Keys: []string{"k"}, Value: "v", TTL: time.Second, Delete: []string{"w"}},
	}
	for _, cmd := range bad {
		vote := s.Do(t.Context(), cmd)
		assert.Equal(t, wire.Failed, vote.Outcome, "%+v", cmd)
		assert.ErrorIs(t, vote.Err, memory.ErrBadRequest)
	}
	assert.Empty(t, s.Keys())
}

func TestServerHookAndInspection(t *testing.T) {
	s := quorumtest.NewServer("a", nil)
	s.OnCommand(func(cmd wire.Request) { s.Put(cmd.Keys[0], "other", wire.NoExpiry) })
	vote := s.Do(t.Context(), acquire("v"))
	assert.Equal(t, wire.Refused, vote.Outcome)
	assert.Equal(t, wire.NoExpiry, vote.Remaining)
	s.OnCommand(nil)
	s.Delete("k")
	s.PutCounter("k", 7)
	vote = s.Do(t.Context(), acquire("v"))
	assert.EqualValues(t, 8, vote.Token)
	for _, e := range s.Log() {
		assert.Equal(t, wire.Acquire, e.Request.Op)
	}
	run := s.PresentRun()
	s.PutSet(set)
	assert.Equal(t, set.String(), s.PresentRun().Set())
	assert.Equal(t, run.Epoch(), s.PresentRun().Epoch())
	_, err := s.Probe(t.Context(), wire.Known{Set: wire.Set{Name: "another"}})
	assert.ErrorIs(t, err, wire.ErrSetMismatch)
	s.FlushAll()
	assert.Empty(t, s.Keys())
	assert.Zero(t, s.Counter("k"))
}
