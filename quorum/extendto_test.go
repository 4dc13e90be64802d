package quorum_test

import (
	"errors"
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

func withMaxTTL(ttl time.Duration) func(*quorum.Config) {
	return func(cfg *quorum.Config) { cfg.MaxTTL = ttl }
}

func TestExtendToGivesAnotherTTL(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		ctx := lease.Context()
		time.Sleep(4 * time.Second)
		require.NoError(t, lease.ExtendTo(f.ctx, 30*time.Second))
		assert.Equal(t, f.Config().Drift.Validity(30*time.Second, 0), lease.Validity())
		synctest.Wait()
		for i := range f.servers {
			assert.Equal(t, 30*time.Second, f.remaining(i, "k"))
		}

		// Once. And no extension shortens a lease, or asks for less than it has.
		time.Sleep(time.Second)
		before := lease.Deadline()
		for _, extend := range []func() error{
			func() error { return lease.Extend(f.ctx) },
			func() error { return lease.ExtendTo(f.ctx, 20*time.Second) },
		} {
			err := extend()
			require.ErrorIs(t, err, quorum.ErrNotExtended)
			assert.ErrorContains(t, err, "no extension shortens a lease")
			assert.False(t, quorum.Retryable(err))
			assert.Equal(t, before, lease.Deadline())
			assert.NoError(t, lease.Err())
		}
		for i := range f.servers {
			assert.Equal(t, 1, f.count(i, wire.Extend))
		}
		time.Sleep(20 * time.Second)
		require.NoError(t, lease.Extend(f.ctx))
		assert.Equal(t, fullValidity, lease.Validity(), "the terms' TTL again")
		<-ctx.Done()
		assert.Equal(t, 25*time.Second+fullValidity, f.elapsed())
	}, withMaxTTL(30*time.Second))
}

// Shorter than the terms' is possible, too, as long as it is longer than what is left.
func TestExtendToLess(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		time.Sleep(9 * time.Second)
		require.NoError(t, lease.ExtendTo(f.ctx, 2*time.Second))
		assert.Equal(t, f.Config().Drift.Validity(2*time.Second, 0), lease.Validity())
	})
}

// No lease is longer than other clients wait for.
func TestExtendToHasTheRangeOfTTL(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		before := lease.Deadline()
		for ttl, says := range map[time.Duration]string{
			30*time.Second + ms: "MaxTTL is 30s", 0: "at least 1ms", -time.Second: "at least 1ms",
			time.Second + 1: "whole milliseconds", 200 * ms: "two InstanceTimeouts", 1<<63 - 1: "ExtendTo: ",
		} {
			err := lease.ExtendTo(f.ctx, ttl)
			require.ErrorIs(t, err, quorum.ErrConfig, "%v", ttl)
			assert.ErrorContains(t, err, says)
			assert.Equal(t, before, lease.Deadline())
		}
		for i := range f.servers {
			assert.Zero(t, f.count(i, wire.Extend))
		}
		require.NoError(t, lease.Release(f.ctx))
		require.ErrorIs(t, lease.ExtendTo(f.ctx, 30*time.Second), quorum.ErrReleased)
	}, withMaxTTL(30*time.Second))
}

func TestExtendToStopsAtMaxLife(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		time.Sleep(4 * time.Second)
		require.NoError(t, lease.ExtendTo(f.ctx, 30*time.Second))
		assert.Equal(t, f.Config().Drift.Validity(11*time.Second, 0), lease.Validity(), "15 s less the 4 that it has lived")
		err := lease.ExtendTo(f.ctx, 30*time.Second)
		require.ErrorIs(t, err, quorum.ErrNotExtended)
		assert.ErrorContains(t, err, "MaxLife, 15s")
		time.Sleep(lease.Validity())
		require.ErrorIs(t, lease.Err(), quorum.ErrExpired)
		assert.ErrorContains(t, lease.Err(), "MaxLife")
	}, withMaxTTL(30*time.Second), func(cfg *quorum.Config) { cfg.MaxLife = 15 * time.Second })
}

// KeepAlive leaves a longer TTL alone until less than its own is left, and then goes on.
func TestKeepAliveAfterExtendTo(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		lease.KeepAlive()
		require.NoError(t, lease.ExtendTo(f.ctx, 30*time.Second))
		synctest.Wait()
		long := f.Config().Drift.Validity(30*time.Second, 0)
		for f.elapsed() < long-fullValidity {
			assert.Equal(t, long-f.elapsed(), lease.Validity())
			for i := range f.servers {
				require.Equal(t, 1, f.count(i, wire.Extend))
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		for range 100 {
			time.Sleep(time.Second)
			require.NoError(t, lease.Err())
			require.LessOrEqual(t, lease.Validity(), fullValidity)
		}
		assert.Greater(t, f.count(0, wire.Extend), 10)
		require.NoError(t, lease.Release(f.ctx))
	}, withMaxTTL(30*time.Second))
}

// A longer extension that failed on some instances is a failed one: the lease keeps its
// deadline.
func TestExtendToFails(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		before := lease.Deadline()
		f.hang(0, 1)
		err := lease.ExtendTo(f.ctx, 30*time.Second)
		require.ErrorIs(t, err, quorum.ErrNotExtended)
		var round *quorum.RoundError
		require.True(t, errors.As(err, &round))
		assert.Len(t, round.Votes, 3)
		assert.Equal(t, before, lease.Deadline())
		assert.True(t, quorum.Retryable(err))
	}, withMaxTTL(30*time.Second))
}

// An extension that an instance has left unanswered may arrive there after a longer one, when
// the instance has hung: that instance may drop the key early, and doesn't count.
func TestLateShorterExtension(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		f.kill(2)
		f.servers[0].SetFate(only(wire.Extend, quorumtest.Fate{Before: 5 * time.Second}))
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrNotExtended)
		f.servers[0].SetFate(nil)
		before := lease.Deadline()
		err := lease.ExtendTo(f.ctx, 30*time.Second)
		require.ErrorIs(t, err, quorum.ErrNotExtended)
		require.ErrorIs(t, err, quorum.ErrTimeout)
		assert.ErrorContains(t, err, "to 10s, which may still arrive and shorten this one, to 30s")
		assert.Equal(t, before, lease.Deadline())
		assert.Equal(t, 30*time.Second, f.remaining(0, "k"), "for now")
		time.Sleep(6 * time.Second)
		assert.Less(t, f.remaining(0, "k"), 10*time.Second, "it has arrived")

		// One that isn't longer is in no danger.
		require.NoError(t, lease.Extend(f.ctx))
		require.NoError(t, lease.ExtendTo(f.ctx, 10*time.Second))
	}, withMaxTTL(30*time.Second))
}

// Whatever extensions there are and however late they arrive, a quorum keeps the key for as
// long as the holder counts on it.
func TestAQuorumKeepsWhatIsPromised(t *testing.T) {
	late := 0
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
			for range 60 {
				if random.IntN(2) == 0 {
					_ = lease.ExtendTo(f.ctx, []time.Duration{2, 5, 10, 20, 30}[random.IntN(5)]*time.Second)
				}
				time.Sleep(time.Duration(1+random.IntN(900)) * ms)
				synctest.Wait()
				keep := 0
				for i := range f.servers {
					if value, left, _ := f.servers[i].Get("k"); value == lease.Value() && left >= lease.Validity() {
						keep++
					}
				}
				require.True(t, keep >= 2 || lease.Err() != nil, "seed %d: %d servers keep it for %v", seed, keep, lease.Validity())
			}
			_ = lease.Release(f.ctx)
		}, withMaxTTL(30*time.Second))
	}
	assert.Greater(t, late, 5*int(seeds))
}
