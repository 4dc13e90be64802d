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

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// A waiter's slow hook doesn't delay another goroutine's Release.
func TestReleaseDoesNotWaitForAWaitersHook(t *testing.T) {
	var slow atomic.Bool
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		first := f.acquire("k")
		slow.Store(true)
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				lease, err := f.Acquire(f.ctx, "k")
				if !assert.NoError(f.t, err) {
					return
				}
				time.Sleep(time.Second)
				at := time.Now()
				assert.NoError(f.t, lease.Release(f.ctx))
				assert.Equal(f.t, at, time.Now())
			})
		}
		synctest.Wait()
		at := time.Now()
		require.NoError(f.t, first.Release(f.ctx))
		require.Equal(f.t, at, time.Now())
		group.Wait()
		slow.Store(false)
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) {
		cfg.TTL = 10 * time.Minute
		cfg.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) {
			if slow.Load() && e.Key == "k" {
				time.Sleep(30 * time.Second)
			}
		}
	})
}

// Terms mean the same wherever the holder is: the number of tries, the time and the error are the
// same, except for the holder in the error.
func TestBoundsDoNotDependOnWhereTheHolderIs(t *testing.T) {
	type outcome struct {
		tries  int
		waited time.Duration
	}
	for name, terms := range map[string]quorum.Terms{
		"one try": {MaxTries: 1}, "two tries": {MaxTries: 2}, "seven tries": {MaxTries: 7},
		"a time": {MaxWait: time.Second}, "both": {MaxTries: 3, MaxWait: time.Minute},
	} {
		for kind, play := range map[string]func(*testing.T, int, func(*fixture), ...func(*quorum.Config)){"calls": playNotifying, "polls": play} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				var outcomes []outcome
				for _, where := range []string{"elsewhere", "here", "behind others", "behind others elsewhere"} {
					play(t, 3, func(f *fixture) {
						f.warm()
						holder := f.Coordinator
						if where == "elsewhere" || where == "behind others elsewhere" {
							holder = f.other(func(cfg *quorum.Config) { cfg.Owner = "them" })
						}
						lease := f.acquireBy(holder, "k")
						synctest.Wait() // it has the key on all servers: a quorum was enough to return
						ctx, cancel := context.WithCancel(f.ctx)
						var group sync.WaitGroup
						if where == "behind others" || where == "behind others elsewhere" {
							group.Go(func() {
								_, err := f.Acquire(ctx, "k")
								assert.ErrorIs(f.t, err, context.Canceled)
							})
							synctest.Wait()
						}
						bounded, err := f.WithTerms(func(t *quorum.Terms) { terms.TTL = t.TTL; *t = terms })
						require.NoError(f.t, err)
						began := time.Now()
						_, err = bounded.Acquire(f.ctx, "k")
						waited := requireWaitError(f.t, err, quorum.ErrExhausted)
						require.ErrorIs(f.t, err, quorum.ErrTaken)
						var round *quorum.RoundError
						require.ErrorAs(f.t, err, &round)
						require.NotNil(f.t, round.Holder)
						assert.Equal(f.t, holder == f.Coordinator, round.Holder.Here)
						assert.InDelta(f.t, lease.Validity(), round.Holder.Remaining, float64(90*time.Second))
						if holder == f.Coordinator {
							assert.Contains(f.t, err.Error(), "held by this process, whose lease ends in 59m")
						} else {
							assert.Regexp(f.t, `held by (another client|client "them"), whose lease ends in `, err.Error())
						}
						if terms.MaxTries > 0 {
							outcomes = append(outcomes, outcome{waited.Tries, time.Since(began)})
						} else {
							assert.Positive(f.t, waited.Tries)
							outcomes = append(outcomes, outcome{0, time.Since(began)})
						}
						cancel()
						group.Wait()
						f.giveBack(lease)
					}, func(cfg *quorum.Config) {
						cfg.TTL = time.Hour
						cfg.Lab.Random = &sharedDice{dice: dice{number: 0x9e3779b97f4a7c15}}
					})
				}
				for _, o := range outcomes {
					assert.Equal(t, outcomes[0], o, "%v", outcomes)
				}
				if terms.MaxTries > 0 {
					assert.Equal(t, terms.MaxTries, outcomes[0].tries)
				}
				if terms.MaxTries == 1 {
					assert.Zero(t, outcomes[0].waited)
				}
			})
		}
	}
}

// A waiter behind another one that finds no quorum reports that, though it never asked.
func TestTriesBehindOneThatFindsNoQuorum(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.kill(0, 1)
		ctx, cancel := context.WithCancel(f.ctx)
		var group sync.WaitGroup
		group.Go(func() { _, _ = f.Acquire(ctx, "k") })
		time.Sleep(time.Second)
		once, err := f.WithTerms(func(t *quorum.Terms) { t.MaxTries = 1 })
		require.NoError(f.t, err)
		_, err = once.Acquire(f.ctx, "k")
		require.ErrorIs(f.t, err, quorum.ErrNoQuorum)
		require.NotErrorIs(f.t, err, quorum.ErrTaken)
		cancel()
		group.Wait()
		f.each(func(s *quorumtest.Server) { s.Start(true) }, 0, 1)
	})
}

// A holder that asks for its own lock again would wait for itself.
func TestHeldByCaller(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		refused := func(ctx context.Context, key string) {
			f.t.Helper()
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			_, err := f.Acquire(ctx, key)
			require.ErrorIs(f.t, err, quorum.ErrHeldByCaller)
			require.NotErrorIs(f.t, err, quorum.ErrTaken)
			_, err = f.TryAcquire(ctx, key)
			require.ErrorIs(f.t, err, quorum.ErrHeldByCaller)
			require.ErrorContains(f.t, err, fmt.Sprintf("%q", key))
			require.ErrorIs(f.t, f.Do(ctx, key, func(context.Context, *quorum.Lease) error { return nil }), quorum.ErrHeldByCaller)
			view, err := f.WithTerms(func(*quorum.Terms) {})
			require.NoError(f.t, err)
			_, err = view.TryAcquire(ctx, key)
			require.ErrorIs(f.t, err, quorum.ErrHeldByCaller)
		}
		other := f.other()
		var after context.Context
		require.NoError(f.t, f.Do(f.ctx, "a", func(ctx context.Context, a *quorum.Lease) error {
			refused(ctx, "a")
			refused(a.Context(), "a")
			return f.Do(ctx, "b", func(ctx context.Context, b *quorum.Lease) error {
				refused(ctx, "a")
				refused(context.WithoutCancel(ctx), "b")
				c, err := f.TryAcquire(ctx, "c")
				require.NoError(f.t, err)
				refused(c.Context(), "a")
				require.NoError(f.t, c.Release(ctx))
				token, ok := fencing.FromContext(ctx)
				assert.True(f.t, ok)
				assert.Equal(f.t, b.Token(), token)
				token, _ = fencing.FromContext(a.Context())
				assert.Equal(f.t, a.Token(), token)

				// The context says nothing about another Coordinator.
				_, err = other.TryAcquire(ctx, "a")
				require.ErrorIs(f.t, err, quorum.ErrTaken)
				after = ctx
				return nil
			})
		}))
		// The leases have ended.
		lease, err := f.Acquire(context.WithoutCancel(after), "a")
		require.NoError(f.t, err)
		within := lease.Within(f.ctx)
		refused(within, "a")
		require.NoError(f.t, lease.Release(within))
		again, err := f.Acquire(context.WithoutCancel(within), "a")
		require.NoError(f.t, err)
		f.giveBack(again)
	})
}

// The answers to a round are lost, and so are its deletes. The waiter's own leftover keys keep it from
// the lock until the deletes are repeated, and not for a TTL.
func TestRetryIsNotRefusedByItself(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.each(func(s *quorumtest.Server) {
			s.SetFate(func(cmd wire.Request) quorumtest.Fate {
				switch {
				case f.elapsed() > 10*ms:
					return quorumtest.Fate{}
				case cmd.Op == wire.Acquire:
					return quorumtest.Fate{End: quorumtest.LoseReply}
				default:
					return quorumtest.Fate{End: quorumtest.LoseRequest}
				}
			})
		})
		lease := f.await("k")
		assert.Less(f.t, f.elapsed(), time.Second)
		f.giveBack(lease)
	})
}

// Without notifications, processes that ask again at once share the lock. A process may have many
// turns before it knows of others, so the test takes many turns.
func TestPollingIsFair(t *testing.T) {
	holds := []time.Duration{0, ms, 30 * ms, 300 * ms}
	if raced { // the others without the race detector
		holds = []time.Duration{0, 30 * ms}
	}
	for _, clients := range []int{3, 5} {
		for _, hold := range holds {
			t.Run(fmt.Sprintf("%d clients hold it for %v", clients, hold), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, 3, func(cfg *quorum.Config) { cfg.TTL, cfg.Lab.ClockMonitor = time.Minute, quorum.Off })
					f.warm()
					f.lag(100 * time.Microsecond)
					const turns = 1000
					had := make([]int, clients)
					row, longest, last := 0, 0, -1
					ctx, cancel := context.WithCancel(f.ctx)
					defer cancel()
					var group sync.WaitGroup
					n := 0 // guarded by the lock
					for i := range clients {
						c := f.other()
						group.Go(func() {
							for {
								lease, err := c.Acquire(ctx, "k")
								if err != nil {
									assert.ErrorIs(t, err, context.Canceled)
									return
								}
								had[i]++
								if n++; n == turns {
									cancel()
								}
								if last != i {
									row, last = 0, i
								}
								row++
								longest = max(longest, row)
								time.Sleep(hold)
								assert.NoError(t, lease.Release(f.ctx))
							}
						})
					}
					group.Wait()
					t.Logf("turns %v in %v, %d in a row", had, f.elapsed(), longest)
					for _, n := range had {
						assert.LessOrEqual(t, n, turns/2, "%v", had)
						assert.GreaterOrEqual(t, n, turns/clients/2, "%v", had)
					}
					f.requireNothingLeft()
				})
			})
		}
	}
}

// A server that hangs doesn't keep the next goroutine waiting for longer than a request to it may take,
// although the release comes after an extension there.
func TestHungQueueServerDelaysTheNextBriefly(t *testing.T) {
	var extends chan struct{}
	var queue *quorumtest.Server
	playNotifying(t, 5, func(f *fixture) {
		queue, extends = f.queueServer("k"), make(chan struct{}, 100)
		released, work := make(chan time.Time, 1), make(chan struct{})
		var both sync.WaitGroup
		both.Go(func() {
			assert.NoError(t, f.Do(f.ctx, "k", func(context.Context, *quorum.Lease) error {
				<-work
				released <- time.Now()
				return nil
			}))
		})
		time.Sleep(ms)
		both.Go(func() {
			assert.NoError(t, f.Do(f.ctx, "k", func(context.Context, *quorum.Lease) error {
				assert.LessOrEqual(t, time.Since(<-released), f.cfg.InstanceTimeout+100*ms)
				return nil
			}))
		})
		<-extends
		time.Sleep(ms)
		close(work)
		both.Wait()
		queue.Resume()
		require.NoError(t, f.Settle(f.ctx))
	}, func(cfg *quorum.Config) {
		cfg.InstanceTimeout = 2 * time.Second
		cfg.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) {
			if e.Op.Held() {
				queue.Hang()
				extends <- struct{}{}
			}
		}
	})
}

// Wait queues are kept on an instance that can notify, if there is one.
func TestQueuesAreWhereProcessesCanBeNotified(t *testing.T) {
	play(t, 3, func(f *fixture) {
		queues := func() map[int]int {
			at := map[int]int{}
			for i := range 60 {
				at[quorum.QueueOf(f.Coordinator, fmt.Sprint("k", i))]++
			}
			return at
		}
		require.Len(t, queues(), 3)
		mute := func(id *wire.Identity) { id.CannotNotify = true }
		f.each(func(s *quorumtest.Server) { s.SetIdentity(mute) }, 0, 2)
		f.recognize()
		require.Equal(t, map[int]int{1: 60}, queues())
		f.each(func(s *quorumtest.Server) { s.SetIdentity(mute) }, 1)
		f.recognize()
		require.Len(t, queues(), 3)
		f.each(func(s *quorumtest.Server) { s.SetIdentity(nil) }, 0, 1, 2)
		f.recognize()
		require.Len(t, queues(), 3)
	})
}
