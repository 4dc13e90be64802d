package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// However many acquisitions an instance hasn't answered, a lease can be extended and released
// there.
func TestAcquisitionsLeaveRoomForWhatIsHeld(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		lease := f.acquire("k")
		synctest.Wait()
		f.lag(99*ms, 2) // just within its timeout
		before := f.count(2, wire.Acquire)
		for i := range 20 {
			f.acquire(fmt.Sprint("other", i)) // won by the two others
		}
		require.NoError(t, lease.Extend(f.ctx))
		synctest.Wait()
		assert.Equal(t, 6, f.count(2, wire.Acquire)-before, "acquisitions, of MaxInFlight 8")
		assert.Equal(t, 1, f.count(2, wire.Extend))
		go func() { _ = lease.Release(f.ctx) }() // queued behind the extension
		time.Sleep(99 * ms)
		synctest.Wait()
		assert.Equal(t, 1, f.count(2, wire.Release)-1, "beside the warm-up's")
	}, func(cfg *quorum.Config) { cfg.Lab.MaxInFlight = 8 })
}

// More rounds than keep the servers busy wait for their turn. All get their locks, and none is refused.
func TestRoundsWaitForTheirTurn(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.slow(20*ms, 20*ms)
		f.recognize()
		var mu sync.Mutex
		var took []time.Duration
		var rounds sync.WaitGroup
		began := time.Now()
		for i := range 200 {
			take := f.TryAcquire
			if i%2 == 0 {
				take = f.Acquire
			}
			rounds.Go(func() {
				lease, err := take(f.ctx, fmt.Sprint("k", i))
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
				assert.NoError(t, lease.Release(f.ctx))
			})
		}
		rounds.Wait()
		slices.Sort(took)
		first := took[0]
		assert.Equal(t, first, took[127])
		assert.Equal(t, 2*first, took[128])
		assert.Equal(t, 2*first, took[199], "far servers are busy with more rounds")
		for i := range f.servers {
			assert.Zero(t, f.count(i, wire.Enqueue), "it doesn't wait for a notification")
		}
		f.requireNothingLeft()
	})
}

// If the servers don't answer few rounds are under way. A TryAcquire whose turn doesn't come says so; an
// Acquire waits as long as its caller.
func TestTurnThatDoesNotCome(t *testing.T) {
	var mu sync.Mutex
	reported := map[string]error{}
	play(t, 3, func(f *fixture) {
		f.warm()
		f.hang()
		var rounds sync.WaitGroup
		var failed atomic.Int32
		for i := range 600 {
			rounds.Go(func() {
				if _, err := f.TryAcquire(f.ctx, fmt.Sprint("k", i)); errors.Is(err, quorum.ErrNoQuorum) {
					failed.Add(1)
				}
			})
		}
		synctest.Wait()
		at, timeout := time.Now(), f.Config().InstanceTimeout
		_, err := f.TryAcquire(f.ctx, "late")
		require.Equal(t, 6*timeout, time.Since(at))
		require.ErrorIs(t, err, wire.ErrOverloaded)
		require.NotErrorIs(t, err, quorum.ErrTaken)
		require.NotErrorIs(t, err, quorum.ErrNoQuorum)
		require.True(t, quorum.Retryable(err))
		var round *quorum.RoundError
		require.ErrorAs(t, err, &round)
		assert.Empty(t, round.Votes)
		for _, says := range []string{" rounds for locks are under way", "turn didn't come in 600ms", "fewer locks", `acquire "late"`, "no instance was asked"} {
			assert.ErrorContains(t, err, says)
		}
		mu.Lock()
		assert.ErrorIs(t, reported["late"], wire.ErrOverloaded, "hooks report it as well")
		mu.Unlock()
		rounds.Wait()
		assert.Less(t, failed.Load(), int32(128+64+32+16*5), "those whose turn came")

		// Each ends as its caller does.
		for i := range 600 {
			rounds.Go(func() { _, _ = f.TryAcquire(f.ctx, fmt.Sprint("k", i)) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(f.ctx, 300*ms)
		defer cancel()
		for _, take := range []func(context.Context, string) (*quorum.Lease, error){f.TryAcquire, f.Acquire} {
			rounds.Go(func() {
				_, err := take(ctx, "interrupted")
				assert.ErrorIs(t, err, quorum.ErrInterrupted)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.ErrorIs(t, err, wire.ErrOverloaded)
				assert.False(t, quorum.Retryable(err))
			})
		}
		rounds.Go(func() {
			bounded, err := f.WithTerms(func(terms *quorum.Terms) { terms.MaxWait = 300 * ms })
			assert.NoError(t, err)
			_, err = bounded.Acquire(f.ctx, "bounded")
			assert.ErrorIs(t, err, quorum.ErrExhausted)
			assert.ErrorIs(t, err, wire.ErrOverloaded)
			assert.NotErrorIs(t, err, quorum.ErrInterrupted)
			assert.NotErrorIs(t, err, quorum.ErrNoQuorum)
		})
		got := make(chan error, 1)
		go func() {
			_, err := f.Acquire(f.ctx, "patient")
			got <- err
		}()
		rounds.Wait()
		require.Empty(t, got)
		f.resume()
		require.NoError(t, <-got)
	}, func(cfg *quorum.Config) {
		cfg.Hooks.RoundDecided = func(_ context.Context, e quorum.RoundEnd) {
			mu.Lock()
			defer mu.Unlock()
			reported[e.Key] = e.Err
		}
	})
}

// The rounds of a lease that was handed off don't wait for a turn, because the lease runs out meanwhile.
func TestResumeDoesNotQueue(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		handle := f.handOff(f.acquire("k"))
		f.slow(20*ms, 20*ms)
		var rounds sync.WaitGroup
		for i := range 600 {
			rounds.Go(func() {
				lease, err := f.TryAcquire(f.ctx, fmt.Sprint("other", i))
				if assert.NoError(t, err) {
					assert.NoError(t, lease.Release(f.ctx))
				}
			})
		}
		synctest.Wait()
		at := time.Now()
		lease, err := f.Resume(f.ctx, handle)
		require.NoError(t, err)
		require.Equal(t, 40*ms, time.Since(at))
		rounds.Wait()
		require.NoError(t, lease.Release(f.ctx))
	})
}

// Close ends the wait for a turn.
func TestCloseBeforeTheTurn(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.hang()
		var rounds sync.WaitGroup
		for i := range 200 {
			rounds.Go(func() {
				_, err := f.TryAcquire(f.ctx, fmt.Sprint("k", i))
				assert.ErrorIs(t, err, quorum.ErrClosed)
			})
		}
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- f.Close(f.ctx) }()
		rounds.Wait()
		f.resume()
		require.NoError(t, <-closed)
	})
}

// Servers that are far away and idle are not overloaded, however many rounds begin at once.
func TestFarAwayServersAreNotOverloaded(t *testing.T) {
	ways := []time.Duration{30 * ms, 60 * ms, 80 * ms, 99 * ms}
	if raced { // the others without the race detector
		ways = []time.Duration{80 * ms}
	}
	for _, way := range ways {
		t.Run(way.String(), func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.slow(way/2, way/2)
				f.recognize()
				var failed atomic.Int32
				for wave := range 12 {
					var rounds sync.WaitGroup
					for i := range 200 {
						rounds.Go(func() {
							time.Sleep(time.Duration(i) * ms / 2)
							lease, err := f.TryAcquire(f.ctx, fmt.Sprint("k", wave%3, "-", i))
							if err != nil {
								failed.Add(1)
								return
							}
							assert.NoError(t, lease.Release(f.ctx))
						})
					}
					rounds.Wait()
					require.Zero(t, failed.Load(), "of 200 in wave %d", wave)
				}
			})
		})
	}
}
