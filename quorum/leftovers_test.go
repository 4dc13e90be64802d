package quorum_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// deletes are the values that a server was asked to delete before its last acquisition of a key.
func (f *fixture) deletes(i int, key string) []string {
	for _, e := range slices.Backward(f.log(i)) {
		if e.Request.Op == wire.Acquire && e.Request.Keys[0] == key {
			return e.Request.Delete
		}
	}
	return nil
}

// interrupted is a try that its caller ends before a server has answered. The delete has to wait for the
// answer to the SET.
func (f *fixture) interrupted(keys ...string) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	time.AfterFunc(ms, cancel)
	_, err := f.TryAcquireAll(ctx, keys...)
	require.ErrorIs(f.t, err, quorum.ErrInterrupted)
}

// A client isn't refused by its own earlier SETs, which have no answer yet. Its next SET waits for that of their deletes.
func TestNoOwnValueIsInTheWay(t *testing.T) {
	for name, keys := range map[string]struct{ first, next []string }{
		"one key":         {[]string{"k"}, []string{"k"}},
		"one of several":  {[]string{"a", "b"}, []string{"b"}},
		"several of one":  {[]string{"b"}, []string{"a", "b"}},
		"several, others": {[]string{"a", "b"}, []string{"b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.warm()
				f.travel(20 * ms)
				f.interrupted(keys.first...)
				lease, err := f.TryAcquireAll(f.ctx, keys.next...)
				require.NoError(t, err)
				assert.Empty(t, f.deletes(0, keys.next[0]))
				assert.Equal(t, 2, f.count(0, wire.Release), "the warm-up's is the other one")
				f.giveBack(lease)
			})
		})
	}
}

// An acquisition waits for an earlier request to a server that hangs, but not for those that follow it.
func TestAServerThatHangsIsAwaitedForATimeout(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.hang(0, 1)
		f.interrupted("k")
		at := f.elapsed()
		f.tryFails("k", quorum.ErrNoQuorum)
		timeout := f.Config().InstanceTimeout
		assert.InDelta(t, 2*timeout, f.elapsed()-at, float64(timeout/4))
		f.resume(0, 1)
		f.requireNothingLeft()
	})
}

// A raise is about a key that is there, and waits for no earlier value.
func TestARaiseDoesNotWaitForEarlierValues(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		lease := f.acquire("k")
		synctest.Wait()
		f.each(func(s *quorumtest.Server) { s.SetFate(only(wire.Extend, quorumtest.Fate{End: quorumtest.LoseRequest})) })
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrNotExtended) // so the servers are silent
		for i, s := range f.servers {
			s.PutCounter("k", 5) // too old
			s.SetFate(func(req wire.Request) quorumtest.Fate {
				switch {
				case req.Op == wire.Release:
					return quorumtest.Fate{After: 80 * ms}
				case req.Op == wire.Acquire && i > 0:
					return quorumtest.Fate{After: 5 * ms} // so the first server has answered before the token is chosen
				}
				return quorumtest.Fate{}
			})
		}
		released := make(chan error, 1)
		go func() { released <- lease.Release(f.ctx) }()
		time.Sleep(ms)
		at, raises := f.elapsed(), f.count(0, wire.Raise)
		next := f.acquire("k")
		assert.Less(t, f.elapsed()-at, 10*ms)
		synctest.Wait()
		assert.Equal(t, raises+1, f.count(0, wire.Raise))
		require.NoError(t, <-released)
		f.giveBack(next)
	})
}

// Round trips take more than half of the timeout, and requests overtake each other, while servers stand still for
// longer than that, as on a busy machine. A client that alone wants a key is never refused, and gets it soon.
func TestSlowServersAndNoOwnValueInTheWay(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		for i, s := range f.servers {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			var mu sync.Mutex
			s.Delay(func(wire.Request) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(5+random.IntN(30)) * ms
			}, nil)
			pause := func(most int) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(random.IntN(most)) * ms
			}
			var stop func()
			stop = func() {
				s.Hang()
				time.AfterFunc(pause(80), func() {
					s.Resume()
					if f.elapsed() < 20*time.Second {
						time.AfterFunc(pause(40), stop)
					}
				})
			}
			stop()
		}
		var longest time.Duration
		locks, lost := 0, 0
		for last := f.elapsed(); f.elapsed() < 20*time.Second; {
			lease, err := f.TryAcquire(f.ctx, "k")
			if err == nil {
				_ = lease.Release(f.ctx)
				longest, last = max(longest, f.elapsed()-last), f.elapsed()
				locks++
				continue
			}
			lost++
			var round *quorum.RoundError
			require.ErrorAs(t, err, &round)
			for _, ballot := range round.Votes {
				require.NotEqual(t, wire.Refused, ballot.Vote.Outcome, "its own value is in the way")
			}
			time.Sleep(ms)
		}
		t.Logf("%d locks, %d lost rounds, at most %v for one lock", locks, lost, longest)
		assert.Greater(t, lost, 20)
		assert.Greater(t, locks, 20)
		assert.Less(t, longest, 5*time.Second)
		time.Sleep(20 * time.Second)
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) { cfg.InstanceTimeout = 50 * ms })
}

// A lease that was handed off or left isn't the client's any more: its next acquisition doesn't delete it,
// also where the SET has no answer yet.
func TestAbandonedValuesAreNotDeleted(t *testing.T) {
	for name, end := range map[string]func(f *fixture, lease *quorum.Lease){
		"handed off": func(f *fixture, lease *quorum.Lease) { f.handOff(lease) },
		"left":       func(f *fixture, lease *quorum.Lease) { require.NoError(f.t, lease.Leave()) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.warm()
				f.hang(2)
				lease := f.acquire("k")
				synctest.Wait() // so its SET is the first in the hung server's queue
				end(f, lease)
				for range 2 {
					_, err := f.TryAcquire(f.ctx, "k")
					require.Error(t, err)
					time.Sleep(time.Second)
					f.resume(2)
				}
				for i, s := range f.servers {
					assert.NotContains(t, f.deletes(i, "k"), lease.Value())
					if value, _, _ := s.Get("k"); i < 2 || name == "left" { // the sender deletes what comes late
						assert.Equal(t, lease.Value(), value, s.Name())
					}
				}
			})
		})
	}
}

// A release must find the keys itself, or its holder would be told that it had no lock. The client's next acquisition
// waits for it or, where the server is silent, doesn't delete the value before the release is decided.
func TestAnAcquisitionDoesNotDeleteWhatIsBeingReleased(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		for name, silent := range map[string]bool{"answering": false, "silent": true} {
			lease := f.acquire("k")
			synctest.Wait()
			f.each(func(s *quorumtest.Server) {
				s.SetFate(func(req wire.Request) quorumtest.Fate {
					switch req.Op {
					case wire.Extend:
						return quorumtest.Fate{End: quorumtest.LoseRequest}
					case wire.Release:
						return quorumtest.Fate{Before: 40 * ms}
					}
					return quorumtest.Fate{Before: 20 * ms} // so it would arrive before the release
				})
			})
			if silent {
				require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrNotExtended, name)
			}
			released := make(chan error, 1)
			go func() { released <- lease.Release(f.ctx) }()
			time.Sleep(ms)
			next, err := f.TryAcquire(f.ctx, "k")
			require.NoError(t, <-released, name)
			if silent {
				require.ErrorIs(t, err, quorum.ErrTaken, name)
			} else {
				require.NoError(t, err, name)
				require.NoError(t, next.Release(f.ctx), name)
			}
			f.each(func(s *quorumtest.Server) { s.SetFate(nil) })
			f.requireNothingLeft()
		}

		lease := f.acquire("k")
		synctest.Wait()
		value := lease.Value()
		f.servers[2].SetFate(only(wire.Release, quorumtest.Fate{End: quorumtest.LoseRequest}))
		require.NoError(t, lease.Release(f.ctx), "two are enough")
		next := f.acquire("k")
		time.Sleep(150 * ms) // the release had its time there
		assert.Equal(t, []string{value}, f.deletes(2, "k"))
		got, _, _ := f.servers[2].Get("k")
		assert.Equal(t, next.Value(), got)
		f.servers[2].SetFate(nil)
		f.giveBack(next)
	})
}

// However many deletes are pending, an acquisition carries the latest few.
func TestFewValuesAreDeletedFirst(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.servers[2].SetFate(only(wire.Release, quorumtest.Fate{End: quorumtest.LoseRequest}))
		var values []string
		for range 20 {
			lease := f.acquire("k")
			synctest.Wait()
			values = append(values, lease.Value())
			require.NoError(t, lease.Release(f.ctx))
			time.Sleep(150 * ms) // it had its time on the last server
		}
		f.acquire("other")
		synctest.Wait()
		assert.Empty(t, f.deletes(2, "other"), "another key's")
		lease := f.acquire("k")
		synctest.Wait()
		assert.Equal(t, values[12:], f.deletes(2, "k"))
		assert.Empty(t, f.deletes(0, "k"))
		f.servers[2].SetFate(nil)
		require.NoError(t, lease.Release(f.ctx))
		time.Sleep(time.Minute)
		f.servers[2].SetFate(only(wire.Release, quorumtest.Fate{End: quorumtest.LoseRequest}))
		require.NoError(t, f.acquire("stuck").Release(f.ctx)) // so that one is left
		f.acquire("k")
		synctest.Wait()
		assert.Empty(t, f.deletes(2, "k"), "all are deleted")
	})
}

// A resumption counts the servers that had the lease, and none that had another value of this client.
func TestAnOwnValueIsNotTheLeaseThatIsResumed(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		lease := f.acquireBy(f.other(), "k")
		synctest.Wait()
		handle := f.handOff(lease)
		f.each(func(s *quorumtest.Server) {
			s.Delete("k")
			s.SetFate(only(wire.Release, quorumtest.Fate{End: quorumtest.LoseRequest}))
		}, 0, 1)
		mine := f.acquire("k")
		require.Error(t, mine.Release(f.ctx))
		_, err := f.Resume(f.ctx, handle)
		require.ErrorIs(t, err, quorum.ErrLost)
		synctest.Wait() // two answers end Resume, the third delete may be under way
		for i := range f.servers {
			assert.Equal(t, []string{lease.Value()}, f.deletes(i, "k"))
		}
	})
}

// An acquisition that fails because another run answered, or because its counter is too far ahead, has set the
// key, and what it has set is deleted.
func TestWhatAFailedAcquisitionHasSetIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		strike func(s *quorumtest.Server)
		err    error
	}{
		"another run":   {func(s *quorumtest.Server) { s.Restart(true) }, quorum.ErrOtherRun},
		"a bad counter": {func(s *quorumtest.Server) { s.PutCounter("b", 1<<53-10) }, quorum.ErrCounter},
	} {
		for _, keys := range [][]string{{"b"}, {"a", "b", "c"}} {
			play(t, 3, func(f *fixture) {
				f.warm()
				f.each(c.strike)
				_, err := f.TryAcquireAll(f.ctx, keys...)
				require.ErrorIs(t, err, c.err, name)
				var round *quorum.RoundError
				require.True(t, errors.As(err, &round))
				f.requireNothingLeft()
				for i := range f.servers {
					assert.Equal(t, 1, f.count(i, wire.Release)-1, "%s: it was there", name)
				}
			})
		}
	}
}

// A server that is slower than the quorum, and at which processes queue for the key, doesn't get further behind with each
// turn: when another server dies, the client has the lock after a few of its round trips.
func TestLateTurnsDoNotPileUp(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		key := "k"
		for quorum.QueueOf(f.Coordinator, key) != 2 {
			key += "k"
		}
		const far = 40 * ms
		f.lag(ms, 0, 1)
		f.lag(far, 2)
		for range 500 {
			require.NoError(t, f.acquire(key).Release(f.ctx))
		}
		f.kill(1)
		at := f.elapsed()
		lease := f.acquire(key)
		require.NoError(t, lease.Release(f.ctx))
		assert.LessOrEqual(t, f.elapsed()-at, 5*far)
		f.servers[1].Start(true)
		f.requireNothingLeft()
	})
}

// Goroutines that try at once don't wait for each other's rounds.
func TestTriesAtOnceDoNotWaitForEachOther(t *testing.T) {
	for name, hang := range map[string]bool{"taken": false, "hanging": true} {
		play(t, 3, func(f *fixture) {
			f.warm()
			want := 10 * ms
			f.lag(want)
			if f.occupy("k", time.Second); hang {
				f.hang(0, 1)
				want = f.Config().InstanceTimeout
			}
			at := f.elapsed()
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					_, err := f.TryAcquire(f.ctx, "k")
					assert.Error(t, err, name)
				})
			}
			all.Wait()
			assert.LessOrEqual(t, f.elapsed()-at, want+want/5, name)
			f.resume(0, 1)
			time.Sleep(time.Second)
			f.requireNothingLeft()
		})
	}
}

// A lease that is resumed and released at once leaves no key on a server that is slower than the quorum, also if an
// earlier request of the process that resumes it is under way there.
func TestAResumedLeaseLeavesNoKeyOnASlowServer(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		other := f.other()
		warm := f.acquireBy(other, "warm-up")
		require.NoError(t, warm.Release(f.ctx))
		lease := f.acquire("k")
		synctest.Wait()
		f.lag(40*ms, 2)
		f.tryFailsBy(other, "k", quorum.ErrTaken)
		handle, err := lease.HandOff(f.ctx)
		require.NoError(t, err)
		resumed, err := other.Resume(f.ctx, handle)
		require.NoError(t, err)
		f.giveBack(resumed)
	})
}
