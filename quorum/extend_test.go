package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// only applies a fate to requests with this operation.
func only(op wire.Op, fate quorumtest.Fate) func(wire.Request) quorumtest.Fate {
	return func(cmd wire.Request) quorumtest.Fate {
		if cmd.Op == op {
			return fate
		}
		return quorumtest.Fate{}
	}
}

// count counts the requests with an operation in server i's log.
func (f *fixture) count(i int, op wire.Op) int {
	n := 0
	for _, did := range f.ops(i) {
		if did == op {
			n++
		}
	}
	return n
}

// remaining is the remaining TTL of server i's key.
func (f *fixture) remaining(i int, key string) time.Duration {
	_, left, _ := f.servers[i].Get(key)
	return left
}

func TestExtendGivesANewTTLFromBeforeTheSend(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		time.Sleep(4 * time.Second)
		f.slow(20*ms, 30*ms)
		require.NoError(t, lease.Extend(f.ctx))
		require.Equal(t, 4050*ms, f.elapsed())
		assert.Equal(t, fullValidity-50*ms, lease.Validity(), "counted from the send, not from the reply")
		assert.Equal(t, f.began.Add(4*time.Second+fullValidity).UnixNano(), lease.Deadline().UnixNano())
		synctest.Wait()
		for i := range f.servers {
			assert.Equal(t, 10*time.Second-30*ms, f.remaining(i, "k"))
			assert.Zero(t, f.count(i, wire.Restore), "nothing lacks anything")
		}
		time.Sleep(lease.Validity())
		assert.Error(t, lease.Err())
	})
}

// pausing is a server whose client is paused for a second right after it sent an extension there.
type pausing struct{ *quorumtest.Server }

func (s pausing) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	s.Server.Send(cmd, timeout, to)
	if cmd.Op == wire.Extend {
		time.Sleep(time.Second)
	}
}

// A holder that is paused while it sends an extension has no more time than the first key to arrive.
func TestExtensionCountsFromBeforeTheFirstSend(t *testing.T) {
	play(t, 3, func(f *fixture) {
		c := f.newCoordinatorOn(f.cfg, []wire.Instance{pausing{f.servers[0]}, pausing{f.servers[1]}, pausing{f.servers[2]}})
		lease := f.acquireBy(c, "k")
		time.Sleep(time.Second)
		require.NoError(t, lease.Extend(f.ctx))
		assert.Equal(t, 7*time.Second, f.remaining(0, "k"))
		assert.Equal(t, drift.Default().Validity(10*time.Second, 3*time.Second), lease.Validity())
	})
}

// All 2^5 sets of instances that fail to extend. The extension succeeds exactly with a quorum.
// Otherwise the old deadline stands and nothing is released.
func TestExtendNeedsAQuorumOfTheOldOnes(t *testing.T) {
	for name, fate := range map[string]quorumtest.Fate{
		"unanswered": {End: quorumtest.LoseReply}, "lost": {End: quorumtest.LoseRequest}, "refused": {End: quorumtest.Refuse},
	} {
		for mask := range 1 << 5 {
			t.Run(fmt.Sprintf("%s/%05b", name, mask), func(t *testing.T) {
				play(t, 5, func(f *fixture) {
					lease := f.acquire("k")
					synctest.Wait()
					time.Sleep(4 * time.Second)
					before := lease.Deadline()
					bad := 0
					for i, s := range f.servers {
						if mask&(1<<i) != 0 {
							bad++
							s.SetFate(only(wire.Extend, fate))
						}
					}
					err := lease.Extend(f.ctx)
					if bad <= 2 {
						require.NoError(t, err)
						assert.Equal(t, fullValidity, lease.Validity(), "no hung minority delays it")
					} else {
						require.ErrorIs(t, err, quorum.ErrNotExtended)
						assert.NotErrorIs(t, err, quorum.ErrLost)
						assert.Equal(t, before, lease.Deadline())
						assert.NoError(t, lease.Err(), "the lease stands")
						var round *quorum.RoundError
						require.ErrorAs(t, err, &round)
						assert.Equal(t, wire.Extend, round.Op)
						assert.Len(t, round.Votes, 5)
						for i := range f.servers {
							assert.Zero(t, f.count(i, wire.Release), "the old deadline stands")
						}
						// Another try may succeed.
						f.each(func(s *quorumtest.Server) { s.SetFate(nil) })
						require.NoError(t, lease.Extend(f.ctx))
						assert.True(t, lease.Deadline().After(before))
					}
				})
			})
		}
	}
}

// A keeper near MaxLife asks for shorter and shorter TTLs. What the holder's own extension promised
// must stand, also when the two meet.
func TestExtendNeverShortens(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		lease.KeepAlive()
		synctest.Wait()
		f.slow(20*ms, 20*ms)
		lived := fullValidity/3 - 11*ms
		time.Sleep(lived)
		require.NoError(t, lease.Extend(f.ctx)) // the keeper's comes meanwhile
		promised := lease.Deadline()
		ttl := (12*time.Second - lived).Truncate(ms) // what MaxLife leaves of it
		require.Equal(t, drift.Default().Validity(ttl, 40*ms), lease.Validity())
		for range 95 {
			time.Sleep(100 * ms)
			require.False(t, lease.Deadline().Before(promised))
			for i := range f.servers {
				require.GreaterOrEqual(t, f.remaining(i, "k"), lease.Validity())
			}
		}
	}, func(c *quorum.Config) {
		c.MaxLife = 12 * time.Second
		c.Lab.Random = zeroes{} // so that the keeper extends after a third
	})
}

// MaxLife bounds the holder's own extensions as well as the keeper's.
func TestExtendKeepsToMaxLife(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		for range 3 {
			time.Sleep(3 * time.Second)
			require.NoError(t, lease.Extend(f.ctx))
			for i := range f.servers {
				require.LessOrEqual(t, f.elapsed()+f.remaining(i, "k"), 12*time.Second)
			}
		}
		before := lease.Deadline()
		err := lease.Extend(f.ctx)
		require.ErrorIs(t, err, quorum.ErrNotExtended)
		require.ErrorContains(t, err, "MaxLife")
		require.NotErrorIs(t, err, quorum.ErrLost)
		require.Equal(t, before, lease.Deadline(), "the old deadline stands")
		require.NoError(t, lease.Err())
	}, func(c *quorum.Config) { c.MaxLife = 12 * time.Second })
}

// restorable lists the ways in which an instance can lack a lease that others have.
var restorable = map[string]struct{ before, after func(f *fixture, i int) }{
	"restarted empty": {nil, func(f *fixture, i int) { f.servers[i].Restart(false) }},
	"flushed":         {nil, func(f *fixture, i int) { f.servers[i].FlushAll() }},
	"deleted":         {nil, func(f *fixture, i int) { f.servers[i].Delete("k") }},
	"was down": {
		func(f *fixture, i int) { f.servers[i].Kill() },
		func(f *fixture, i int) { f.servers[i].Start(true) },
	},
	"was hung": {
		func(f *fixture, i int) { f.servers[i].EndWith(quorumtest.LoseRequest) },
		func(f *fixture, i int) { f.servers[i].SetFate(nil) },
	},
	"had another client's key": {
		func(f *fixture, i int) { f.servers[i].Put("k", strangers, time.Second) },
		func(*fixture, int) {},
	},
}

func TestExtendPutsTheLeaseBack(t *testing.T) {
	for name, c := range restorable {
		t.Run(name, func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				for i := 3; i < 5 && c.before != nil; i++ {
					c.before(f, i)
				}
				lease := f.acquire("k")
				time.Sleep(2 * time.Second)
				for i := 3; i < 5; i++ {
					c.after(f, i)
				}
				require.Len(t, f.left(), 3)
				require.NoError(t, lease.Extend(f.ctx))
				synctest.Wait()
				require.Len(t, f.left(), 5)
				assert.Len(t, lease.Instances(), 5)
				for i, s := range f.servers {
					value, left, _ := s.Get("k")
					assert.Equal(t, lease.Value(), value)
					assert.Equal(t, 10*time.Second, left)
					assert.GreaterOrEqual(t, s.Counter("k"), lease.Token(), "server %d must not hand out an older token", i)
				}

				// One restoration is enough.
				time.Sleep(time.Second)
				require.NoError(t, lease.Extend(f.ctx))
				synctest.Wait()
				for i := range f.servers {
					assert.LessOrEqual(t, f.count(i, wire.Restore), 1)
				}
				f.giveBack(lease)
			})
		})
	}
}

// Two still have the lease, and three could get it again, which makes five keys. It is lost
// nevertheless, because another client may have held the three in between.
func TestRestoredInstancesDoNotCount(t *testing.T) {
	for name, c := range restorable {
		if c.before != nil {
			continue // a quorum must have had it
		}
		t.Run(name, func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				synctest.Wait()
				time.Sleep(time.Second)
				for _, i := range []int{0, 2, 4} {
					c.after(f, i)
				}
				before := lease.Deadline()
				require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrLost)
				synctest.Wait()
				assert.True(t, lease.Deadline().Before(before))
				for i := range f.servers {
					assert.Zero(t, f.count(i, wire.Restore), "none after a lost extension")
				}
			})
		})
	}
}

func TestExtendIsCancelledByItsContext(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		time.Sleep(time.Second)
		before := lease.Deadline()
		f.slow(10*ms, 10*ms)
		why := errors.New("the request was aborted")
		ctx, cancel := context.WithCancelCause(f.ctx)
		time.AfterFunc(5*ms, func() { cancel(why) })
		err := lease.Extend(ctx)
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, why)
		assert.NotErrorIs(t, err, quorum.ErrLost)
		assert.Equal(t, 1005*ms, f.elapsed(), "at once")
		assert.Equal(t, before, lease.Deadline(), "the outcome is unknown: the old deadline stands")
		assert.NoError(t, lease.Err())
		synctest.Wait()

		// If the context has already ended, nothing is sent.
		asked := f.count(0, wire.Extend)
		require.ErrorIs(t, lease.Extend(ctx), quorum.ErrInterrupted)
		require.NoError(t, f.Settle(f.ctx))
		assert.LessOrEqual(t, f.count(0, wire.Extend), asked+1)
		require.NoError(t, lease.Extend(f.ctx))
		f.giveBack(lease)
	})
}

// A holder that extends more often than a hung instance times out must not pile up requests for it.
func TestExtensionsDoNotPileUpBeforeAHungInstance(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		f.hang(3, 4)
		before := runtime.NumGoroutine()
		for range 2000 {
			require.NoError(t, lease.Extend(f.ctx))
			time.Sleep(10 * ms)
		}
		synctest.Wait()
		assert.Less(t, runtime.NumGoroutine()-before, 50)

		f.resume(3, 4)
		time.Sleep(time.Second)
		require.NoError(t, lease.Extend(f.ctx))
		synctest.Wait()
		assert.Len(t, lease.Instances(), 5, "it has them again")
		f.giveBack(lease)
	})
}

// immediateServer answers before Send returns.
type immediateServer struct{ server *quorumtest.Server }

func (s immediateServer) Name() string            { return s.server.Name() }
func (s immediateServer) ConnLife() time.Duration { return 0 }

func (s immediateServer) Probe(ctx context.Context, known wire.Known) (wire.Identity, error) {
	return s.server.Probe(ctx, known)
}

func (s immediateServer) Send(req wire.Request, _ time.Duration, to wire.Receiver) {
	to.Receive(s.server.Do(context.Background(), req))
}

// A release queued while an extension restores the lease keeps it from being restored on further
// instances.
func TestNothingIsRestoredAfterAReleaseMeanwhile(t *testing.T) {
	play(t, 5, func(f *fixture) {
		instances := make([]wire.Instance, len(f.servers))
		for i, s := range f.servers {
			instances[i] = immediateServer{s}
		}
		c := f.newCoordinatorOn(f.cfg, instances)
		lease := f.acquireBy(c, "k")
		time.Sleep(time.Second)
		f.each(func(s *quorumtest.Server) { s.Delete("k") }, 0, 1)
		released := make(chan error, 1)
		f.servers[0].OnCommand(func(req wire.Request) {
			if req.Op == wire.Restore {
				go func() { released <- lease.Release(f.ctx) }()
				time.Sleep(ms) // as a goroutine may be preempted
			}
		})
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrReleased)
		require.NoError(t, <-released)
		assert.Zero(t, f.count(1, wire.Restore))
		f.requireNothingLeft()
	})
}

// A lease may end after an extension has begun. The extension says so, and puts no key back: neither where a release
// has deleted it, which may not have arrived everywhere yet, nor where it was lacking.
func TestALateExtensionPutsNothingBack(t *testing.T) {
	for name, c := range map[string]struct {
		lost, lacking []int // the servers that get no delete, and those without the key
		end           func(f *fixture, lease *quorum.Lease)
		left          int
	}{
		"released": {end: func(f *fixture, lease *quorum.Lease) { assert.NoError(f.t, lease.Release(f.ctx)) }},
		"released, with lost deletes": {lost: []int{0, 1, 2}, end: func(f *fixture, lease *quorum.Lease) {
			assert.ErrorIs(f.t, lease.Release(f.ctx), quorum.ErrUnreachable)
		}},
		"left": {lacking: []int{4}, left: 4, end: func(f *fixture, lease *quorum.Lease) { assert.NoError(f.t, lease.Leave()) }},
	} {
		t.Run(name, func(t *testing.T) {
			var during func()
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				synctest.Wait()
				time.Sleep(time.Second)
				for _, i := range c.lost {
					f.servers[i].SetFate(only(wire.Release, quorumtest.Fate{End: quorumtest.LoseRequest}))
				}
				for _, i := range c.lacking {
					f.servers[i].Delete("k")
				}
				during = func() { c.end(f, lease) }
				err := lease.Extend(f.ctx)
				require.ErrorIs(f.t, err, quorum.ErrReleased)
				require.NotErrorIs(f.t, err, quorum.ErrLost)
				f.each(func(s *quorumtest.Server) { s.SetFate(nil) })
				require.NoError(f.t, f.Settle(f.ctx))
				assert.Len(f.t, f.left(), c.left)
				for i := range f.servers {
					assert.Zero(f.t, f.count(i, wire.Restore))
				}
			}, func(c *quorum.Config) {
				c.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) {
					if e.Op == wire.Extend {
						during()
					}
				}
			})
		})
	}
}

// Keep has the keys stay for longer than any lease, and for that long after each later extension. It changes
// nothing for the holder.
func TestKeep(t *testing.T) {
	for _, life := range []time.Duration{0, 10 * time.Second, 25 * time.Second} {
		play(t, 5, func(f *fixture) {
			lease := f.acquire("k")
			lease.KeepAlive()
			require.NoError(t, lease.Keep(f.ctx, time.Hour))
			require.Less(t, lease.Validity(), 10*time.Second)
			kept := time.Now()
			if life == 0 {
				time.Sleep(time.Minute)
				kept = time.Now().Add(-10 * time.Second / 3) // extended since
				require.NoError(t, lease.Err())
			} else {
				time.Sleep(life)
				require.ErrorIs(t, lease.Err(), quorum.ErrExpired)
			}
			_ = lease.Leave()
			time.Sleep(time.Until(kept.Add(time.Hour - ms)))
			require.Len(t, f.left(), 5)
			f.tryFailsBy(f.other(), "k", quorum.ErrTaken)
			time.Sleep(life + 10*time.Second)
			require.Empty(t, f.left())
		}, func(c *quorum.Config) { c.MaxLife = life })
	}
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		for says, d := range map[string]time.Duration{"Keep's time is 0s, want at least 1ms": 0, "want at least TTL, which is 10s": time.Second, "whole milliseconds": time.Hour + 1, "at most ten years": 100_000 * time.Hour} {
			err := lease.Keep(f.ctx, d)
			require.ErrorIs(t, err, quorum.ErrConfig)
			require.ErrorContains(t, err, says)
		}
		require.ErrorIs(t, (*quorum.Lease)(nil).Keep(f.ctx, time.Hour), quorum.ErrConfig)
		f.hang(0, 1, 2)
		require.ErrorIs(t, lease.Keep(f.ctx, time.Hour), quorum.ErrNotExtended)
		f.resume(0, 1, 2)
		require.NoError(t, lease.Keep(f.ctx, time.Hour))
		f.giveBack(lease)
		require.ErrorIs(t, lease.Keep(f.ctx, time.Hour), quorum.ErrReleased)
	})
}

// An extension without an answer may arrive after Keep's and shorten its time, however late that is. So Keep fails, and
// its holder loses nothing by that: the lease is still extended.
func TestKeepAfterALostExtension(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		lease.KeepAlive()
		synctest.Wait() // the last server has the key, too
		f.hang()
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrNotExtended)
		f.resume()
		time.Sleep(time.Minute)
		err := lease.Keep(f.ctx, time.Hour)
		require.ErrorIs(t, err, quorum.ErrNotExtended)
		require.ErrorIs(t, err, quorum.ErrTimeout)
		require.False(t, quorum.Retryable(err))
		require.ErrorContains(t, err, "an earlier extension, to 10s, may still arrive and shorten this one, to 1h0m0s")
		require.NoError(t, lease.Extend(f.ctx))
		time.Sleep(time.Minute)
		f.giveBack(lease)
	})
}

// It can't if it was carried out, by an instance in quarantine, or never sent.
func TestExtensionThatIsNotLate(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		f.servers[0].StepClock(time.Second) // noticed with the next answer
		for range 19 {
			require.NoError(t, lease.Extend(f.ctx))
			time.Sleep(2 * time.Second)
		}
		f.kill(2)
		require.NoError(t, lease.Keep(f.ctx, time.Hour))
	})
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		f.servers[0].SetFate(only(wire.Extend, quorumtest.Fate{End: quorumtest.Refuse}))
		require.NoError(t, lease.Extend(f.ctx))
		synctest.Wait()
		f.servers[0].SetFate(nil)
		f.kill(2)
		require.NoError(t, lease.Keep(f.ctx, time.Hour))
	})
}

// Whatever extensions there are and however late they arrive, a quorum keeps the key for as
// long as the holder counts on it, and for as long as Keep promised.
func TestAQuorumKeepsWhatIsPromised(t *testing.T) {
	late, kept := 0, 0
	seeds := uint64(200)
	if raced {
		seeds = 40
	}
	for seed := range seeds {
		play(t, 3, func(f *fixture) {
			random := rand.New(rand.NewPCG(seed, 1))
			lease := f.acquire("k")
			if seed%2 == 0 {
				lease.KeepAlive()
			}
			synctest.Wait()
			var mu sync.Mutex
			fates := rand.New(rand.NewPCG(seed, 2)) // on any goroutine
			f.each(func(s *quorumtest.Server) {
				s.SetFate(func(cmd wire.Request) (fate quorumtest.Fate) {
					mu.Lock()
					defer mu.Unlock()
					if cmd.Op == wire.Extend && fates.IntN(4) == 0 {
						fate.Before = time.Duration(fates.IntN(12_000)) * ms
						late++
					}
					return fate
				})
			})
			var until time.Time
			for range 60 {
				switch d := []time.Duration{10, 15, 20, 30}[random.IntN(4)] * time.Second; random.IntN(4) {
				case 0:
					_ = lease.Extend(f.ctx)
				case 1:
					asked := time.Now()
					if lease.Keep(f.ctx, d) == nil && asked.Add(d).After(until) {
						until = asked.Add(d)
						kept++
					}
				}
				time.Sleep(time.Duration(1+random.IntN(900)) * ms)
				synctest.Wait()
				keep := 0
				for i := range f.servers {
					if value, left, _ := f.servers[i].Get("k"); value == lease.Value() && left >= max(lease.Validity(), time.Until(until)) {
						keep++
					}
				}
				require.True(t, keep >= 2 || lease.Err() != nil, "seed %d: %d servers keep it for %v", seed, keep, lease.Validity())
			}
			_ = lease.Release(f.ctx)
		})
	}
	assert.Greater(t, late, 5*int(seeds))
	assert.Greater(t, kept, int(seeds))
}
