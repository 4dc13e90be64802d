package anyof_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/anyof"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// world is three servers in virtual time, with messages of up to a millisecond, and a client.
type world struct {
	*quorum.Coordinator
	t       *testing.T
	ctx     context.Context
	servers quorumtest.Servers
	polls   bool
}

func play(t *testing.T, polls bool, test func(w *world), overrides ...func(*quorum.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, ctx: context.Background(), servers: quorumtest.NewServers(3), polls: polls}
		r := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		travel := func(wire.Request) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(1+r.IntN(999)) * time.Microsecond
		}
		for _, s := range w.servers {
			s.Delay(travel, travel)
		}
		w.Coordinator = w.client(overrides...)
		lease, err := w.TryAcquire(w.ctx, "warm-up")
		require.NoError(t, err)
		require.NoError(t, lease.Release(w.ctx))
		test(w)
		time.Sleep(time.Second)
		synctest.Wait()
		for _, s := range w.servers {
			require.Empty(t, s.Keys(), s.Name())
		}
	})
}

func (w *world) client(overrides ...func(*quorum.Config)) *quorum.Coordinator {
	w.t.Helper()
	cfg := quorum.Config{Lab: quorum.Lab{BackoffMax: 100 * ms}}
	if w.polls {
		cfg.Lab.Notifications = quorum.Off
	}
	for _, override := range overrides {
		override(&cfg)
	}
	c, err := quorum.New(cfg, w.servers.Instances()...)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, c.Close(w.ctx)) })
	return c
}

func (w *world) occupy(ttl time.Duration, keys ...string) {
	for _, s := range w.servers {
		for _, key := range keys {
			s.Put(key, "another client's", ttl)
		}
	}
}

func (w *world) free(keys ...string) {
	for _, s := range w.servers {
		for _, key := range keys {
			s.Delete(key)
		}
	}
}

// n keys let n holders in, and never more, and all who wait get in.
func TestExactSemaphore(t *testing.T) {
	for _, polls := range []bool{false, true} {
		t.Run(fmt.Sprint("polls ", polls), func(t *testing.T) {
			play(t, polls, func(w *world) {
				keys := []string{"s1", "s2", "s3"}
				var group sync.WaitGroup
				var mu sync.Mutex
				inside, most := map[string]bool{}, 0
				last, uses := map[string]fencing.Token{}, map[string]int{}
				began := time.Now()
				for i := range 9 {
					c := w.Coordinator
					if i%3 > 0 {
						c = w.client()
					}
					group.Go(func() {
						for range 6 {
							lease, err := anyof.Acquire(w.ctx, c, keys...)
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
							assert.NoError(t, lease.Release(w.ctx))
						}
					})
				}
				group.Wait()
				assert.Equal(t, 3, most, "all keys are used at once")
				for _, key := range keys {
					assert.GreaterOrEqual(t, uses[key], 5, "clients spread over the keys: %v", uses)
				}
				assert.Less(t, time.Since(began), 10*time.Second)
			})
		})
	}
}

// If all keys are freed at one moment, a waiter keeps one of them.
func TestOneKeyIsKept(t *testing.T) {
	for i := range 20 {
		play(t, false, func(w *world) {
			holder, keys := w.client(), []string{"a", "b", "c"}
			travel := func(wire.Request) time.Duration { return time.Duration(i) * ms / 10 }
			for _, s := range w.servers {
				s.Delay(travel, travel) // all answers at one moment
			}
			at := time.Now().Add(time.Second)
			var released sync.WaitGroup
			for _, key := range keys {
				lease, err := holder.TryAcquire(w.ctx, key)
				require.NoError(w.t, err)
				released.Go(func() {
					time.Sleep(time.Until(at))
					assert.NoError(w.t, lease.Release(w.ctx))
				})
			}
			lease, err := anyof.Acquire(w.ctx, w.Coordinator, keys...)
			require.NoError(w.t, err)
			released.Wait()
			require.NoError(w.t, w.Settle(w.ctx))
			for _, key := range keys {
				found, err := w.Inspect(w.ctx, key)
				require.NoError(w.t, err)
				if key == lease.Key() {
					require.Equal(w.t, lease.Value(), found.Held().Value)
				} else {
					require.Nil(w.t, found.Held(), key)
				}
			}
			require.NoError(w.t, lease.Release(w.ctx))
		}, func(cfg *quorum.Config) { cfg.Lab.BackoffMin, cfg.Lab.BackoffMax = time.Minute, time.Minute }) // they don't poll
	}
}

// A hook's panic reaches the caller, who keeps nothing.
func TestAPanicOfAHook(t *testing.T) {
	play(t, false, func(w *world) {
		var rounds atomic.Int64 // both keys' rounds are under way at once
		c := w.client(func(cfg *quorum.Config) {
			cfg.Hooks.RoundStarted = func(context.Context, quorum.RoundStart) {
				if rounds.Add(1) > 2 {
					panic("a hook's")
				}
			}
		})
		w.occupy(time.Second, "a", "b")
		assert.PanicsWithValue(t, "a hook's", func() { _, _ = anyof.Acquire(w.ctx, c, "a", "b") })
	})
}

func TestGivesUp(t *testing.T) {
	play(t, false, func(w *world) {
		w.occupy(time.Hour, "a", "b")
		at := time.Now()
		_, err := anyof.Acquire(w.ctx, w.Coordinator, "b", "a")
		require.ErrorIs(t, err, quorum.ErrExhausted)
		require.ErrorIs(t, err, quorum.ErrTaken)
		require.NotErrorIs(t, err, quorum.ErrInterrupted)
		assert.Contains(t, err.Error(), `("a", "b": `)
		assert.Equal(t, time.Second, time.Since(at))

		ctx, cancel := context.WithTimeout(w.ctx, 100*ms)
		defer cancel()
		_, err = anyof.Acquire(ctx, w.Coordinator, "a", "b")
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = anyof.TryAcquire(ctx, w.Coordinator, "a", "b")
		require.ErrorIs(t, err, quorum.ErrInterrupted)

		few, err := w.WithTerms(func(terms *quorum.Terms) { terms.MaxTries, terms.MaxWait = 3, 0 })
		require.NoError(t, err)
		_, err = anyof.Acquire(w.ctx, few, "a", "b")
		require.ErrorIs(t, err, quorum.ErrExhausted)
		assert.Contains(t, err.Error(), "6 tries", "three at each key")

		closed := w.client()
		require.NoError(t, closed.Close(w.ctx))
		_, err = anyof.Acquire(w.ctx, closed, "a", "b")
		require.ErrorIs(t, err, quorum.ErrClosed)

		for _, keys := range [][]string{nil, {"a", "a"}, {"{a}"}, make([]string, anyof.Max+1)} {
			_, err = anyof.Acquire(w.ctx, w.Coordinator, keys...)
			require.ErrorIs(t, err, quorum.ErrConfig)
			_, err = anyof.TryAcquire(w.ctx, w.Coordinator, keys...)
			require.ErrorIs(t, err, quorum.ErrConfig)
		}
		_, err = anyof.Acquire(w.ctx, nil, "a")
		require.ErrorIs(t, err, quorum.ErrConfig)
		w.free("a", "b")
	}, func(cfg *quorum.Config) { cfg.MaxWait = time.Second })
}

// Close ends a wait.
func TestClose(t *testing.T) {
	play(t, false, func(w *world) {
		w.occupy(time.Second, "a", "b")
		c := w.client()
		time.AfterFunc(100*ms, func() { assert.NoError(t, c.Close(w.ctx)) })
		_, err := anyof.Acquire(w.ctx, c, "a", "b")
		require.ErrorIs(t, err, quorum.ErrClosed)
		require.ErrorAs(t, err, new(*quorum.WaitError))
	})
}

// A caller that has one of the keys may have another one, but none twice.
func TestWhatTheCallerHasIsPassedOver(t *testing.T) {
	play(t, false, func(w *world) {
		first, err := anyof.Acquire(w.ctx, w.Coordinator, "a", "b")
		require.NoError(t, err)
		second, err := anyof.Acquire(first.Context(), w.Coordinator, "a", "b")
		require.NoError(t, err)
		keys := []string{first.Key(), second.Key()}
		slices.Sort(keys)
		assert.Equal(t, []string{"a", "b"}, keys)
		_, err = anyof.Acquire(second.Within(first.Context()), w.Coordinator, "a", "b")
		require.ErrorIs(t, err, quorum.ErrHeldByCaller)
		require.NoError(t, second.Release(w.ctx))
		require.NoError(t, first.Release(w.ctx))
	})
}

// One key that can't be locked doesn't keep a caller from the others.
func TestAKeyWithABadCounter(t *testing.T) {
	play(t, false, func(w *world) {
		for _, s := range w.servers {
			s.PutCounter("a", fencing.MaxToken-1000)
		}
		_, err := anyof.Acquire(w.ctx, w.Coordinator, "a")
		require.ErrorIs(t, err, quorum.ErrCounter)
		taken, err := w.client().TryAcquire(w.ctx, "b")
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { assert.NoError(t, taken.Release(w.ctx)) })
		lease, err := anyof.Acquire(w.ctx, w.Coordinator, "a", "b")
		require.NoError(t, err)
		assert.Equal(t, "b", lease.Key())
		require.NoError(t, lease.Release(w.ctx))
	})
}

// With too many hung servers a pass over many keys costs what one key costs.
func TestHungServersCostOneTimeout(t *testing.T) {
	play(t, false, func(w *world) {
		w.servers[0].Hang()
		w.servers[1].Hang()
		at := time.Now()
		_, err := anyof.TryAcquire(w.ctx, w.Coordinator, "a", "b", "c", "d", "e")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		assert.Less(t, time.Since(at), 2*w.Config().InstanceTimeout)
		w.servers[0].Resume()
		w.servers[1].Resume()
	})
}

func TestDo(t *testing.T) {
	play(t, false, func(w *world) {
		keys := make([]string, anyof.Max)
		for i := range keys {
			keys[i] = fmt.Sprint("seat/", i)
		}
		w.occupy(time.Hour, keys[:100]...)
		failed := errors.New("work failed")
		err := anyof.Do(w.ctx, w.Coordinator, keys[:101], func(ctx context.Context, lease *quorum.Lease) error {
			assert.Equal(t, keys[100], lease.Key())
			time.Sleep(20 * time.Second) // kept alive
			assert.NoError(t, ctx.Err())
			return failed
		})
		require.ErrorIs(t, err, failed)
		require.ErrorIs(t, anyof.Do(w.ctx, w.Coordinator, keys, nil), quorum.ErrConfig)
		lease, err := anyof.TryAcquire(w.ctx, w.Coordinator, keys...)
		require.NoError(t, err)
		require.NoError(t, lease.Release(w.ctx))
		w.free(keys[:100]...)
	})
}
