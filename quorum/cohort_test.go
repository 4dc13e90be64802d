package quorum_test

import (
	"context"
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

// notices counts the releases of "k" that may notify another process.
func (f *fixture) notices() (n int) {
	for i := range f.servers {
		for _, e := range f.log(i) {
			if e.Request.Op == wire.Release && e.Request.Keys[0] == "k" && e.Request.Notify {
				n++
			}
		}
	}
	return n
}

// Goroutines of a process have the lock one after the other, in the order in which they came, each by a
// round of its own. Other processes are notified when the last one has had its turn.
func TestGoroutinesTakeTurns(t *testing.T) {
	for name, fencing := range map[string]quorum.Switch{"with tokens": quorum.On, "without": quorum.Off} {
		t.Run(name, func(t *testing.T) {
			playNotifying(t, 5, func(f *fixture) {
				f.warm()
				f.travel(ms)
				first := f.acquireBy(f.other(), "k")
				const n = 8
				var group sync.WaitGroup
				var order []int // guarded by the lock
				values, last := map[string]bool{}, first.Token()
				for i := range n {
					group.Go(func() {
						lease, err := f.Acquire(f.ctx, "k")
						if !assert.NoError(t, err) {
							return
						}
						order = append(order, i)
						values[lease.Value()] = true
						if fencing == quorum.On {
							assert.Greater(t, lease.Token(), last)
						}
						last = lease.Token()
						time.Sleep(10 * ms)
						assert.NoError(t, lease.Release(f.ctx))
					})
					time.Sleep(ms)
				}
				require.NoError(t, first.Release(f.ctx))
				before, at := f.notices(), time.Now()
				group.Wait()
				assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, order)
				assert.Len(t, values, 1, "a lease is passed on under its value")
				assert.Less(t, time.Since(at), n*20*ms)
				synctest.Wait()
				assert.Equal(t, 1, f.notices()-before, "after the last turn")
				f.requireNothingLeft()
			}, func(cfg *quorum.Config) { cfg.Lab.Fencing, cfg.TTL = fencing, 10*time.Minute })
		})
	}
}

// Another process waits for at most as many turns as there are waiters here.
func TestCohortsLetOthersIn(t *testing.T) {
	playNotifying(t, 5, func(f *fixture) {
		f.warm()
		f.lag(ms)
		other := f.distant(137 * time.Microsecond)
		// Each of four goroutines wants the lock again and again.
		ctx, cancel := context.WithCancel(f.ctx)
		var group sync.WaitGroup
		var turns atomic.Int64
		for range 4 {
			group.Go(func() {
				for {
					lease, err := f.Acquire(ctx, "k")
					if err != nil {
						return
					}
					turns.Add(1)
					time.Sleep(10 * ms)
					assert.NoError(f.t, lease.Release(f.ctx))
				}
			})
		}
		time.Sleep(500 * ms)
		for range 4 {
			before := turns.Load()
			lease := f.awaitBy(other, "k")
			assert.LessOrEqual(f.t, turns.Load()-before, int64(4))
			require.NoError(f.t, lease.Release(f.ctx))
		}
		cancel()
		group.Wait()
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) { cfg.TTL = 10 * time.Minute })
}

// A waiter that was to have the lock next, and is cancelled, lets another process have it: whether it leaves
// while the release is under way, or when that is over.
func TestCancelledWaiterPassesTheLockOn(t *testing.T) {
	for _, over := range []bool{false, true} {
		t.Run(map[bool]string{false: "during the release", true: "after it"}[over], func(t *testing.T) {
			var cancel context.CancelFunc
			var armed atomic.Bool
			playNotifying(t, 3, func(f *fixture) {
				f.warm()
				f.travel(ms)
				holder := f.acquireBy(f.other(), "k")
				var ctx context.Context
				ctx, cancel = context.WithCancel(f.ctx)
				defer cancel()
				var group sync.WaitGroup
				held := make(chan *quorum.Lease, 1)
				group.Go(func() {
					lease, err := f.Acquire(f.ctx, "k")
					assert.NoError(t, err)
					held <- lease
				})
				time.Sleep(10 * ms)
				group.Go(func() {
					_, err := f.noted("so that it needs a round").Acquire(ctx, "k")
					assert.ErrorIs(t, err, context.Canceled)
				})
				time.Sleep(10 * ms)
				third := f.other(func(cfg *quorum.Config) { cfg.Hooks = quorum.Hooks{} })
				group.Go(func() {
					lease, err := third.Acquire(f.ctx, "k")
					if assert.NoError(t, err) {
						assert.NoError(t, lease.Release(f.ctx))
					}
				})
				time.Sleep(time.Second)
				require.NoError(t, holder.Release(f.ctx))
				time.Sleep(100 * ms)
				first, at := <-held, time.Now()
				armed.Store(true)
				if !over {
					time.AfterFunc(ms/2, cancel)
				}
				require.NoError(t, first.Release(f.ctx))
				group.Wait()
				assert.Less(t, time.Since(at), 100*ms, "nobody waits until it would poll")
				f.requireNothingLeft()
			}, func(cfg *quorum.Config) {
				cfg.TTL, cfg.Lab.BackoffMax = 10*time.Minute, time.Minute // one that is notified tries again soon
				cfg.Hooks.RoundStarted = func(context.Context, quorum.RoundStart) {
					if armed.Load() {
						cancel() // just before its round
					}
				}
			})
		})
	}
}
