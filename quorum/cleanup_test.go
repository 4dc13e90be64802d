package quorum_test

import (
	"errors"
	"fmt"
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

// requireGone demands that the key is gone from all servers, within a limit.
func (f *fixture) requireGone(key string, limit time.Duration) {
	f.t.Helper()
	there := func() (on []string) {
		for _, s := range f.servers {
			if _, _, ok := s.Get(key); ok {
				on = append(on, s.Name())
			}
		}
		return on
	}
	for until := time.Now().Add(limit); len(there()) > 0 && time.Now().Before(until); {
		time.Sleep(ms)
	}
	require.Empty(f.t, there(), "%q is still there after %v", key, limit)
}

// A SET delayed by the network arrives after its delete found nothing. The delete is sent again.
func TestASetThatArrivesLateIsDeleted(t *testing.T) {
	for _, late := range []time.Duration{150 * ms, time.Second, 4 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.occupy("k", 10*time.Second, 1, 2)
				f.servers[0].SetFate(only(wire.Acquire, quorumtest.Fate{Before: late}))
				f.tryFails("k", quorum.ErrTaken)
				time.Sleep(late - f.elapsed())
				_, _, there := f.servers[0].Get("k")
				require.True(t, there, "the SET has arrived")
				// The pauses double, so the key lasts no longer than the SET was delayed.
				deadline := time.Now().Add(late + 100*ms)
				for {
					if _, _, there = f.servers[0].Get("k"); !there || time.Now().After(deadline) {
						break
					}
					time.Sleep(ms)
				}
				assert.False(t, there, "deleted")
				require.NoError(t, f.Settle(f.ctx))
			})
		})
	}
}

// A delete that finds nothing isn't final while the SET may still arrive. It is final once the
// SET's key would have expired.
func TestPendingDeletesEnd(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.occupy("k", time.Second, 1, 2)
		f.servers[0].SetFate(only(wire.Acquire, quorumtest.Fate{End: quorumtest.LoseRequest}))
		f.tryFails("k", quorum.ErrTaken)
		require.NoError(t, f.Settle(f.ctx))
		assert.GreaterOrEqual(t, f.elapsed(), maxTTL, "the cleanup retried for MaxTTL")
		assert.Less(t, f.elapsed(), 3*maxTTL)
		assert.Less(t, f.count(0, wire.Release), 20, "less and less often")
		before := f.count(0, wire.Release)
		time.Sleep(time.Hour)
		assert.Equal(t, before, f.count(0, wire.Release))
	})
}

// A server that answers other requests gets the delete again. Its key can last until MaxTTL after
// its first answer, not after the delete became pending.
func TestPendingDeletesOutliveErrors(t *testing.T) {
	for name, wake := range map[string]time.Duration{"at once": 0, "after a long sleep": time.Minute} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.acquire("warm")
				synctest.Wait()
				f.hang(0)
				f.servers[0].SetFate(only(wire.Release, quorumtest.Fate{End: quorumtest.LoseRequest}))
				f.occupy("k", time.Second, 1, 2)
				f.tryFails("k", quorum.ErrTaken)
				time.Sleep(wake)
				f.servers[0].SetFate(only(wire.Release, quorumtest.Fate{Err: errors.New("READONLY")}))
				f.resume(0)
				time.Sleep(3 * time.Second)
				_, _, there := f.servers[0].Get("k")
				require.True(t, there, "the SET was carried out when the server woke up, and its key can't be deleted yet")
				f.servers[0].SetFate(nil)
				f.requireGone("k", time.Second)
				require.NoError(t, f.Settle(f.ctx))
			})
		})
	}
}

// A delete that the server refuses must not keep the others waiting.
func TestAPendingDeleteThatFailsDoesNotBlockTheOthers(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.acquire("warm")
		synctest.Wait()
		leases := []*quorum.Lease{f.acquire("bad"), f.acquire("good"), f.acquire("better")}
		synctest.Wait()
		f.hang(0)
		for _, lease := range leases {
			require.NoError(t, lease.Release(f.ctx))
			time.Sleep(ms) // the bad one is the oldest delete
		}
		time.Sleep(time.Second)
		f.servers[0].SetFate(func(cmd wire.Request) quorumtest.Fate {
			if cmd.Op == wire.Release && cmd.Keys[0] == "bad" {
				return quorumtest.Fate{Err: errors.New("NOPERM")}
			}
			return quorumtest.Fate{}
		})
		// Requests sent before the server woke up are lost with the connection.
		f.servers[0].Kill()
		f.servers[0].Start(true)
		f.vouch(0)
		f.requireGone("good", time.Second)
		f.requireGone("better", time.Second)
	})
}

// While no delete is answered, all have their turn. A server that is too far away for the timeout carries
// them out.
func TestAllPendingDeletesAreSentToASilentServer(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.acquire("warm")
		leases := []*quorum.Lease{f.acquire("a"), f.acquire("b"), f.acquire("c")}
		synctest.Wait()
		f.servers[0].SetFate(only(wire.Release, quorumtest.Fate{End: quorumtest.LoseRequest}))
		for _, lease := range leases {
			require.NoError(t, lease.Release(f.ctx))
		}
		time.Sleep(time.Second)
		require.Len(t, f.leftBut("warm"), 3)
		f.servers[0].SetFate(only(wire.Release, quorumtest.Fate{End: quorumtest.LoseReply}))
		time.Sleep(2 * time.Second)
		require.Empty(t, f.leftBut("warm"))
		f.servers[0].SetFate(nil)
	})
}

// An instance with more than MaxPendingDeletes isn't asked for votes. If it can't delete, the error is that of its
// deletes, not their number: waiting doesn't help. When it can, it votes again.
func TestPendingDeletesThatCannotEndSayWhy(t *testing.T) {
	for _, forGood := range []bool{true, false} {
		play(t, 1, func(f *fixture) {
			f.warm()
			denied := permanentError{forGood}
			f.servers[0].SetFate(func(cmd wire.Request) (fate quorumtest.Fate) {
				if cmd.Op == wire.Release {
					fate.Err = denied
				}
				return fate
			})
			for i := range 4 {
				require.ErrorIs(f.t, f.acquire(fmt.Sprint("k", i)).Release(f.ctx), denied)
			}
			time.Sleep(time.Second)
			began := time.Now()
			_, err := f.Acquire(f.ctx, "k")
			require.ErrorIs(f.t, err, wire.ErrOverloaded)
			require.ErrorIs(f.t, err, denied)
			assert.ErrorContains(f.t, err, "too many pending deletes (4), of which the last one failed: "+denied.Error())
			assert.Equal(f.t, !forGood, errors.Is(err, quorum.ErrExhausted))
			assert.Equal(f.t, forGood, time.Since(began) == 0)
			assert.Zero(f.t, f.sent("k"), "it isn't asked")

			// Later answers don't explain what failed before.
			f.servers[0].SetFate(nil)
			time.Sleep(10 * time.Second)
			f.requireNothingLeft()
			f.giveBack(f.acquire("k"))
			f.hang(0)
			for i := range 4 {
				_, err = f.TryAcquire(f.ctx, fmt.Sprint("l", i))
				require.ErrorIs(f.t, err, wire.ErrTimeout)
			}
			time.Sleep(time.Second)
			_, err = f.TryAcquire(f.ctx, "k")
			require.ErrorIs(f.t, err, wire.ErrOverloaded)
			assert.NotErrorIs(f.t, err, denied)
			f.resume(0)
		}, func(c *quorum.Config) { c.Lab.MaxPendingDeletes, c.MaxWait = 4, time.Second })
	}
}

func (f *fixture) leftBut(key string) []string {
	var left []string
	for _, s := range f.servers {
		for _, other := range s.Keys() {
			if other != key {
				left = append(left, s.Name()+": "+other)
			}
		}
	}
	return left
}

// The same with the answer of a second restoration in between.
func TestASetThatArrivesAfterARestorationIsDeleted(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.servers[4].SetFate(only(wire.Acquire, quorumtest.Fate{Before: 3 * time.Second}))
		lease := f.acquire("k")
		time.Sleep(500 * ms)
		require.NoError(t, lease.Extend(f.ctx)) // restored
		synctest.Wait()
		require.Len(t, lease.Instances(), 5)
		require.NoError(t, lease.Release(f.ctx))
		time.Sleep(6 * time.Second)
		_, _, there := f.servers[4].Get("k")
		assert.False(t, there, "the SET has arrived, and its key isn't deleted")
	})
}

// A proxy accepts connections for a server that is away, and closes them. However long that goes
// on, it is no answer from the server: the delete is still pending when the server returns and
// carries out the delayed SET.
func TestAProxyThatClosesIsNoAnswer(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.acquire("warm")
		synctest.Wait()
		f.occupy("k", time.Second, 1, 2)
		const lands = 3 * maxTTL
		var back atomic.Bool
		f.servers[0].SetFate(func(cmd wire.Request) quorumtest.Fate {
			switch {
			case cmd.Op == wire.Acquire:
				return quorumtest.Fate{Before: lands}
			case back.Load():
				return quorumtest.Fate{}
			}
			return quorumtest.Fate{End: quorumtest.ResetBefore}
		})
		f.tryFails("k", quorum.ErrTaken)
		time.Sleep(lands - time.Second)
		back.Store(true)
		time.Sleep(time.Second)
		f.requireGone("k", 2*time.Second)
	})
}

// A delete that becomes pending during the last pass of Close is also tried.
func TestPendingDeletesOfTheLastPassAreTried(t *testing.T) {
	play(t, 3, func(f *fixture) {
		first, second := f.acquire("first"), f.acquire("second")
		synctest.Wait()
		var closing atomic.Bool
		var tries atomic.Int32
		f.servers[0].SetFate(func(cmd wire.Request) quorumtest.Fate {
			switch {
			case cmd.Op != wire.Release:
				return quorumtest.Fate{}
			case !closing.Load():
				return quorumtest.Fate{End: quorumtest.LoseRequest}
			case cmd.Keys[0] == "first":
				return quorumtest.Fate{Before: 60 * ms}
			case tries.Add(1) == 1:
				return quorumtest.Fate{End: quorumtest.ResetBefore}
			}
			return quorumtest.Fate{}
		})
		require.NoError(t, first.Release(f.ctx))
		time.Sleep(time.Second)
		synctest.Wait()
		closing.Store(true)
		closed := make(chan error)
		go func() { closed <- f.Close(f.ctx) }()
		time.Sleep(20 * ms)
		require.NoError(t, second.Release(f.ctx))
		require.NoError(t, <-closed)
		assert.Empty(t, f.left())
		assert.EqualValues(t, 2, tries.Load())
	})
}
