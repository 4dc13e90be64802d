package quorum_test

import (
	"context"
	"math/rand/v2"
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

// Each test here covers one sentence of the Redis document "Distributed Locks with Redis" that says
// what an implementation does.

// fiveMasters is the document's setting: five masters, a validity of 10 s.
func fiveMasters(t *testing.T, test func(f *fixture), overrides ...func(*quorum.Config)) {
	t.Helper()
	play(t, 5, func(f *fixture) { f.warm(); test(f) }, overrides...)
}

// Safety: at any moment only one client can hold the lock.
func TestDocumentMutualExclusion(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		lease := f.acquire("k")
		for lease.Validity() > 0 {
			f.tryFailsBy(f.other(), "k", quorum.ErrTaken)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		require.ErrorIs(f.t, lease.Release(f.ctx), quorum.ErrNotHeld)
		f.requireNothingLeft()
	})
}

// Liveness A, deadlock free: the lock can always be acquired eventually, though the client that
// locked the resource crashed or was partitioned.
func TestDocumentDeadlockFree(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.acquire("k") // the holder crashes
		lease := f.awaitBy(f.other(), "k")
		assert.InDelta(f.t, 10*time.Second, f.elapsed(), float64(5*ms))
		f.giveBack(lease)
	})
}

// Liveness B, fault tolerance: as long as the majority of nodes are up, clients
// can acquire and release.
func TestDocumentFaultTolerance(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.kill(1, 3)
		require.NoError(f.t, f.acquire("k").Release(f.ctx))
		f.kill(0)
		f.tryFails("k", quorum.ErrNoQuorum)
		f.requireNothingLeft()
	})
}

// Single instance: the key is set only if it doesn't exist, with an expiry, in
// one command.
func TestDocumentSetsIfNotExistsWithExpiry(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.occupy("k", time.Hour, 4)
		lease := f.acquire("k")
		synctest.Wait()
		for i, s := range f.servers {
			value, remaining, ok := s.Get("k")
			require.True(f.t, ok)
			if i == 4 {
				assert.Equal(f.t, strangers, value)
				continue
			}
			assert.Equal(f.t, lease.Value(), value)
			assert.Equal(f.t, 10*time.Second, remaining)
			assert.Equal(f.t, wire.Acquire, f.ops(i)[len(f.ops(i))-1], "one command")
		}
		f.giveBack(lease)
	})
}

// Single instance: the value must be unique across all clients and all lock
// requests.
func TestDocumentValuesAreUnique(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		second := f.other()
		seen := make(map[string]bool)
		for range 50 {
			for _, c := range []*quorum.Coordinator{f.Coordinator, second} {
				lease := f.acquireBy(c, "k")
				assert.False(f.t, seen[lease.Value()])
				seen[lease.Value()] = true
				assert.GreaterOrEqual(f.t, len(lease.Value()), 40, "20 random bytes")
				f.giveBack(lease)
			}
		}
	})
}

// Single instance: the key is removed only if its value is exactly the expected one, so that
// another client's lock stays.
func TestDocumentDeletesOnlyItsOwn(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		lease := f.acquire("k")
		time.Sleep(11 * time.Second)
		next := f.acquireBy(f.other(), "k")
		require.ErrorIs(f.t, lease.Release(f.ctx), quorum.ErrNotHeld)
		synctest.Wait()
		for _, s := range f.servers {
			value, _, _ := s.Get("k")
			assert.Equal(f.t, next.Value(), value)
		}
		f.giveBack(next)
	})
}

// Redlock, step 1: the client first gets the current time.
func TestDocumentStep1TimeIsTakenFirst(t *testing.T) {
	synctestClock(t, func(t *testing.T, c *skewedClock) {
		f := newFixture(t, 5, withSkew(c))
		f.warm()
		// Time passes just before the first SET is sent.
		var once sync.Once
		f.each(func(s *quorumtest.Server) {
			s.OnCommand(func(wire.Request) {
				once.Do(func() {
					c.stepWall(time.Second)
					c.stepMono(time.Second)
					f.each(func(s *quorumtest.Server) { s.StepClock(time.Second) })
				})
			})
		})
		lease := f.acquire("k")
		assert.Equal(t, 8898*ms, lease.Validity(), "that second counts")
		f.giveBack(lease)
	})
}

// Step 2: the same key and the same random value in all instances.
func TestDocumentStep2SameKeyAndValueEverywhere(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		rounds := f.rounds("k")
		require.Len(f.t, rounds, 1)
		assert.Equal(f.t, "ABCDE", rounds[0].servers)
		assert.Equal(f.t, lease.Value(), rounds[0].value)
		f.giveBack(lease)
	})
}

// Step 2: the timeout for an instance is small compared to the auto-release
// time, so that the client isn't blocked by a node that is down.
func TestDocumentStep2SmallTimeout(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.hang(0, 1, 2, 3, 4)
		f.tryFails("k", wire.ErrTimeout)
		assert.LessOrEqual(f.t, f.elapsed(), 10*time.Second/100)
		f.resume()
		f.requireNothingLeft()
	})
}

// Step 2: if an instance isn't available, the client asks the next one at once.
func TestDocumentStep2UnavailableInstanceDelaysNobody(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.lag(ms)
		f.hang(0)
		f.kill(1)
		lease := f.acquire("k")
		assert.Equal(f.t, ms, f.elapsed())
		require.NoError(f.t, lease.Release(f.ctx))
		f.resume()
		f.requireNothingLeft()
	})
}

// Step 3: acquired if and only if the majority, at least three, was locked...
func TestDocumentStep3Majority(t *testing.T) {
	for locked := 0; locked <= 5; locked++ {
		fiveMasters(t, func(f *fixture) {
			for i := locked; i < 5; i++ {
				f.occupy("k", time.Hour, i)
			}
			lease, err := f.TryAcquire(f.ctx, "k")
			if locked >= 3 {
				require.NoError(f.t, err)
				require.NoError(f.t, lease.Release(f.ctx))
			} else {
				require.ErrorIs(f.t, err, quorum.ErrTaken)
			}
			f.requireNothingLeft()
		})
	}
}

// ... and the total time elapsed is less than the validity time.
func TestDocumentStep3ElapsedTime(t *testing.T) {
	for elapsed, won := range map[time.Duration]bool{
		0: true, 5 * time.Second: true, 9896*ms - 1: true, 9896 * ms: false, 11 * time.Second: false,
	} {
		synctestClock(t, func(t *testing.T, c *skewedClock) {
			f := newFixture(t, 5, withSkew(c))
			lease, err := clocksDuringRound(f, c, elapsed, elapsed)
			if won {
				require.NoError(t, err)
				require.NoError(t, lease.Release(f.ctx))
			} else {
				require.ErrorIs(t, err, quorum.ErrTooSlow)
			}
			f.requireNothingLeft()
		})
	}
}

// Step 4: the validity is the initial one minus the time elapsed, and, by the
// "Safety arguments", minus the clock drift: TTL-(T2-T1)-CLOCK_DRIFT.
func TestDocumentStep4Validity(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.lag(37 * ms)
		lease := f.acquire("k")
		assert.Equal(f.t, 10*time.Second-37*ms-(100*ms+2*ms), lease.Validity())
		time.Sleep(time.Second)
		assert.Equal(f.t, 9*time.Second-37*ms-102*ms, lease.Validity())
		f.giveBack(lease)
	})
}

// Safety arguments: all keys exist for at least the minimal validity, whenever
// each of them was set.
func TestDocumentKeysOutliveTheValidity(t *testing.T) {
	for seed := range uint64(20) {
		fiveMasters(t, func(f *fixture) {
			random := rand.New(rand.NewPCG(seed, 0))
			for _, s := range f.servers {
				there, back := time.Duration(random.IntN(50))*ms, time.Duration(random.IntN(50))*ms
				s.Delay(func(wire.Request) time.Duration { return there }, func(wire.Request) time.Duration { return back })
			}
			lease := f.acquire("k")
			time.Sleep(100 * ms)
			require.Len(f.t, lease.Instances(), 5)
			time.Sleep(lease.Validity())
			require.Error(f.t, lease.Err())
			assert.Len(f.t, f.left(), 5, "a key expired while the lease was valid")
			f.each(func(s *quorumtest.Server) { s.SetFate(nil) })
			f.giveBack(lease)
		})
	}
}

// Step 5: a client that failed unlocks all instances, even those that it
// believed it was not able to lock.
func TestDocumentStep5UnlocksAllInstances(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.each(func(s *quorumtest.Server) {
			s.SetFate(only(wire.Acquire, quorumtest.Fate{End: quorumtest.LoseReply}))
		}, 0, 1, 2)
		f.tryFails("k", quorum.ErrNoQuorum)
		f.requireNothingLeft()
		for i := range f.servers {
			ops := f.ops(i)
			assert.Equal(f.t, []wire.Op{wire.Acquire, wire.Release}, ops[len(ops)-2:], f.servers[i].Name())
		}
	})
}

// Retry on failure: after a random delay, to desynchronize the clients.
func TestDocumentRetryAfterRandomDelay(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.occupy("k", wire.NoExpiry)
		second := f.other()
		var group sync.WaitGroup
		for _, c := range []*quorum.Coordinator{f.Coordinator, second} {
			group.Go(func() {
				_, err := c.Acquire(f.ctx, "k")
				assert.ErrorIs(f.t, err, quorum.ErrExhausted)
			})
		}
		group.Wait()
		synctest.Wait()
		together := make(map[time.Duration]int)
		rounds := f.rounds("k")
		require.Len(f.t, rounds, 40)
		for _, round := range rounds {
			together[round.at]++
		}
		assert.Len(f.t, together, 39, "only the first try was at the same moment")
	}, func(cfg *quorum.Config) { cfg.MaxTries = 20 })
}

// Retry: ideally the SET commands go to all instances at the same time.
func TestDocumentSendsToAllAtTheSameTime(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.lag(20 * ms)
		lease := f.acquire("k")
		synctest.Wait()
		for i := range f.servers {
			log := f.log(i)
			assert.Equal(f.t, f.began, log[len(log)-1].At)
		}
		f.giveBack(lease)
	})
}

// Retry: partially acquired locks are released as soon as possible, so that
// nobody needs to wait for their expiry.
func TestDocumentReleasesPartialLocksAtOnce(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.lag(ms, 3, 4)
		f.lag(2*ms, 0, 1, 2)
		f.occupy("k", time.Second, 0, 1, 2)
		f.tryFails("k", quorum.ErrTaken)
		assert.Less(f.t, f.elapsed(), 20*ms)
		assert.Empty(f.t, f.left())
	})
}

// Releasing: simple, whether or not the client believes that it locked a given
// instance.
func TestDocumentReleaseWhateverItBelieves(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.each(func(s *quorumtest.Server) {
			s.SetFate(only(wire.Acquire, quorumtest.Fate{End: quorumtest.ResetAfter}))
		}, 0, 1)
		lease := f.acquire("k")
		synctest.Wait()
		assert.Len(f.t, f.left(), 5)
		assert.Equal(f.t, []string{"C", "D", "E"}, lease.Instances())
		require.NoError(f.t, lease.Release(f.ctx))
		f.requireNothingLeftWithin(0)
	})
}

// Extending: only on the instances where the key exists and has still the value.
func TestDocumentExtendsOnlyItsOwn(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		lease := f.acquire("k")
		time.Sleep(time.Second)
		f.occupy("k", 5*time.Second, 4)
		require.NoError(f.t, lease.Extend(f.ctx))
		synctest.Wait()
		value, remaining, _ := f.servers[4].Get("k")
		assert.Equal(f.t, strangers, value)
		assert.Equal(f.t, 5*time.Second, remaining)
		for _, s := range f.servers[:4] {
			_, remaining, _ := s.Get("k")
			assert.Equal(f.t, 10*time.Second, remaining)
		}
		f.giveBack(lease)
	})
}

// Extending: re-acquired only if it was extended on the majority...
func TestDocumentExtensionNeedsAMajority(t *testing.T) {
	for lacking := 0; lacking <= 5; lacking++ {
		fiveMasters(t, func(f *fixture) {
			lease := f.acquire("k")
			synctest.Wait()
			for i := range lacking {
				f.servers[i].Delete("k")
			}
			err := lease.Extend(f.ctx)
			if lacking <= 2 {
				require.NoError(f.t, err)
				require.NoError(f.t, lease.Release(f.ctx))
			} else {
				require.ErrorIs(f.t, err, quorum.ErrLost)
				_ = lease.Release(f.ctx)
			}
			f.requireNothingLeft()
		})
	}
}

// ... and within the validity time.
func TestDocumentExtensionWithinTheValidity(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		lease := f.acquire("k")
		f.lag(50 * ms)
		time.Sleep(9898*ms - 20*ms)
		// The keys last until 10 s, so all instances extend. But the answers come after the
		// deadline, and an expired lease stays expired.
		require.ErrorIs(f.t, lease.Extend(f.ctx), quorum.ErrLost)
		assert.Zero(f.t, lease.Validity())
		_ = lease.Release(f.ctx)
		f.requireNothingLeft()
	})
}

// Extending: the number of reacquisitions should be limited, or liveness is lost.
func TestDocumentExtensionsAreLimited(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		lease := f.acquire("k")
		<-lease.Done()
		require.ErrorIs(f.t, lease.Err(), quorum.ErrExpired)
		assert.LessOrEqual(f.t, f.elapsed(), time.Minute)
		assert.Greater(f.t, f.elapsed(), 55*time.Second)
	}, func(cfg *quorum.Config) { cfg.KeepAlive, cfg.MaxLife = true, time.Minute })
}

// Crash recovery: an instance that crashed without its data must not vote for a bit more than the
// maximal TTL.
func TestDocumentDelayedRestart(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.kill(3, 4)
		f.acquire("k")  // on A, B and C
		synctest.Wait() // the votes of D and E are in: they were down
		f.servers[2].Restart(false)
		f.each(func(s *quorumtest.Server) { s.Start(false); f.vouchName(s) }, 3, 4)
		second := f.other()
		f.tryFailsBy(second, "k", quorum.ErrQuarantined, "C would be the third, with D and E")
		lease := f.awaitBy(second, "k")
		assert.GreaterOrEqual(f.t, f.elapsed(), 10*time.Second, "not before the first lease's keys are gone")
		f.giveBack(lease)
	})
}

// vouchName vouches for a server's present run.
func (f *fixture) vouchName(s *quorumtest.Server) { f.vouch(int(s.Name()[0] - 'A')) }

// Crash recovery: if a majority crashes, the system is unavailable for a TTL.
func TestDocumentDelayedRestartOfAMajority(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		f.each(func(s *quorumtest.Server) { s.Restart(false) }, 0, 1, 2)
		f.tryFails("k", quorum.ErrNoQuorum)
		lease := f.await("k")
		assert.GreaterOrEqual(f.t, f.elapsed(), 10*time.Second)
		assert.Less(f.t, f.elapsed(), 11*time.Second)
		f.giveBack(lease)
	})
}

// Crash recovery: the document lets a server that writes with fsync always come back at once. Here
// it waits like any other, because the setting doesn't tell which disk it has.
func TestDocumentRestartWithFsyncAlways(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.each(func(s *quorumtest.Server) { s.SetIdentity(func(id *wire.Identity) { id.Persistence = "aof always" }) })
		f.tryFails("k", quorum.ErrQuarantined)
		f.requireNothingLeft()
	})
}

// Consistency disclaimer: fencing tokens should be implemented, for processes
// that take long.
func TestDocumentFencingTokens(t *testing.T) {
	fiveMasters(t, func(f *fixture) {
		slow := f.acquire("k")
		time.Sleep(10 * time.Second)
		next := f.awaitBy(f.other(), "k")
		assert.Greater(f.t, next.Token(), slow.Token())
		require.NoError(f.t, next.Release(context.Background()))
		f.requireNothingLeft()
	})
}
