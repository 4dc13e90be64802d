package quorum_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// waiting has a goroutine wait for a lock that this process has, and returns where its lease comes.
func (f *fixture) waiting(ctx context.Context, c *quorum.Coordinator, key string) <-chan *quorum.Lease {
	f.t.Helper()
	got := make(chan *quorum.Lease, 1)
	go func() {
		lease, _ := c.Acquire(ctx, key)
		got <- lease
	}()
	synctest.Wait()
	return got
}

// turn is a lease of the fixture's Coordinator, after whose release the process may go on: the lock came to it from
// another one while heir waited, too.
func (f *fixture) turn(key string, heir func() <-chan *quorum.Lease) (first *quorum.Lease, next <-chan *quorum.Lease) {
	f.t.Helper()
	held := f.acquireBy(f.other(), key)
	got := f.waiting(f.ctx, f.Coordinator, key)
	next = heir()
	require.NoError(f.t, held.Release(f.ctx))
	first = <-got
	require.NotNil(f.t, first)
	for synctest.Wait(); len(first.Instances()) < len(f.servers); synctest.Wait() {
		time.Sleep(ms)
		require.NoError(f.t, first.Extend(f.ctx)) // where the key of the holder before was in the way
	}
	return first, next
}

// TestLeaseIsPassedOn: a release hands the lock to the next goroutine of this process in one round trip, under the
// same value and with the next token.
func TestLeaseIsPassedOn(t *testing.T) {
	var rounds []wire.Op
	playNotifying(t, 5, func(f *fixture) {
		f.warm()
		f.lag(10 * ms)
		first, got := f.turn("k", func() <-chan *quorum.Lease { return f.waiting(f.ctx, f.Coordinator, "k") })
		f.quiesce()
		rounds = nil
		began, released := time.Now(), f.count(0, wire.Release)
		require.NoError(t, first.Release(f.ctx))
		next := <-got
		require.Equal(t, 10*ms, time.Since(began), "one round trip")
		require.Equal(t, first.Value(), next.Value())
		require.Equal(t, first.Token()+1, next.Token())
		require.ErrorIs(t, first.Err(), quorum.ErrReleased)
		require.Error(t, first.Context().Err())
		require.Equal(t, f.Config().Lab.Drift.Validity(f.Config().TTL, 10*ms), next.Validity(), "from before it was sent")
		require.Equal(t, []wire.Op{wire.Pass}, rounds)
		synctest.Wait()
		for i := range f.servers {
			require.Equal(t, released, f.count(i, wire.Release))
			require.InDelta(t, f.Config().TTL, f.remaining(i, "k"), float64(30*ms))
		}
		require.ErrorIs(t, first.Extend(f.ctx), quorum.ErrReleased)
		require.ErrorIs(t, first.Release(f.ctx), quorum.ErrReleased)
		require.NoError(t, next.Extend(f.ctx))
		require.NoError(t, next.Release(f.ctx))
		later := f.acquire("k")
		require.Greater(t, later.Token(), next.Token())
		f.giveBack(later)
	}, func(cfg *quorum.Config) {
		cfg.Hooks.RoundDecided = func(_ context.Context, e quorum.RoundEnd) {
			rounds = append(rounds, e.Op)
		}
	})
}

// TestLeaseIsNotPassedOn: where no quorum passes the lease on in time, or the next waiter can't have it, it is
// released, and the waiter competes.
func TestLeaseIsNotPassedOn(t *testing.T) {
	for name, c := range map[string]struct {
		before func(f *fixture, first *quorum.Lease)
		terms  func(*quorum.Terms)
		passes int // that are sent to server 0
		err    error
	}{
		"a majority lost the key": {func(f *fixture, _ *quorum.Lease) {
			f.each(func(s *quorumtest.Server) { s.Delete("k") }, 0, 1, 2)
		}, nil, 1, quorum.ErrNotHeld},
		"a majority doesn't answer": {func(f *fixture, _ *quorum.Lease) {
			f.each(func(s *quorumtest.Server) { s.SetFate(only(wire.Pass, quorumtest.Fate{Err: errReason})) }, 0, 1, 2)
		}, nil, 1, nil},
		"after its deadline": {func(f *fixture, first *quorum.Lease) {
			time.Sleep(first.Validity() - ms)
			f.each(func(s *quorumtest.Server) {
				s.Delay(nil, func(req wire.Request) time.Duration {
					return map[wire.Op]time.Duration{wire.Pass: 5 * ms}[req.Op]
				})
			})
		}, nil, 1, nil},
		"too late for the waiter": {nil, nil, 1, nil},
		"on other terms":          {nil, func(terms *quorum.Terms) { terms.Note = "another" }, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			playNotifying(t, 5, func(f *fixture) {
				f.warm()
				waiter := f.Coordinator
				if c.terms != nil {
					var err error
					waiter, err = f.WithTerms(c.terms)
					require.NoError(t, err)
				}
				first, got := f.turn("k", func() <-chan *quorum.Lease { return f.waiting(f.ctx, waiter, "k") })
				if c.before != nil {
					c.before(f, first)
				}
				if err := first.Release(f.ctx); c.err != nil {
					require.ErrorIs(t, err, c.err)
				} else {
					require.NoError(t, err)
				}
				next := <-got
				require.NotNil(t, next)
				require.NotEqual(t, first.Value(), next.Value())
				require.Greater(t, next.Token(), first.Token())
				require.Equal(t, c.passes, f.count(0, wire.Pass))
				f.giveBack(next)
			}, func(cfg *quorum.Config) {
				cfg.TTL, cfg.MinValidity = 10*time.Second, 9*time.Second
				cfg.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) {
					if name == "too late for the waiter" && e.Op == wire.Pass {
						time.Sleep(time.Second)
					}
				}
			})
		})
	}
}

// TestHeirLeaves: a lease that is passed on to a waiter that is cancelled meanwhile is released, and the waiter behind
// it gets the lock.
func TestHeirLeaves(t *testing.T) {
	for _, when := range []time.Duration{0, 5 * ms, 10*ms - 1, 10 * ms, 10*ms + 1, 15 * ms} {
		t.Run(when.String(), func(t *testing.T) {
			playNotifying(t, 5, func(f *fixture) {
				f.warm()
				f.lag(10 * ms)
				ctx, cancel := context.WithCancel(f.ctx)
				defer cancel()
				var behind <-chan *quorum.Lease
				first, heir := f.turn("k", func() <-chan *quorum.Lease {
					heir := f.waiting(ctx, f.Coordinator, "k")
					behind = f.waiting(f.ctx, f.Coordinator, "k")
					return heir
				})
				time.AfterFunc(when, cancel)
				require.NoError(t, first.Release(f.ctx))
				if lease := <-heir; lease != nil {
					assert.NoError(t, lease.Release(f.ctx))
				}
				next := <-behind
				require.NotNil(t, next)
				require.Greater(t, next.Token(), first.Token())
				f.giveBack(next)
			})
		})
	}
}

// TestUnwantedLeaseIsReleased: a lease is passed on to a waiter that is cancelled before it looks.
func TestUnwantedLeaseIsReleased(t *testing.T) {
	playNotifying(t, 5, func(f *fixture) {
		f.warm()
		held := f.acquireBy(f.other(), "k")
		queue := f.queueServer("k")
		queue.Delay(nil, func(req wire.Request) time.Duration {
			return map[wire.Op]time.Duration{wire.Enqueue: 50 * ms}[req.Op]
		})
		ctx, cancel := context.WithCancel(f.ctx)
		defer cancel()
		heir := f.waiting(ctx, f.Coordinator, "k") // waits for its place in the queue at the server
		behind := f.waiting(f.ctx, f.Coordinator, "k")
		h, err := held.HandOff(f.ctx)
		require.NoError(t, err)
		lease, err := f.Resume(f.ctx, h)
		require.NoError(t, err)
		require.NoError(t, lease.Release(f.ctx))
		cancel()
		synctest.Wait()
		require.GreaterOrEqual(t, f.sent("k", wire.Pass), 3)
		require.Nil(t, <-heir)
		next := <-behind
		require.NotNil(t, next)
		require.Greater(t, next.Token(), lease.Token()+1)
		require.Less(t, f.elapsed(), f.Config().TTL/2)
		f.giveBack(next)
	})
}

// TestPassPutsBack: where the lease was lacking it is put back when it is passed on, with the new token.
func TestPassPutsBack(t *testing.T) {
	playNotifying(t, 5, func(f *fixture) {
		f.warm()
		first, got := f.turn("k", func() <-chan *quorum.Lease { return f.waiting(f.ctx, f.Coordinator, "k") })
		f.servers[0].Delete("k")
		require.NoError(t, first.Release(f.ctx))
		next := <-got
		synctest.Wait()
		require.Equal(t, first.Value(), next.Value())
		require.Len(t, next.Instances(), 5)
		require.Positive(t, f.remaining(0, "k"))
		for i, counter := range f.counter("k") {
			require.GreaterOrEqual(t, counter, next.Token(), i)
		}
		f.giveBack(next)
	})
}

// TestLateExtensionOfThePredecessor: an extension that was begun before the release, and is sent after it, can't
// shorten the time of the next holder's keys.
func TestLateExtensionOfThePredecessor(t *testing.T) {
	var hold atomic.Bool
	for name, keep := range map[string]time.Duration{"cut by MaxLife": 0, "shorter than Keep": time.Hour} {
		t.Run(name, func(t *testing.T) {
			playNotifying(t, 5, func(f *fixture) {
				f.warm()
				first, got := f.turn("k", func() <-chan *quorum.Lease { return f.waiting(f.ctx, f.Coordinator, "k") })
				time.Sleep(9700 * ms)
				require.Positive(t, first.Validity())
				hold.Store(true)
				extended := make(chan error)
				go func() { extended <- first.Extend(f.ctx) }()
				synctest.Wait()
				hold.Store(false)
				require.NoError(t, first.Release(f.ctx))
				next := <-got
				if keep > 0 {
					require.NoError(t, next.Keep(f.ctx, keep))
				}
				require.ErrorIs(t, <-extended, quorum.ErrReleased)
				time.Sleep(time.Second)
				require.Positive(t, next.Validity())
				f.tryFailsBy(f.other(), "k", quorum.ErrTaken)
				if keep > 0 {
					require.NoError(t, next.Leave())
					time.Sleep(time.Minute)
					f.tryFailsBy(f.other(), "k", quorum.ErrTaken)
				}
			}, func(cfg *quorum.Config) {
				cfg.TTL, cfg.MaxLife = 10*time.Second, 10200*ms
				cfg.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) {
					if e.Op == wire.Extend && hold.Load() {
						time.Sleep(100 * ms)
					}
				}
			})
		})
	}
}

// TestPassAfterLostExtension: while an extension without an answer may still arrive the lease isn't passed on, so that
// the next holder's Keep can count on every server.
func TestPassAfterLostExtension(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		first, got := f.turn("k", func() <-chan *quorum.Lease { return f.waiting(f.ctx, f.Coordinator, "k") })
		f.hang(0, 1)
		require.ErrorIs(t, first.Extend(f.ctx), quorum.ErrNotExtended)
		f.resume(0, 1)
		time.Sleep(time.Second)
		require.NoError(t, first.Release(f.ctx))
		next := <-got
		require.Zero(t, f.count(0, wire.Pass))
		require.NoError(t, next.Keep(f.ctx, time.Hour))
		require.NoError(t, next.Release(f.ctx))
	})
}

// TestLatePass: where a pass may still arrive and shorten the time that Keep gave, the server doesn't count.
func TestLatePass(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		first, got := f.turn("k", func() <-chan *quorum.Lease { return f.waiting(f.ctx, f.Coordinator, "k") })
		f.servers[0].SetFate(only(wire.Pass, quorumtest.Fate{Before: time.Minute}))
		require.NoError(t, first.Release(f.ctx))
		next := <-got
		synctest.Wait()
		f.servers[0].SetFate(nil)
		require.Equal(t, first.Value(), next.Value())
		time.Sleep(time.Second)
		f.kill(1)
		require.ErrorIs(t, next.Keep(f.ctx, time.Hour), quorum.ErrNotExtended)
	})
}

// TestRestingHeirWakes: a waiter that pauses after a lost round gets a lease that is passed on at once.
func TestRestingHeirWakes(t *testing.T) {
	for i := range 10 {
		playNotifying(t, 5, func(f *fixture) {
			f.warm()
			held := f.acquireBy(f.other(), "k")
			var waiters []<-chan *quorum.Lease
			for range 3 {
				waiters = append(waiters, f.waiting(f.ctx, f.Coordinator, "k"))
			}
			h, err := held.HandOff(f.ctx)
			require.NoError(t, err)
			lease, err := f.Resume(f.ctx, h)
			require.NoError(t, err)
			time.Sleep(time.Duration(i) * 17 * ms)
			for _, w := range waiters {
				synctest.Wait()
				at := time.Now()
				require.NoError(t, lease.Release(f.ctx))
				lease = <-w
				require.Less(t, time.Since(at), 5*ms)
			}
			require.NoError(t, lease.Release(f.ctx))
		})
	}
}

// TestCloseWaitsForAnHeir: Close leaves no key of a lease that is being passed on, and no waiter gets it afterwards.
func TestCloseWaitsForAnHeir(t *testing.T) {
	for name, slow := range map[string]bool{"that waits": false, "in a hook": true} {
		t.Run(name, func(t *testing.T) {
			var sleeps atomic.Bool
			playNotifying(t, 3, func(f *fixture) {
				f.warm()
				f.lag(10 * ms)
				first, heir := f.turn("k", func() <-chan *quorum.Lease {
					sleeps.Store(slow)
					heir := f.waiting(f.ctx, f.Coordinator, "k")
					sleeps.Store(false)
					return heir
				})
				require.NoError(t, first.Release(f.ctx))
				require.NoError(t, f.Close(f.ctx))
				left := f.left()
				if lease := <-heir; lease != nil { // it was faster than Close, which ends no lease without a context
					require.NoError(t, lease.Err())
					require.NoError(t, lease.Release(f.ctx))
					return
				}
				require.Empty(t, left)
			}, func(cfg *quorum.Config) {
				cfg.Hooks.WaitStarted = func(context.Context, quorum.WaitStart) {
					if sleeps.Load() {
						time.Sleep(time.Second)
					}
				}
			})
		})
	}
}

// TestKeptLeaseIsNotPassedOn: what Keep has stay ends with the lease, also if the Keep arrives late.
func TestKeptLeaseIsNotPassedOn(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		first, got := f.turn("k", func() <-chan *quorum.Lease { return f.waiting(f.ctx, f.Coordinator, "k") })
		f.each(func(s *quorumtest.Server) { s.SetFate(only(wire.Extend, quorumtest.Fate{Before: time.Second})) }, 0, 1)
		ctx, cancel := context.WithCancel(f.ctx)
		kept := make(chan error)
		go func() { kept <- first.Keep(ctx, time.Hour) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-kept, context.Canceled)
		require.NoError(t, first.Release(f.ctx))
		next := <-got
		require.NotNil(t, next)
		f.each(func(s *quorumtest.Server) { s.SetFate(nil) }, 0, 1)
		time.Sleep(2 * time.Second)
		for i := range f.servers {
			require.LessOrEqual(t, f.remaining(i, "k"), f.Config().TTL)
		}
		f.giveBack(next)
	})
}
