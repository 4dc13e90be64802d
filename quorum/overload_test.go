package quorum_test

import (
	"context"
	"fmt"
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
	}, func(cfg *quorum.Config) { cfg.MaxInFlight = 8 })
}

// TryAcquire's error says that no instance was asked, and why. Acquire waits, and gets the lock
// when there is capacity.
func TestOverloadIsReportedOrWaitedOut(t *testing.T) {
	var mu sync.Mutex
	var reported []error
	play(t, 3, func(f *fixture) {
		mu.Lock()
		reported = nil
		mu.Unlock()
		f.warm()
		f.slow(20*ms, 20*ms)
		var rounds sync.WaitGroup
		for i := range 6 { // as many as MaxInFlight allows
			rounds.Go(func() {
				lease, err := f.TryAcquire(f.ctx, fmt.Sprint("k", i))
				if assert.NoError(t, err) {
					assert.NoError(t, lease.Release(f.ctx))
				}
			})
		}
		synctest.Wait()
		at := time.Now()
		_, err := f.TryAcquire(f.ctx, "late")
		require.ErrorIs(t, err, wire.ErrOverloaded)
		require.NotErrorIs(t, err, quorum.ErrTaken)
		require.NotErrorIs(t, err, quorum.ErrNoQuorum)
		require.Zero(t, time.Since(at))
		var round *quorum.RoundError
		require.ErrorAs(t, err, &round)
		assert.Empty(t, round.Votes)
		for _, says := range []string{"6 rounds", "MaxInFlight", `acquire "late"`, "no instance was asked"} {
			assert.ErrorContains(t, err, says)
		}
		mu.Lock()
		assert.ErrorIs(t, reported[len(reported)-1], wire.ErrOverloaded, "hooks report it as well")
		mu.Unlock()

		lease, err := f.Acquire(f.ctx, "late")
		require.NoError(t, err)
		assert.Less(t, time.Since(at), time.Second)
		require.NoError(t, lease.Release(f.ctx))
		rounds.Wait()
		for i := range f.servers {
			assert.Zero(t, f.count(i, wire.Enqueue), "and sends nothing meanwhile")
		}
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) {
		cfg.MaxInFlight = 8
		cfg.Hooks.RoundDecided = func(_ context.Context, e quorum.RoundEnd) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, e.Err)
		}
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
