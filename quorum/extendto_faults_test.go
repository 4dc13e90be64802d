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

// A lease that is handed to a waiter of this process lasts no longer than the waiter's MaxLife,
// also if the holder before it has extended it for longer.
func TestHandOverAfterExtendToExceedsMaxLife(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		elsewhere, err := f.other().TryAcquire(f.ctx, "k")
		require.NoError(t, err)
		bounded, err := f.WithTerms(func(terms *quorum.Terms) { terms.MaxLife = 12 * time.Second })
		require.NoError(t, err)
		var group sync.WaitGroup
		group.Go(func() {
			lease, err := f.Acquire(f.ctx, "k")
			if assert.NoError(t, err) {
				assert.NoError(t, lease.ExtendTo(f.ctx, time.Minute))
				assert.NoError(t, lease.Release(f.ctx))
			}
		})
		synctest.Wait()
		for range 2 {
			group.Go(func() {
				lease, err := bounded.Acquire(f.ctx, "k")
				if assert.NoError(t, err) {
					assert.LessOrEqual(t, lease.Validity(), 12*time.Second, "MaxLife")
					assert.NoError(t, lease.Release(f.ctx))
				}
			})
		}
		synctest.Wait()
		time.Sleep(time.Second)
		require.NoError(t, elsewhere.Release(f.ctx))
		group.Wait()
	}, withMaxTTL(time.Minute))
}

// An extension that MaxLife has cut, and that failed, is not why the lease ended.
func TestFailedExtendToIsNotMaxLife(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		f.hang(0, 1)
		require.ErrorIs(t, lease.ExtendTo(f.ctx, 40*time.Second), quorum.ErrNotExtended)
		time.Sleep(11 * time.Second)
		require.ErrorIs(t, lease.Err(), quorum.ErrExpired)
		assert.NotContains(t, lease.Err().Error(), "MaxLife", "it lived for 10s of 30s")
	}, withMaxTTL(time.Minute), func(cfg *quorum.Config) { cfg.MaxLife = 30 * time.Second })
}

// As TestAQuorumKeepsWhatIsPromised, with callers that give up, servers that hang, MaxLife, and
// hand-offs to another process and back. The promise: a quorum has the key for as long as the
// holder counts on it, and no lease exceeds MaxLife.
func TestExtendToKeepsItsPromises(t *testing.T) {
	checked, resumed := 0, 0
	seeds := uint64(300)
	if raced {
		seeds = 40
	}
	for seed := range seeds {
		play(t, 3, func(f *fixture) {
			random := rand.New(rand.NewPCG(seed, 2))
			lease := f.acquire("k")
			began := time.Now()
			if seed%2 == 0 {
				lease.KeepAlive()
			}
			synctest.Wait()
			var mu sync.Mutex
			fates := rand.New(rand.NewPCG(seed, 3)) // on any goroutine
			f.each(func(s *quorumtest.Server) {
				s.SetFate(func(cmd wire.Request) (fate quorumtest.Fate) {
					mu.Lock()
					defer mu.Unlock()
					if cmd.Op == wire.Extend || cmd.Op == wire.Restore {
						switch fates.IntN(8) {
						case 0, 1:
							fate.Before = time.Duration(fates.IntN(12_000)) * ms
						case 2:
							fate.End = quorumtest.LoseReply
						case 3:
							fate.Before, fate.After = time.Duration(fates.IntN(90))*ms, time.Duration(fates.IntN(90))*ms
						}
					}
					return fate
				})
			})
			clients := []*quorum.Coordinator{f.Coordinator, f.other()}
			for i := range 80 {
				ctx, cancel := context.WithTimeout(f.ctx, time.Duration(1+random.IntN(300))*ms)
				switch random.IntN(6) {
				case 0, 1, 2:
					_ = lease.ExtendTo(ctx, []time.Duration{2, 5, 10, 20, 30}[random.IntN(5)]*time.Second)
				case 3:
					_ = lease.Extend(ctx)
				case 4:
					if random.IntN(4) > 0 {
						break
					}
					if h, err := lease.HandOff(f.ctx); err == nil {
						text, err := h.Text()
						require.NoError(t, err)
						h, err = quorum.ParseHandle(text)
						require.NoError(t, err)
						next, err := clients[(i+1)%2].Resume(f.ctx, h)
						if err == nil {
							require.Greater(t, next.Token(), lease.Token())
							lease = next
							resumed++
						}
					}
				}
				cancel()
				time.Sleep(time.Duration(1+random.IntN(900)) * ms)
				synctest.Wait()
				keep := 0
				for i := range f.servers {
					if value, left, _ := f.servers[i].Get("k"); value == lease.Value() && left >= lease.Validity() {
						keep++
					}
				}
				require.True(t, keep >= 2 || lease.Err() != nil, "seed %d: %d servers keep it for %v", seed, keep, lease.Validity())
				if lease.Err() != nil {
					// The next lease.
					_ = lease.Release(f.ctx)
					next, err := f.TryAcquire(f.ctx, "k")
					if err != nil {
						continue
					}
					lease, began = next, time.Now()
					if seed%2 == 0 {
						lease.KeepAlive()
					}
				} else {
					checked++
					require.LessOrEqual(t, time.Since(began)+lease.Validity(), 90*time.Second+time.Hour*time.Duration(seed%3))
				}
			}
			_ = lease.Release(f.ctx)
			f.each(func(s *quorumtest.Server) { s.SetFate(nil) })
		}, withMaxTTL(30*time.Second), func(cfg *quorum.Config) {
			cfg.Note = "job 17: nightly"
			cfg.Owner = "me"
			if seed%3 == 0 {
				cfg.MaxLife = 90 * time.Second
			}
		})
	}
	t.Log(checked, resumed)
	require.Greater(t, checked, 50*int(seeds))
	require.Greater(t, resumed, int(seeds)/3)
}

// An instance in quarantine that has carried out an extension counts for a longer one afterwards.
func TestAnsweredExtensionIsNotLate(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		f.servers[0].StepClock(time.Second) // noticed with the next answer
		for range 13 {
			require.NoError(t, lease.Extend(f.ctx))
			time.Sleep(2 * time.Second)
		}
		f.kill(2)
		require.NoError(t, lease.ExtendTo(f.ctx, 20*time.Second))
	}, func(cfg *quorum.Config) { cfg.TTL, cfg.MaxTTL = 10*time.Second, 20*time.Second })
}

// Nor does an extension that was never sent make a later one uncertain.
func TestUnsentExtensionIsNotLate(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		f.servers[0].SetFate(only(wire.Extend, quorumtest.Fate{End: quorumtest.Refuse}))
		require.NoError(t, lease.Extend(f.ctx))
		synctest.Wait()
		f.servers[0].SetFate(nil)
		f.kill(2)
		require.NoError(t, lease.ExtendTo(f.ctx, 20*time.Second))
	}, func(cfg *quorum.Config) { cfg.TTL, cfg.MaxTTL = 10*time.Second, 20*time.Second })
}
