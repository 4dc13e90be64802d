package quorum_test

import (
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

// Nor does it make Keep's uncertain if it was carried out, by an instance in quarantine, or never sent.
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
