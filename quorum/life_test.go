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
)

// older lets a server come back with the counter of "k" that it had before that many
// grants, as from a disk that is written once a second.
func (f *fixture) older(s *quorumtest.Server, grants fencing.Token) {
	s.PutCounter("k", s.Counter("k")-grants, f.Set().String())
	s.Restart(true)
}

// cycle takes the lock and gives it back.
func (f *fixture) cycle() fencing.Token {
	f.t.Helper()
	lease := f.acquire("k")
	require.NoError(f.t, lease.Release(f.ctx))
	f.requireNothingLeft()
	return lease.Token()
}

// A vote names the life in which the server is known, if it is; nothing else does.
func TestVotesNameTheLifeThatTheyAreAskedIn(t *testing.T) {
	for name, c := range map[string]struct {
		identity func(*quorum.Identity)
		watch    quorum.Switch
		known    bool
	}{
		"known":       {nil, quorum.On, true},
		"not watched": {nil, quorum.Off, false},
		"hidden": {func(id *quorum.Identity) {
			id.RunID, id.Uptime = "", -1
		}, quorum.On, false},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				if c.identity != nil {
					f.identify(c.identity)
				}
				lease := f.acquire("k")
				require.NoError(t, lease.Extend(f.ctx))
				require.NoError(t, lease.Release(f.ctx))
				f.requireNothingLeft()
				for i, s := range f.servers {
					want := ""
					if c.known {
						want = s.RunID()
					}
					for _, e := range f.log(i) {
						if e.Command.Op == quorum.Acquire {
							assert.Equal(t, want, e.Command.Life)
						} else {
							assert.Empty(t, e.Command.Life, "%v", e.Command.Op)
						}
					}
					assert.Equal(t, want, s.Life("k"))
				}
			}, func(cfg *quorum.Config) { cfg.RestartQuarantine = c.watch })
		})
	}
}

// A lock that passes on inside a process is asked for in a life, too.
func TestHandOversNameTheLife(t *testing.T) {
	playCalls(t, 3, func(f *fixture) {
		first := f.acquire("k")
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				lease, err := f.Acquire(f.ctx, "k")
				if assert.NoError(t, err) {
					time.Sleep(ms)
					assert.NoError(t, lease.Release(f.ctx))
				}
			})
		}
		synctest.Wait()
		require.NoError(t, first.Release(f.ctx))
		group.Wait()
		f.requireNothingLeft()
		replaced := 0
		for i, s := range f.servers {
			for _, e := range f.log(i) {
				if e.Vote.Replaced {
					replaced++
					assert.Equal(t, s.RunID(), e.Command.Life)
				}
			}
		}
		assert.Positive(t, replaced)
	}, withoutCohorts)
}

// All servers come back with the counters of a second ago. The record of the life is
// as old as the counter, so the first grant starts from the clock.
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
				f.each(func(s *quorumtest.Server) { f.older(s, 3) })
				if c.vouch {
					require.NoError(t, f.Trust(f.ctx))
				}
				f.recognize()
				time.Sleep(c.wait)
				lifted := f.cycle()
				assert.Greater(t, lifted, last)
				assert.Equal(t, fencing.Token(f.servers[0].Clock().UnixMicro())+1, lifted, "from the clock")
				assert.Equal(t, lifted+1, f.cycle(), "and once in a life")
			})
		})
	}
}

// What is left of the assumption: a server whose run id isn't told goes on from the
// counter that it came back with, and the user is told so.
func TestTokensOfServersThatHideTheirLivesMayRepeat(t *testing.T) {
	var told atomic.Int32
	playOnce(t, 3, func(f *fixture) {
		f.identify(func(id *quorum.Identity) { id.RunID, id.Uptime = "", max(id.Uptime, time.Hour) })
		first := f.cycle()
		f.each(func(s *quorumtest.Server) { f.older(s, 1) })
		time.Sleep(maxTTL)
		assert.Equal(t, first, f.cycle())
		assert.EqualValues(t, 3, told.Load())
	}, func(c *quorum.Config) { c.Hooks.Unprotected = func(quorum.UnprotectedEvent) { told.Add(1) } })
}

// The server is restarted under the command, with an older counter, and somebody
// vouches for it, so that no quarantine stands in the way: the grant is for the life
// that is over, goes on from that counter, and doesn't count.
func TestGrantForAnotherLifeDoesNotCount(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(func(id *quorum.Identity) { id.Vouched = true })
		f.cycle()
		last := f.cycle()
		for _, s := range f.servers {
			restarts := 0
			s.OnCommand(func(cmd quorum.Command) {
				if cmd.Op == quorum.Acquire && restarts == 0 {
					restarts++
					f.older(s, 1)
				}
			})
		}
		_, err := f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.NotErrorIs(t, err, quorum.ErrQuarantined)
		assert.ErrorContains(t, err, "it granted in another life than it was asked in: its run id was ")
		require.NoError(t, f.Settle(f.ctx))
		for i, s := range f.servers {
			log := f.log(i)
			granted := log[len(log)-2]
			require.Equal(t, quorum.Acquire, granted.Command.Op)
			assert.Equal(t, quorum.Granted, granted.Vote.Outcome, "it did grant")
			assert.Equal(t, last, granted.Vote.Token, "a token that was given before")
			assert.NotEqual(t, s.RunID(), granted.Command.Life)
			assert.Equal(t, quorum.Release, log[len(log)-1].Command.Op, "and the key was deleted")
		}
		assert.Greater(t, f.cycle(), last)
	})
}

// An Acquire tries again, and has the lock at the second try.
func TestRestartUnderTheCommandCostsARound(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.identify(func(id *quorum.Identity) { id.Vouched = true })
		last := f.cycle()
		f.each(func(s *quorumtest.Server) { s.Restart(true) })
		lease, err := f.Acquire(f.ctx, "k")
		require.NoError(t, err)
		assert.Greater(t, lease.Token(), last)
		require.NoError(t, lease.Release(f.ctx))
		f.requireNothingLeft()
	})
}

// tardy is a server whose first answer to a probe is long in coming to who asked.
type tardy struct {
	*quorumtest.Server
	asked atomic.Int32
}

func (s *tardy) Probe(ctx context.Context) (quorum.Identity, error) {
	id, err := s.Server.Probe(ctx)
	if s.asked.Add(1) == 1 {
		time.Sleep(20 * ms)
	}
	return id, err
}

// An answer that was given before a restart isn't taken in after one that was given
// since: the ended life would be held for the present one.
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

		_, err = c.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrQuarantined, "it is another life")
		group.Wait()
		time.Sleep(maxTTL)

		lease, err := c.TryAcquire(f.ctx, "k")
		require.NoError(t, err)
		require.NoError(t, lease.Release(f.ctx))
		assert.Equal(t, f.servers[0].RunID(), f.servers[0].Life("k"), "the grant was made in it")
	})
}
