package quorum_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// n keys let n holders in, and never more, and all who wait get in.
func TestAnyOfSeveralKeysIsAnExactSemaphore(t *testing.T) {
	for _, notifies := range []bool{true, false} {
		t.Run(fmt.Sprint("notified ", notifies), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := makeFixture(t, 3, fixture{notifies: notifies}, func(cfg *quorum.Config) { cfg.Lab.BackoffMax = 100 * ms })
				f.warm()
				f.travel(ms)
				keys := []string{"s1", "s2", "s3"}
				var group sync.WaitGroup
				var mu sync.Mutex
				inside, most := map[string]bool{}, 0
				last, uses := map[string]fencing.Token{}, map[string]int{}
				for i := range 9 {
					c := f.Coordinator
					if i%3 > 0 {
						c = f.other()
					}
					group.Go(func() {
						for range 6 {
							lease, err := c.AcquireAny(f.ctx, keys...)
							if !assert.NoError(t, err) {
								return
							}
							mu.Lock()
							assert.False(t, inside[lease.Key()], "%q has two holders", lease.Key())
							assert.Greater(t, lease.Token(), last[lease.Key()])
							inside[lease.Key()], last[lease.Key()] = true, lease.Token()
							uses[lease.Key()]++
							most = max(most, len(inside))
							mu.Unlock()
							time.Sleep(time.Duration(5+i) * ms)
							mu.Lock()
							delete(inside, lease.Key())
							mu.Unlock()
							assert.NoError(t, lease.Release(f.ctx))
						}
					})
				}
				group.Wait()
				assert.Equal(t, 3, most, "all keys are used at once")
				for _, key := range keys {
					assert.GreaterOrEqual(t, uses[key], 5, "clients spread over the keys: %v", uses)
				}
				assert.Less(t, f.elapsed(), 10*time.Second)
				f.requireNothingLeft()
			})
		})
	}
}

// If all keys are freed at one moment, a waiter keeps one of them.
func TestAnyKeepsOneKey(t *testing.T) {
	for seed := range 20 {
		playNotifying(t, 3, func(f *fixture) {
			f.warm()
			f.travel(time.Duration(seed) * ms / 10)
			holder := f.other()
			var leases []*quorum.Lease
			for _, key := range []string{"a", "b", "c"} {
				lease, err := holder.TryAcquire(f.ctx, key)
				require.NoError(f.t, err)
				leases = append(leases, lease)
			}
			var released sync.WaitGroup
			for _, lease := range leases {
				released.Go(func() {
					time.Sleep(time.Second)
					assert.NoError(f.t, lease.Release(f.ctx))
				})
			}
			lease, err := f.AcquireAny(f.ctx, "a", "b", "c")
			require.NoError(f.t, err)
			released.Wait()
			require.NoError(f.t, f.Settle(f.ctx))
			for _, key := range []string{"a", "b", "c"} {
				found, err := f.Inspect(f.ctx, key)
				require.NoError(f.t, err)
				if key == lease.Key() {
					require.Equal(f.t, lease.Value(), found.Held().Value)
				} else {
					require.Nil(f.t, found.Held(), key)
				}
			}
			require.NoError(f.t, lease.Release(f.ctx))
			f.requireNothingLeft()
		}, patient)
	}
}

// The hooks see one wait, and a hook's panic reaches the caller, who keeps nothing.
func TestHooksOfAny(t *testing.T) {
	var started []quorum.WaitStart
	var ended []quorum.WaitEnd
	panics := false
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		for _, key := range []string{"a", "b"} {
			f.occupy(key, time.Second)
		}
		lease, err := f.AcquireAny(f.ctx, "b", "a")
		require.NoError(f.t, err)
		require.Len(f.t, started, 1)
		require.Len(f.t, ended, 1)
		assert.Equal(f.t, quorum.WaitStart{Key: "a", Also: []string{"b"}, Waiters: 1}, started[0])
		assert.Equal(f.t, "a", ended[0].Key)
		assert.Equal(f.t, lease.Token(), ended[0].Token)
		assert.True(f.t, ended[0].Elsewhere)
		assert.GreaterOrEqual(f.t, ended[0].Tries, 3)
		assert.NoError(f.t, ended[0].Err)
		require.NoError(f.t, lease.Release(f.ctx))

		for _, key := range []string{"a", "b"} {
			f.occupy(key, time.Second)
		}
		panics = true
		assert.PanicsWithValue(f.t, "a hook's", func() { _, _ = f.AcquireAny(f.ctx, "a", "b") })
		require.Len(f.t, ended, 2)
		assert.Error(f.t, ended[1].Err)
		panics = false
		time.Sleep(time.Second)
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) {
		cfg.Hooks.WaitStarted = func(_ context.Context, e quorum.WaitStart) { started = append(started, e) }
		cfg.Hooks.WaitEnded = func(_ context.Context, e quorum.WaitEnd) { ended = append(ended, e) }
		cfg.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) {
			if panics && e.Op == wire.Acquire && e.Try > 1 {
				panic("a hook's")
			}
		}
	})
}

func TestAnyGivesUp(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		for _, key := range []string{"a", "b"} {
			f.occupy(key, time.Hour)
		}
		at := time.Now()
		_, err := f.AcquireAny(f.ctx, "b", "a")
		require.ErrorIs(t, err, quorum.ErrExhausted)
		require.ErrorIs(t, err, quorum.ErrTaken)
		assert.Contains(t, err.Error(), `("a", "b": `)
		assert.Equal(t, time.Second, time.Since(at))

		ctx, cancel := context.WithTimeout(f.ctx, 100*ms)
		defer cancel()
		_, err = f.AcquireAny(ctx, "a", "b")
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = f.TryAcquireAny(ctx, "a", "b")
		require.ErrorIs(t, err, quorum.ErrInterrupted)

		few, err := f.WithTerms(func(terms *quorum.Terms) { terms.MaxTries, terms.MaxWait = 3, 0 })
		require.NoError(t, err)
		_, err = few.AcquireAny(f.ctx, "a", "b")
		require.ErrorIs(t, err, quorum.ErrExhausted)
		assert.Contains(t, err.Error(), "6 tries", "three at each key")

		for _, keys := range [][]string{nil, {"a", "a"}, {"{a}"}} {
			_, err = f.AcquireAny(f.ctx, keys...)
			require.ErrorIs(t, err, quorum.ErrConfig)
			_, err = f.TryAcquireAny(f.ctx, keys...)
			require.ErrorIs(t, err, quorum.ErrConfig)
		}
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) { cfg.MaxWait = time.Second })
}

// A caller that has one of the keys may have another one, but none twice.
func TestAnyPassesOverWhatTheCallerHas(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		first, err := f.AcquireAny(f.ctx, "a", "b")
		require.NoError(t, err)
		second, err := f.AcquireAny(first.Context(), "a", "b")
		require.NoError(t, err)
		keys := []string{first.Key(), second.Key()}
		slices.Sort(keys)
		assert.Equal(t, []string{"a", "b"}, keys)
		_, err = f.AcquireAny(second.Within(first.Context()), "a", "b")
		require.ErrorIs(t, err, quorum.ErrHeldByCaller)
		require.NoError(t, second.Release(f.ctx))
		require.NoError(t, first.Release(f.ctx))
		f.requireNothingLeft()
	})
}

// One key that can't be locked doesn't keep a caller from the others.
func TestAnyGoesRoundAKeyWithABadCounter(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		for _, s := range f.servers {
			s.PutCounter("a", fencing.MaxToken-1000)
		}
		_, err := f.AcquireAny(f.ctx, "a")
		require.ErrorIs(t, err, quorum.ErrCounter)
		holder := f.other()
		taken, err := holder.TryAcquire(f.ctx, "b")
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { assert.NoError(t, taken.Release(f.ctx)) })
		lease, err := f.AcquireAny(f.ctx, "a", "b")
		require.NoError(t, err)
		assert.Equal(t, "b", lease.Key())
		require.NoError(t, lease.Release(f.ctx))
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) { cfg.Lab.BackoffMax = 100 * ms })
}
