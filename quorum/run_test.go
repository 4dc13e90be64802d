package quorum_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// older restarts a server with the counter of "k" from that many grants ago, as from a disk that is
// written once a second.
func (f *fixture) older(s *quorumtest.Server, grants fencing.Token) {
	s.PutCounter("k", s.Counter("k")-grants)
	s.Restart(true)
}

// cycle takes and releases the lock.
func (f *fixture) cycle() fencing.Token {
	f.t.Helper()
	lease := f.acquire("k")
	f.giveBack(lease)
	return lease.Token()
}

// All servers come back with the counters of a second ago. These are no higher than an earlier run may have
// come to, so the first grant starts from the clock.
func TestTokensRiseThoughAllCountersComeBackOlder(t *testing.T) {
	for name, c := range map[string]struct {
		vouch bool
		wait  time.Duration
	}{
		"after the quarantine": {false, maxTTL},
		"vouched for":          {true, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				var last fencing.Token
				for range 5 {
					last = f.cycle()
				}
				time.Sleep(ms) // in which the clock gets ahead of the counters, as it does
				f.each(func(s *quorumtest.Server) { f.older(s, 3) })
				if c.vouch {
					require.NoError(t, f.Trust(f.ctx))
				}
				f.recognize()
				time.Sleep(c.wait)
				lifted := f.cycle()
				assert.Greater(t, lifted, last)
				clock := fencing.Token(f.servers[0].Clock().UnixMicro())
				assert.Greater(t, lifted, clock, "from the clock")
				assert.Less(t, lifted, clock+10, "right above it, as no time passes")
				assert.Equal(t, lifted+1, f.cycle(), "and once in a run")
			})
		})
	}
}

// The remaining assumption: a server that hides its run continues from the counter that it came
// back with, and the report tells the user so.
func TestTokensOfServersThatHideTheirRunsMayRepeat(t *testing.T) {
	var told atomic.Int32
	play(t, 3, func(f *fixture) {
		f.identify(func(id *wire.Identity) { id.RunID, id.ReplID, id.Uptime = "", "", max(id.Uptime, time.Hour) })
		first := f.cycle()
		f.each(func(s *quorumtest.Server) { f.older(s, 1) })
		time.Sleep(maxTTL)
		assert.Equal(t, first, f.cycle())
		assert.EqualValues(t, 3, told.Load())
	}, func(c *quorum.Config) { c.Hooks.Unprotected = func(quorum.UnprotectedEvent) { told.Add(1) } })
}

// A master's first replica, or a backup, changes its replication ID as a promotion does. So it costs
// a quarantine, and the other servers continue. A master's next replicas change nothing.
func TestAFirstReplicaIsAnotherRun(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("held")
		f.quiesce() // A's first run is known, too
		f.servers[0].Attach()
		_, err := f.other().TryAcquire(f.ctx, "k")
		require.NoError(t, err, "B and C are a quorum")
		require.NoError(t, lease.Extend(f.ctx))
		_, err = f.Verify(f.ctx)
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		require.ErrorContains(t, err, "its replication ID changed")
		time.Sleep(maxTTL)
		f.each(func(s *quorumtest.Server) { s.EndWith(quorumtest.Refuse) }, 1)
		require.NoError(t, twice(f, f.Coordinator, "l"), "A votes again")
	})
}

// A user loses the right to see the run while the client works. The server is identified again, and
// votes as a server that hides its run, after a quarantine.
func TestTheRunIsHiddenFromNowOn(t *testing.T) {
	play(t, 3, func(f *fixture) {
		require.NoError(t, f.acquire("k").Release(f.ctx))
		require.NoError(t, f.Settle(f.ctx))
		f.each(func(s *quorumtest.Server) {
			s.SetIdentity(func(id *wire.Identity) { id.RunID, id.ReplID, id.Uptime = "", "", -1 })
			s.SetFate(func(cmd wire.Request) quorumtest.Fate {
				if cmd.Run != "" {
					return quorumtest.Fate{Err: permanentError{true}}
				}
				return quorumtest.Fate{}
			})
		})
		f.tryFails("k", quorum.ErrNoQuorum)
		time.Sleep(ms)
		f.tryFails("k", quorum.ErrQuarantined)
		time.Sleep(maxTTL)
		f.acquire("k")
	})
}

// Two servers answer under one name in turn: an address was switched, and connections to the old
// one still exist. Whichever the probe finds, neither has a vote, because another client may have
// the other's.
func TestTwoServersUnderOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		second := quorumtest.NewServer("A", nil)
		second.SetIdentity(func(id *wire.Identity) { id.Uptime = time.Hour })
		s := &switched{Server: f.servers[0], second: second}
		c, err := quorum.New(f.cfg, s)
		require.NoError(t, err)
		defer c.Close(f.ctx)
		first := f.acquireBy(c, "k")

		s.commands.Store(true) // probes still reach the old one
		for range 3 {
			f.tryFailsBy(c, "other", quorum.ErrQuarantined)
			time.Sleep(ms)
			assert.Empty(t, second.Keys(), "what a transaction may have set is deleted")
			time.Sleep(maxTTL / 2)
		}
		require.Error(t, first.Err())
		s.commands.Store(false)
		f.tryFailsBy(c, "k", quorum.ErrQuarantined)
		time.Sleep(maxTTL)
		_ = f.acquireBy(c, "k")
	})
}

// switched is two servers under one name: requests and probes reach the second one once switched.
type switched struct {
	*quorumtest.Server
	second           *quorumtest.Server
	commands, probes atomic.Bool
}

func (s *switched) Probe(ctx context.Context, before wire.Known) (wire.Identity, error) {
	if s.probes.Load() {
		return s.second.Probe(ctx, before)
	}
	return s.Server.Probe(ctx, before)
}

func (s *switched) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if s.commands.Load() {
		s.second.Send(cmd, timeout, to)
		return
	}
	s.Server.Send(cmd, timeout, to)
}

// A server in another run doesn't extend a lease, though it kept the key. The lease ends at its
// deadline even if a majority was restarted with all data.
func TestALeaseEndsIfAMajorityWasRestarted(t *testing.T) {
	for name, do := range map[string]func(*quorumtest.Server){
		"restarted": func(s *quorumtest.Server) { s.Restart(true) }, "promoted": (*quorumtest.Server).Promote,
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				lease := f.acquire("k")
				synctest.Wait()
				require.Len(f.t, lease.Instances(), 3)
				f.each(do, 0)
				time.Sleep(time.Second)
				require.NoError(f.t, lease.Extend(f.ctx), "the others are a quorum")
				f.each(do, 1)
				time.Sleep(time.Second)
				err := lease.Extend(f.ctx)
				require.ErrorIs(f.t, err, quorum.ErrNotExtended)
				require.ErrorIs(f.t, err, quorum.ErrQuarantined)
				require.NoError(f.t, lease.Err(), "the old deadline stands")
				time.Sleep(lease.Validity())
				require.ErrorIs(f.t, lease.Err(), quorum.ErrExpired)
				time.Sleep(10 * time.Second)
				require.NoError(f.t, f.acquire("k").Release(f.ctx))
			})
		})
	}
}

// A probe finds another server while the first one's answer is in flight. By then another client
// may have the second one's vote, so the first one's doesn't count.
func TestGrantsOfAnEarlierRunDoNotCount(t *testing.T) {
	for _, op := range []wire.Op{wire.Acquire, wire.Extend} {
		t.Run(op.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 1)
				second := quorumtest.NewServer("A", nil)
				second.SetIdentity(func(id *wire.Identity) { id.Vouched = true })
				s := &switched{Server: f.servers[0], second: second}
				c, err := quorum.New(f.cfg, s)
				require.NoError(t, err)
				defer c.Close(f.ctx)
				lease := f.acquireBy(c, "held")
				f.servers[0].SetFate(func(cmd wire.Request) quorumtest.Fate { return quorumtest.Fate{After: 20 * ms} })
				answer := make(chan error, 1)
				go func() {
					if op == wire.Extend {
						answer <- lease.Extend(f.ctx)
						return
					}
					_, err := c.TryAcquire(f.ctx, "k")
					answer <- err
				}()
				time.Sleep(ms)
				s.probes.Store(true)
				_, _ = c.Verify(f.ctx)
				require.NoError(t, c.Trust(f.ctx)) // so that no quarantine stands in the way
				err = <-answer
				require.ErrorIs(t, err, wire.ErrOtherRun)
				log := f.log(0)
				require.Equal(t, wire.Granted, log[len(log)-1].Vote.Outcome, "it did grant")
			})
		})
	}
}

// tardy is a server whose first probe answer arrives late, and every other one a moment late.
type tardy struct {
	*quorumtest.Server
	asked atomic.Int32
}

func (s *tardy) Probe(ctx context.Context, before wire.Known) (wire.Identity, error) {
	id, err := s.Server.Probe(ctx, before)
	if s.asked.Add(1) == 1 {
		time.Sleep(20 * ms)
	} else {
		time.Sleep(ms) // the caller that got the first answer has returned
	}
	return id, err
}

// A probe answer from before a restart is ignored after a newer one. Otherwise the ended run would
// be taken for the present one.
func TestProbesDoNotOvertakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		s := &tardy{Server: f.servers[0]}
		c, err := quorum.New(f.cfg, s)
		require.NoError(t, err)
		defer c.Close(f.ctx)

		var group sync.WaitGroup
		defer group.Wait()
		group.Go(func() {
			_, err := c.Verify(f.ctx)
			assert.NoError(t, err)
		})
		synctest.Wait()
		require.EqualValues(t, 1, s.asked.Load(), "it is on its way")
		f.servers[0].Restart(false)

		f.tryFailsBy(c, "k", quorum.ErrQuarantined, "it is another run")
		group.Wait()
		time.Sleep(maxTTL)

		lease := f.acquireBy(c, "k")
		require.NoError(t, lease.Release(f.ctx))
		assert.Equal(t, f.servers[0].PresentRun(), f.lastAcquired(0).Run, "the grant was made in it")
	})
}

// Verify and Trust say what the server is now, and not what a probe has found that was under way when they were called.
func TestVerifyAsksAfterTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		c, err := quorum.New(f.cfg, &tardy{Server: f.servers[0]})
		require.NoError(t, err)
		defer c.Close(f.ctx)
		var group sync.WaitGroup
		defer group.Wait()
		group.Go(func() { _, _ = c.Verify(f.ctx) })
		synctest.Wait() // the server has answered, and the answer is on its way
		f.servers[0].Restart(false)
		report, err := c.Verify(f.ctx)
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		require.Equal(t, f.servers[0].RunID(), report.Instances[0].Identity.RunID)
	})
}
