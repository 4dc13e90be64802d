package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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

func TestFailedExtendLeavesTheLeaseUntilItsDeadline(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		ctx := lease.Context()
		time.Sleep(4 * time.Second)
		f.hang(0, 1, 2)
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrNotExtended)
		assert.Equal(t, 4100*ms, f.elapsed(), "one InstanceTimeout")
		<-ctx.Done()
		assert.Equal(t, fullValidity, f.elapsed(), "the old deadline, to the nanosecond")
		assert.ErrorIs(t, context.Cause(ctx), quorum.ErrExpired)
	})
}

// Scenario S11a: another client held the lock in between. An extension that set missing keys would
// give two holders of one token.
func TestExtendNeverRevives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := newSkewedClock()
		f := newFixture(t, 5, withSkew(clk))
		lease := f.acquire("k")
		synctest.Wait()
		// Both clocks of the first client stand still, so it can't know.
		time.Sleep(10 * time.Second)
		clk.stepWall(-10 * time.Second)
		clk.stepMono(-10 * time.Second)
		require.Equal(t, fullValidity, lease.Validity())
		clk.stepWall(1 * time.Second)

		second, err := f.other(func(c *quorum.Config) { c.Lab.Clock = nil }).TryAcquire(f.ctx, "k")
		require.NoError(t, err)
		f.giveBack(second)

		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrLost)
		synctest.Wait()
		assert.Empty(t, f.left())
		for i := range f.servers {
			assert.Zero(t, f.count(i, wire.Restore))
		}
	})
}

// Replies that come after the old deadline find the lease expired.
func TestRepliesAfterTheDeadlineDoNotRevive(t *testing.T) {
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprintf("watched %v", watched), func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				ctx := f.ctx
				if watched {
					ctx = lease.Context()
				}
				f.slow(10*ms, 60*ms) // in time for the keys, too late for the deadline
				time.Sleep(fullValidity - 30*ms)
				err := lease.Extend(context.WithoutCancel(ctx))
				require.Equal(t, fullValidity+40*ms, f.elapsed())
				require.ErrorIs(t, err, quorum.ErrExpired)
				assert.Zero(t, lease.Validity())
				assert.ErrorIs(t, lease.Err(), quorum.ErrExpired)
				assert.Equal(t, f.began.Add(fullValidity).UnixNano(), lease.Deadline().UnixNano())
			})
		})
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

func TestNothingIsPutBackByAnExtensionThatFailed(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		time.Sleep(time.Second)
		f.servers[0].Delete("k")
		f.hang(1, 2, 3)
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrNotExtended)
		f.resume(1, 2, 3)
		synctest.Wait()
		time.Sleep(time.Second)
		assert.Zero(t, f.count(0, wire.Restore))
		_, _, there := f.servers[0].Get("k")
		assert.False(t, there)
	})
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

// A release comes between the check of the deadline and the first request. The error must not
// report a loss that never happened.
func TestExtendThatMeetsAReleaseSaysSo(t *testing.T) {
	var during func()
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		time.Sleep(time.Second)
		during = func() { assert.NoError(t, lease.Release(f.ctx)) }
		err := lease.Extend(f.ctx)
		require.ErrorIs(t, err, quorum.ErrReleased)
		assert.NotErrorIs(t, err, quorum.ErrLost)
		f.requireNothingLeft()
	}, func(c *quorum.Config) {
		c.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) {
			if e.Op == wire.Extend {
				during()
			}
		}
	})
}

// The deletes of a release are lost on three servers, and so an extension slightly later succeeds
// there. It must not restore the key on the two that deleted it: these have no pending delete, so
// the key would stay.
func TestALateExtensionPutsNothingBack(t *testing.T) {
	var during func()
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		time.Sleep(time.Second)
		f.each(func(s *quorumtest.Server) {
			s.SetFate(only(wire.Release, quorumtest.Fate{End: quorumtest.LoseRequest}))
		}, 0, 1, 2)
		during = func() { assert.ErrorIs(t, lease.Release(f.ctx), quorum.ErrUnreachable) }
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrReleased)
		f.each(func(s *quorumtest.Server) { s.SetFate(nil) })
		f.requireNothingLeft()
		for i := range f.servers {
			assert.Zero(t, f.count(i, wire.Restore))
		}
	}, func(c *quorum.Config) {
		c.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) {
			if e.Op == wire.Extend {
				during()
			}
		}
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
