package quorum_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// maxTTL is the fixture's MaxTTL plus the drift allowance: the length of a quarantine.
const maxTTL = 10_102 * ms

// identify changes what servers report of themselves; without numbers, all servers.
func (f *fixture) identify(edit func(*wire.Identity), which ...int) {
	f.each(func(s *quorumtest.Server) { s.SetIdentity(edit) }, which...)
}

func truth(*wire.Identity) {}

func quarantineOf(t *testing.T, err error) *quorum.QuarantineError {
	t.Helper()
	var q *quorum.QuarantineError
	require.ErrorAs(t, err, &q)
	return q
}

func TestServersThatJustCameUpDoNotVote(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.identify(truth)
		_, err := f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		q := quarantineOf(t, err)
		assert.Equal(t, quorum.Restarted, q.Reason)
		assert.Equal(t, maxTTL, q.Remaining)
		assert.Equal(t, f.began.Add(maxTTL).UnixNano(), q.Until.UnixNano())
		// The text says why, until when, and what to do.
		for _, part := range []string{"came up 0s ago", "may have lost votes", "for 10.1s", "wait", "Coordinator.Trust"} {
			assert.ErrorContains(t, q, part)
		}
		synctest.Wait()
		for i := range f.servers {
			assert.Empty(t, f.ops(i), "an instance that may not vote isn't asked")
		}

		time.Sleep(maxTTL - 1)
		f.tryFails("k", quorum.ErrQuarantined, "not a nanosecond sooner")
		time.Sleep(time.Nanosecond)
		f.acquire("k")
	})
}

func TestServersThatNeedNoQuarantine(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*wire.Identity)
		free bool
	}{
		"vouched":                       {func(id *wire.Identity) { id.Vouched = true }, true},
		"says that all is on disk":      {func(id *wire.Identity) { id.Persistence = "aof always" }, false},
		"promoted at an unknown time":   {func(id *wire.Identity) { id.Uptime, id.Promoted, id.Served = 100*time.Hour, true, -1 }, false},
		"promoted before it was served": {func(id *wire.Identity) { id.Uptime, id.Promoted, id.Served = 100*time.Hour, true, time.Hour }, true},
		"promoted a moment ago":         {func(id *wire.Identity) { id.Uptime, id.Promoted, id.Served = 100*time.Hour, true, 0 }, false},
		"vouched, but promoted":         {func(id *wire.Identity) { id.Vouched, id.Promoted = true, true }, false},
		"vouched, but not served":       {func(id *wire.Identity) { id.Vouched, id.Served = true, 0 }, true},
		"up and served for long":        {func(id *wire.Identity) { id.Uptime, id.Served = 100*time.Hour, maxTTL }, true},
		"up for long, served for less":  {func(id *wire.Identity) { id.Uptime, id.Served = 100*time.Hour, maxTTL-1 }, false},
		"up for long, never served":     {func(id *wire.Identity) { id.Uptime, id.Served = 100*time.Hour, 0 }, false},
		"up for long, the rest hidden":  {func(id *wire.Identity) { id.Uptime, id.Served = 100*time.Hour, -1 }, true},
		"served for longer than up":     {func(id *wire.Identity) { id.Uptime, id.Served = 0, time.Hour }, false},
		"hidden: nothing is shown":      {func(id *wire.Identity) { id.RunID, id.ReplID, id.Uptime = "", "", -1 }, true},
		"uptime alone is hidden":        {func(id *wire.Identity) { id.Uptime = -1 }, false},
		"uptime and mark are hidden":    {func(id *wire.Identity) { id.Uptime, id.Served = -1, -1 }, true},
		"run ID alone is hidden":        {func(id *wire.Identity) { id.RunID = "" }, false},
		"aof everysec loses a second":   {func(id *wire.Identity) { id.Persistence = "aof everysec" }, false},
		"nothing is known of its files": {func(id *wire.Identity) { id.Persistence = "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.identify(c.edit)
				_, err := f.TryAcquire(f.ctx, "k")
				if c.free {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, quorum.ErrQuarantined)
				}
			})
		})
	}
}

// C1 holds A, B and C. The name C moves to a spare server that has been up for days, and C2, which
// starts then, asks C, D and E. C2 has never seen the first C, and nothing that the second reports
// is odd, except that no client has used the name for it.
func TestSpareServerDoesNotMakeASecondHolder(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.occupy("k", ms, 3, 4)
		first := f.acquire("k")
		synctest.Wait()
		require.Equal(t, []string{"A", "B", "C"}, first.Instances())
		time.Sleep(50 * ms)
		f.servers[2].Restart(false)
		f.identify(func(id *wire.Identity) { id.Uptime = 100 * time.Hour }, 2)
		f.each(func(s *quorumtest.Server) { s.EndWith(quorumtest.Refuse) }, 0, 1)

		_, err := f.other().TryAcquire(f.ctx, "k")
		require.NoError(t, first.Err())
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		q := quarantineOf(t, err)
		assert.Equal(t, maxTTL, q.Remaining)
		for _, part := range []string{"it is new under this name", "for 10.1s", "wait", "Coordinator.Trust"} {
			assert.ErrorContains(t, q, part)
		}

		// A client that starts later waits for the rest.
		time.Sleep(4 * time.Second)
		_, err = f.other().TryAcquire(f.ctx, "k")
		q = quarantineOf(t, err)
		assert.Equal(t, maxTTL-4*time.Second, q.Remaining)
		assert.ErrorContains(t, q, "it has been used under this name only for 4s")
		// The client that knew the previous server also notices, and renews the mark.
		time.Sleep(maxTTL + 2*time.Second)
		second := f.acquireBy(f.other(), "k")
		require.Zero(t, first.Validity(), "two holders at once")
		assert.Greater(t, second.Token(), first.Token())
	})
}

// After a promotion each starting client waits once, and only if it starts soon after the first
// client that found the server in its new run.
func TestAPromotionIsWaitedForOnce(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(func(id *wire.Identity) { id.Uptime = 100 * time.Hour })
		f.each((*quorumtest.Server).Promote)
		f.tryFailsBy(f.other(), "k", quorum.ErrQuarantined)
		time.Sleep(2 * maxTTL) // the running client notices later, and renews the mark
		lease := f.acquireBy(f.other(), "k")
		require.NoError(t, lease.Release(f.ctx))
	})
}

// The restart comes between the identification of the server and the SET. The reply shows that the request
// named another run, so the vote doesn't count, and the key is deleted.
func TestAVoteOfAnotherRunDoesNotCount(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.occupy("k", ms, 3, 4)
		first := f.acquire("k")
		synctest.Wait()
		time.Sleep(50 * ms)
		f.each(func(s *quorumtest.Server) { s.EndWith(quorumtest.Refuse) }, 0, 1)
		other := f.other()
		restarts := 0
		f.servers[2].OnCommand(func(cmd wire.Request) {
			if cmd.Op == wire.Acquire && restarts == 0 {
				restarts++
				f.servers[2].Restart(false)
			}
		})
		_, err := other.TryAcquire(f.ctx, "k")
		require.NoError(t, first.Err())
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.ErrorIs(t, err, wire.ErrOtherRun)
		assert.ErrorContains(t, err, "its run ID changed")
		require.NoError(t, other.Settle(f.ctx))
		log := f.log(2)
		require.GreaterOrEqual(t, len(log), 2)
		asked, deleted := log[len(log)-2], log[len(log)-1]
		assert.Equal(t, wire.Acquire, asked.Request.Op)
		assert.ErrorIs(t, asked.Vote.Err, wire.ErrOtherRun)
		assert.False(t, asked.Vote.Unsent, "it has set the key")
		assert.Equal(t, wire.Release, deleted.Request.Op)
		assert.Equal(t, wire.Granted, deleted.Vote.Outcome)
	})
}

// A changed run ID means a quarantine whatever else the server reports: its uptime may be a
// replica's, and its files another server's.
func TestAnotherRunIDIsQuarantined(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.acquire("warm")
		synctest.Wait()
		time.Sleep(time.Hour)
		f.each(func(s *quorumtest.Server) {
			s.Restart(true)
			s.SetIdentity(func(id *wire.Identity) { id.Uptime, id.Persistence = 100*time.Hour, "aof always" })
		})
		_, err := f.TryAcquire(f.ctx, "k")
		assert.Equal(t, maxTTL, quarantineOf(t, err).Remaining)
		time.Sleep(maxTTL)
		f.acquire("k")
	})
}

// Only the client's monotonic clock ends a quarantine. A wall clock that is set forward must not.
func TestQuarantineEndsByTheMonotonicClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := newSkewedClock()
		f := newFixture(t, 3, withSkew(clk))
		f.identify(truth)
		f.tryFails("k", quorum.ErrQuarantined)
		clk.stepWall(time.Hour)
		_, err := f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		assert.Equal(t, maxTTL, quarantineOf(t, err).Remaining)
		clk.stepWall(-2 * time.Hour)
		time.Sleep(maxTTL)
		f.acquire("k")
	})
}

func TestQuarantineIsReportedOnce(t *testing.T) {
	var told []quorum.QuarantineEvent
	var mu sync.Mutex
	play(t, 3, func(f *fixture) {
		for _, s := range f.servers[:2] {
			s.SetIdentity(truth)
		}
		for range 5 {
			f.tryFails("k", quorum.ErrQuarantined)
			f.each((*quorumtest.Server).Reconnect) // identified again, with nothing new
			time.Sleep(300 * ms)
		}
		f.servers[2].StepClock(7 * time.Second)
		_, err := f.Verify(f.ctx)
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, told, 3)
		assert.ElementsMatch(t, []string{"A", "B"}, []string{told[0].Instance, told[1].Instance})
		assert.Equal(t, quorum.Restarted, told[0].Err.Reason)
		assert.Equal(t, quorum.ClockJumped, told[2].Err.Reason)
	}, func(c *quorum.Config) {
		c.Hooks.Quarantined = func(e quorum.QuarantineEvent) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e)
		}
	})
}

// The monitor notices a restart while no lock is taken, and the quarantine starts then.
func TestARestartIsNoticedWhileIdle(t *testing.T) {
	var told atomic.Int32
	play(t, 3, func(f *fixture) {
		lease := f.acquire("warm")
		require.NoError(t, lease.Release(f.ctx))
		synctest.Wait()
		f.each(func(s *quorumtest.Server) { s.Restart(false) })
		time.Sleep(5*time.Second + ms)
		synctest.Wait()
		require.EqualValues(t, 3, told.Load())
		time.Sleep(maxTTL)
		f.acquire("k")
	}, func(c *quorum.Config) { c.Hooks.Quarantined = func(quorum.QuarantineEvent) { told.Add(1) } })
}

func TestHiddenIdentityIsReportedOnce(t *testing.T) {
	var told []quorum.UnprotectedEvent
	var mu sync.Mutex
	play(t, 3, func(f *fixture) {
		f.identify(func(id *wire.Identity) {
			id.RunID, id.ReplID, id.Uptime, id.Hidden = "", "", -1, []string{"INFO: no permission"}
		}, 0)
		for range 3 {
			lease := f.acquire("k")
			f.giveBack(lease)
			f.each((*quorumtest.Server).Reconnect)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, told, 1)
		assert.Equal(t, quorum.UnprotectedEvent{Instance: "A", Hidden: []string{"INFO: no permission"}}, told[0])
	}, func(c *quorum.Config) {
		c.Hooks.Unprotected = func(e quorum.UnprotectedEvent) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e)
		}
	})
}

// A server that may evict locks is reported when it is first asked who it is, and again only if that
// was mended meanwhile.
func TestServerThatEvictsIsReported(t *testing.T) {
	var told []quorum.UnprotectedEvent
	play(t, 3, func(f *fixture) {
		policy := func(p string) {
			f.identify(func(id *wire.Identity) { id.Eviction = p }, 1)
			_, _ = f.Verify(f.ctx)
		}
		f.identify(func(id *wire.Identity) { id.Eviction = "allkeys-lru" }, 1)
		lease := f.acquire("k")
		synctest.Wait() // B may answer late
		want := []quorum.UnprotectedEvent{{Instance: "B", Eviction: "allkeys-lru"}}
		require.Equal(t, want, told)
		policy("allkeys-lru")
		policy("noeviction")
		require.Equal(t, want, told)
		policy("volatile-ttl")
		require.Equal(t, append(want, quorum.UnprotectedEvent{Instance: "B", Eviction: "volatile-ttl"}), told)
		require.NoError(t, lease.Release(f.ctx))
	}, func(c *quorum.Config) {
		c.Hooks.Unprotected = func(e quorum.UnprotectedEvent) { told = append(told, e) }
	})
}

// Scenario S13: one server under two names has one vote.
func TestOneServerUnderTwoNamesVotesOnce(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(func(id *wire.Identity) { id.RunID, id.Vouched = "0123456789", true }, 0, 1)
		f.kill(2)
		_, err := f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.ErrorIs(t, err, quorum.ErrDuplicate)
		for _, part := range []string{`"A"`, `"B"`, "0123456789", "list each server once"} {
			assert.ErrorContains(t, err, part)
		}
		synctest.Wait()
		assert.Equal(t, 1, len(f.ops(0))/2+len(f.ops(1))/2, "only one was asked, and its key deleted")

		// The third and one of the two are enough.
		f.servers[2].Start(true)
		f.vouch(2)
		lease := f.acquire("k")
		synctest.Wait()
		assert.Len(t, lease.Instances(), 2)
		require.NoError(t, lease.Release(f.ctx))

		// It ends when the second name leads to a server of its own: an unfit instance is
		// identified again and again.
		f.vouch(0, 1)
		f.trust()
		lease = f.acquire("k")
		require.NoError(t, f.Settle(f.ctx))
		assert.Len(t, lease.Instances(), 3)
		require.NoError(t, lease.Release(f.ctx))
		require.NoError(t, f.Settle(f.ctx), "its last key is gone, too")
	})
}

// probes counts a server's probes, and can apply a fate to them.
func probes(s *quorumtest.Server, fate func() quorumtest.Fate) *atomic.Int32 {
	var n atomic.Int32
	s.SetFate(func(cmd wire.Request) quorumtest.Fate {
		if cmd.Op != 0 {
			return quorumtest.Fate{}
		}
		n.Add(1)
		return fate()
	})
	return &n
}

func TestConcurrentRoundsShareAProbe(t *testing.T) {
	play(t, 3, func(f *fixture) {
		n := probes(f.servers[0], func() quorumtest.Fate { return quorumtest.Fate{Before: 20 * ms} })
		f.each(func(s *quorumtest.Server) {
			s.SetFate(func(wire.Request) quorumtest.Fate { return quorumtest.Fate{Before: 30 * ms} })
		}, 1)
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				lease, err := f.TryAcquire(f.ctx, fmt.Sprint(i))
				if assert.NoError(t, err) {
					assert.NoError(t, lease.Release(f.ctx))
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, 1, n.Load(), "a single flight")
		f.each((*quorumtest.Server).Reconnect)
		for i := range 20 {
			all.Go(func() {
				_, err := f.TryAcquire(f.ctx, fmt.Sprint("again", i))
				assert.NoError(t, err)
			})
		}
		all.Wait()
		assert.LessOrEqual(t, n.Load(), int32(3), "a new connection identifies the server again, for all")
	})
}

// Trust is for one run. A server that returns after another one took its place lacks the votes
// given there.
func TestTrustEndsWithTheRun(t *testing.T) {
	play(t, 1, func(f *fixture) {
		say := func(run string) {
			f.servers[0].SetIdentity(func(id *wire.Identity) { id.RunID, id.ReplID, id.Uptime = run, run+"'s", time.Hour })
		}
		say("first")
		require.NoError(t, f.Trust(f.ctx))
		lease := f.acquire("k")
		require.NoError(t, lease.Release(f.ctx))
		say("second")
		f.tryFails("k", quorum.ErrQuarantined)
		time.Sleep(maxTTL)
		lease = f.acquire("k")
		say("first")
		f.tryFails("k2", quorum.ErrQuarantined, "it lacks what the second server granted")
		_ = lease
	})
}

// A server that reported its run, and hides it after a restart, must not pass for a server that
// never reported it.
func TestARestartThatHidesItselfIsQuarantined(t *testing.T) {
	for name, hide := range map[string]func(id *wire.Identity){
		"all of it":                           func(id *wire.Identity) { id.RunID, id.ReplID, id.Uptime = "", "", -1 },
		"the run id":                          func(id *wire.Identity) { id.RunID, id.ReplID, id.Uptime = "", "", time.Hour },
		"the run ID, then its replication ID": func(id *wire.Identity) { id.ReplID, id.Uptime = "", time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.kill(2)
				require.NoError(t, f.acquire("k").Release(f.ctx))
				synctest.Wait()
				f.servers[0].Restart(false)
				f.identify(hide, 0)
				f.tryFails("k", quorum.ErrQuarantined)
				f.servers[0].Reconnect()
				time.Sleep(maxTTL / 2)
				f.tryFails("k", quorum.ErrQuarantined)
				f.servers[0].Reconnect()
				time.Sleep(maxTTL/2 + 10*ms)
				f.acquire("k") // not again for each connection
			})
		})
	}
}

// A server that hides its run is identified again at each reading of its clock, because it may have
// hidden it only briefly.
func TestAHiddenRunIsAskedForAgain(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(func(id *wire.Identity) { id.RunID, id.ReplID, id.Uptime = "", "", -1 })
		require.NoError(t, f.acquire("k").Release(f.ctx))
		f.identify(truth)
		time.Sleep(maxTTL)
		lease := f.acquire("k") // it knows the run, and has waited
		require.NoError(t, lease.Release(f.ctx))
		synctest.Wait() // a quorum was enough to return
		assert.Equal(t, f.servers[0].PresentRun(), f.lastAcquired(0).Run)
		f.each(func(s *quorumtest.Server) { s.Restart(false) })
		_, err := f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, wire.ErrOtherRun)
		require.ErrorIs(t, err, quorum.ErrQuarantined)
	})
}

// A client that can't name the run that it asks notices another set with its next probe, and has no vote from then
// on.
func TestAnotherSetWhereTheRunIsHidden(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.each(func(s *quorumtest.Server) {
			s.SetIdentity(func(id *wire.Identity) { id.ReplID, id.Vouched = "", true })
		})
		f.cycle()
		f.each(func(s *quorumtest.Server) { s.PutSet(wire.Set{Name: "theirs", N: 3, Q: 2, MaxTTL: 10 * time.Second}) })
		f.cycle()
		time.Sleep(2 * f.Config().Lab.ClockEvery)
		for range 2 {
			f.tryFails("k", quorum.ErrSetMismatch)
		}
	})
}

// A newer set of instances takes the place of the older one on the servers, and nothing is forgotten: clients of
// the newer set have no quarantine. Those of the older one are told with their next request, and go on being
// told.
func TestANewerSetTakesOver(t *testing.T) {
	quarantined := 0
	play(t, 3, func(f *fixture) {
		set := func(version uint64) func(*quorum.Config) {
			return func(cfg *quorum.Config) { cfg.Set.Version = version }
		}
		f.cycle()
		require.Equal(t, f.Set().String(), f.servers[0].PresentRun().Set())
		epoch := f.servers[0].PresentRun().Epoch()
		lease := f.acquire("held")
		synctest.Wait()

		newer := f.other(set(2))
		next := f.acquireBy(newer, "k")
		require.NoError(t, next.Release(f.ctx))
		synctest.Wait() // the third server may be asked after the round is won
		for _, s := range f.servers {
			assert.Equal(t, newer.Set().String(), s.PresentRun().Set())
			assert.Equal(t, epoch, s.PresentRun().Epoch())
		}
		for range 3 {
			_, err := f.TryAcquire(f.ctx, "k")
			var round *quorum.RoundError
			require.ErrorAs(t, err, &round)
			require.Equal(t, quorum.ErrSetMismatch, round.Verdict)
			require.ErrorContains(t, err, newer.Set().String())
			require.NotErrorIs(t, err, quorum.ErrQuarantined)
			time.Sleep(time.Second)
		}
		require.NoError(t, lease.Extend(f.ctx), "a lease outlives a change of the set")
		require.NoError(t, lease.Release(f.ctx))
		f.tryFailsBy(f.other(set(1)), "k", quorum.ErrSetMismatch, "it is older")
		next = f.acquireBy(newer, "k")
		f.giveBack(next)
		assert.Zero(t, quarantined)
	}, func(cfg *quorum.Config) {
		cfg.Hooks.Quarantined = func(quorum.QuarantineEvent) { quarantined++ }
	})
}
