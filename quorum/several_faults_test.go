package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// Overlapping sets and single keys, in several processes with several goroutines each, with
// cancellations, hung servers, lost requests and answers.
func TestSeveralStress(t *testing.T) {
	seeds := uint64(5)
	if raced {
		seeds = 2
	}
	for seed := range seeds {
		for _, n := range []int{1, 3, 5} {
			t.Run(fmt.Sprintf("%d servers, seed %d", n, seed), func(t *testing.T) {
				run := playNotifying
				if seed%3 == 0 {
					run = play
				}
				run(t, n, func(f *fixture) { severalStress(t, f, seed, n) }, func(cfg *quorum.Config) {
					cfg.TTL, cfg.MaxTTL, cfg.InstanceTimeout = 2*time.Second, 3*time.Second, 50*ms
				})
			})
		}
	}
}

func severalStress(t *testing.T, f *fixture, seed uint64, n int) {
	f.warm()
	names := []string{"a", "b", "c", "d", "e"}
	var mu sync.Mutex
	holders, tokens := map[string]*quorum.Lease{}, map[string]fencing.Token{}
	enter := func(l *quorum.Lease) {
		mu.Lock()
		defer mu.Unlock()
		for _, k := range l.Keys() {
			if h := holders[k]; h != nil && h.Validity() > 0 && l.Validity() > 0 {
				assert.Fail(t, "two leases", "%q: %v and %v", k, h, l)
			}
			assert.Greater(t, l.Token(), tokens[k], "token of %q", k)
			holders[k], tokens[k] = l, l.Token()
		}
	}
	leave := func(l *quorum.Lease) {
		mu.Lock()
		defer mu.Unlock()
		for _, k := range l.Keys() {
			if holders[k] == l {
				holders[k] = nil
			}
		}
	}
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	if seed%2 == 0 {
		for i, s := range f.servers {
			r := rand.New(rand.NewPCG(seed, uint64(100+i)))
			var m sync.Mutex
			s.SetFate(func(cmd wire.Request) quorumtest.Fate {
				m.Lock()
				defer m.Unlock()
				fate := quorumtest.Fate{}
				switch x := r.IntN(100); {
				case x < 3:
					fate.End = quorumtest.LoseRequest
				case x < 6:
					fate.End = quorumtest.LoseReply
				}
				return fate
			})
		}
	}
	var group sync.WaitGroup
	wins := 0
	for p := range 4 {
		c := f.Coordinator
		if p > 0 {
			c = f.distant(time.Duration(2*p+1) * time.Microsecond * 37)
		}
		for g := range 3 {
			r := rand.New(rand.NewPCG(seed, uint64(1000+10*p+g)))
			group.Go(func() {
				for range 25 {
					var keys []string
					for _, i := range r.Perm(len(names))[:1+r.IntN(3)] {
						keys = append(keys, names[i])
					}
					ctx, cancel := context.WithTimeout(f.ctx, time.Duration(20+r.IntN(8000))*ms)
					lease, err := c.AcquireAll(ctx, keys...)
					cancel()
					if err != nil {
						if !errors.Is(err, quorum.ErrInterrupted) {
							assert.NoError(t, err)
						}
						continue
					}
					enter(lease)
					mu.Lock()
					wins++
					mu.Unlock()
					switch r.IntN(6) {
					case 0:
						lease.KeepAlive()
						time.Sleep(time.Duration(r.IntN(5000)) * ms)
					case 1:
						_ = lease.Extend(f.ctx)
					case 2:
						time.Sleep(time.Duration(r.IntN(100)) * ms)
					}
					if r.IntN(30) == 0 {
						leave(lease)
						_ = lease.Leave()
						continue
					}
					leave(lease)
					_ = lease.Release(f.ctx)
				}
			})
		}
	}
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	chaos.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(random.IntN(300)) * ms):
			}
			if n == 1 {
				continue
			}
			if i := random.IntN(n); random.IntN(2) == 0 {
				f.hang(i)
				time.Sleep(time.Duration(random.IntN(200)) * ms)
				f.resume(i)
			}
		}
	})
	group.Wait()
	close(stop)
	chaos.Wait()
	t.Log("wins", wins, f.elapsed())
	require.Positive(t, wins)
	for _, s := range f.servers {
		s.SetFate(nil)
	}
	f.requireNothingLeftWithin(time.Minute)
}

// lostLua is a server that has lost Lua: as package instance does, it answers each request about
// several keys with an error (readError in instance/batch.go).
type lostLua struct {
	wire.Instance
	lost *atomic.Bool
}

func (s lostLua) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if s.lost.Load() && len(cmd.Also) > 0 {
		to.Receive(wire.Vote{Unsent: cmd.Op != wire.Release, Err: errors.New("a lease on several keys takes a script, and this server runs none")})
		return
	}
	s.Instance.Send(cmd, timeout, to)
}

// A server that can't delete several keys must not keep the deletes of single keys from being
// sent, and its own delete must end when the keys have expired.
func TestSeveralAServerThatLostLua(t *testing.T) {
	play(t, 3, func(f *fixture) {
		instances, lost := f.instances(), new(atomic.Bool)
		instances[0] = lostLua{instances[0], lost}
		c := f.newCoordinatorOn(f.cfg, instances)
		warm, err := c.TryAcquire(f.ctx, "w")
		require.NoError(t, err)
		require.NoError(t, warm.Release(f.ctx))
		lease, err := c.TryAcquireAll(f.ctx, "a", "b")
		require.NoError(t, err)
		synctest.Wait()
		lost.Store(true)
		require.NoError(t, lease.Release(f.ctx))

		single, err := c.TryAcquire(f.ctx, "k")
		require.NoError(t, err)
		synctest.Wait()
		f.servers[0].SetFate(only(wire.Release, quorumtest.Fate{End: quorumtest.LoseRequest}))
		require.NoError(t, single.Release(f.ctx))
		time.Sleep(time.Second) // the delete has timed out, and is pending
		f.servers[0].SetFate(nil)
		time.Sleep(3 * time.Second)
		_, _, there := f.servers[0].Get("k")
		assert.False(t, there, "the delete of k is kept behind that of a and b")
		ctx, cancel := context.WithTimeout(f.ctx, time.Hour)
		defer cancel()
		assert.NoError(t, c.Settle(ctx), "the keys have expired long ago")
	})
}

// A release of several keys that notifies a process for one of them doesn't hold back this
// process's waiters for the others, which no other process wants.
func TestSeveralReleaseOfSeveralLetsInForOneKey(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.travel(ms)
		// Two keys with their queues at one server.
		a, b := "a", ""
		for i := 0; b == ""; i++ {
			if key := fmt.Sprint("b", i); f.queueServer(key) == f.queueServer(a) {
				b = key
			}
		}
		lease := f.acquireAll(a, b)
		other := f.other()
		var group sync.WaitGroup
		var got time.Time
		group.Go(func() {
			lease, err := f.Acquire(f.ctx, b)
			if assert.NoError(t, err) {
				got = time.Now()
				assert.NoError(t, lease.Release(f.ctx))
			}
		})
		group.Go(func() {
			lease, err := other.Acquire(f.ctx, a)
			if assert.NoError(t, err) {
				assert.NoError(t, lease.Release(f.ctx))
			}
		})
		time.Sleep(time.Second)
		for _, s := range f.servers { // the one with the queues answers before the release is decided
			if s != f.queueServer(a) {
				s.SetFate(only(wire.Release, quorumtest.Fate{Before: 3 * ms, After: 3 * ms}))
			}
		}
		at := time.Now()
		require.NoError(t, lease.Release(f.ctx))
		group.Wait()
		assert.Less(t, got.Sub(at), time.Second, "nobody else wants %q, and it is free", b)
	}, patient)
}

// What a hook or a caller does to the keys of an event, an error or a lease changes no lease.
func TestSeveralKeysOfEventsAreCopies(t *testing.T) {
	spoil := func(keys []string) {
		for i := range keys {
			keys[i] = "spoilt"
		}
	}
	for name, hook := range map[string]func(*quorum.Hooks){
		"RoundStarted": func(h *quorum.Hooks) {
			h.RoundStarted = func(_ context.Context, e quorum.RoundStart) { spoil(e.Also) }
		},
		"RoundDecided": func(h *quorum.Hooks) {
			h.RoundDecided = func(_ context.Context, e quorum.RoundEnd) { spoil(e.Also) }
		},
		"Acquired": func(h *quorum.Hooks) {
			h.Acquired = func(_ context.Context, e quorum.LeaseEvent) { spoil(e.Also) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, func(f *fixture) {
				f.warm()
				lease := f.acquireAll("a", "b", "c")
				synctest.Wait()
				assert.Equal(t, []string{"a", "b", "c"}, lease.Keys())
				assert.NoError(t, lease.Release(f.ctx))
				synctest.Wait()
				assert.Empty(t, f.left(), "keys that no delete names")
			}, func(cfg *quorum.Config) { hook(&cfg.Hooks) })
		})
	}
	t.Run("an error", func(t *testing.T) {
		playNotifying(t, 3, func(f *fixture) {
			f.warm()
			lease := f.acquireAll("a", "b", "c")
			synctest.Wait()
			f.hang()
			err := lease.Extend(f.ctx)
			var round *quorum.RoundError
			require.ErrorAs(t, err, &round)
			spoil(round.Also)
			f.resume()
			assert.NoError(t, lease.Release(f.ctx))
			time.Sleep(time.Second)
			assert.Empty(t, f.left(), "keys that no delete names")
		})
	})
}

// A hook that panics leaves nothing behind, and no waiter waits for what it left.
func TestSeveralHooksThatPanic(t *testing.T) {
	for name, hook := range map[string]func(*quorum.Hooks, func()){
		"RoundStarted": func(h *quorum.Hooks, do func()) {
			h.RoundStarted = func(context.Context, quorum.RoundStart) { do() }
		},
		"RoundDecided": func(h *quorum.Hooks, do func()) {
			h.RoundDecided = func(context.Context, quorum.RoundEnd) { do() }
		},
		"Acquired": func(h *quorum.Hooks, do func()) {
			h.Acquired = func(context.Context, quorum.LeaseEvent) { do() }
		},
	} {
		for at := 1; at <= 4; at++ {
			t.Run(fmt.Sprint(name, at), func(t *testing.T) {
				n, armed := 0, false
				playNotifying(t, 3, func(f *fixture) {
					f.warm()
					f.travel(ms)
					holder := f.other(func(cfg *quorum.Config) { cfg.Hooks = quorum.Hooks{} })
					one, err := holder.TryAcquire(f.ctx, "a")
					require.NoError(t, err)
					other, err := holder.TryAcquire(f.ctx, "b")
					require.NoError(t, err)
					armed = true
					var group sync.WaitGroup
					for range 3 {
						group.Go(func() {
							defer func() { _ = recover() }()
							lease, err := f.AcquireAll(f.ctx, "a", "b")
							if assert.NoError(t, err) {
								assert.NoError(t, lease.Release(f.ctx))
							}
						})
					}
					time.Sleep(time.Second)
					assert.NoError(t, one.Release(f.ctx))
					time.Sleep(time.Second)
					assert.NoError(t, other.Release(f.ctx))
					at := time.Now()
					group.Wait()
					assert.Less(t, time.Since(at), time.Second)
					f.requireNothingLeft()
				}, patient, func(cfg *quorum.Config) {
					hook(&cfg.Hooks, func() {
						if armed {
							if n++; n == at {
								panic("hook")
							}
						}
					})
				})
			})
		}
	}
}

// Close ends all waits for several keys, and leaves nothing.
func TestSeveralCloseDuringWaits(t *testing.T) {
	for after := range 12 {
		playNotifying(t, 3, func(f *fixture) {
			f.warm()
			f.travel(ms)
			holder := f.other()
			one, err := holder.TryAcquire(f.ctx, "a")
			require.NoError(t, err)
			other, err := holder.TryAcquire(f.ctx, "b")
			require.NoError(t, err)
			var group sync.WaitGroup
			for range 5 {
				group.Go(func() {
					lease, err := f.AcquireAll(f.ctx, "a", "b", "c")
					if err != nil {
						assert.ErrorIs(t, err, quorum.ErrClosed)
						return
					}
					_ = lease.Release(f.ctx)
				})
			}
			time.Sleep(time.Second)
			require.NoError(t, one.Release(f.ctx))
			time.Sleep(time.Duration(after) * 500 * time.Microsecond)
			group.Go(func() { _ = other.Release(f.ctx) })
			time.Sleep(time.Duration(after%3) * 700 * time.Microsecond)
			require.NoError(t, f.Close(f.ctx))
			group.Wait()
			f.requireNothingLeft()
		}, patient)
	}
}

// AcquireAny gets a key that is free, also if a round takes longer than BackoffMax. Acquire does.
func TestAnyWithSlowServers(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.travel(10 * ms)
		holder := f.other()
		one, err := holder.TryAcquire(f.ctx, "a")
		require.NoError(t, err)
		other, err := holder.TryAcquire(f.ctx, "b")
		require.NoError(t, err)
		var group sync.WaitGroup
		var got time.Time
		group.Go(func() {
			ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
			defer cancel()
			lease, err := f.AcquireAny(ctx, "a", "b")
			if assert.NoError(t, err) {
				got = time.Now()
				assert.NoError(t, lease.Release(f.ctx))
			}
		})
		time.Sleep(time.Second)
		at := time.Now()
		require.NoError(t, one.Release(f.ctx))
		require.NoError(t, other.Release(f.ctx))
		group.Wait()
		assert.Less(t, got.Sub(at), time.Second)
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) {
		cfg.BackoffMin, cfg.BackoffMax = 5*ms, 15*ms
		cfg.TTL, cfg.MaxTTL = time.Hour, time.Hour
	})
}

// Callers on several goroutines append to the keys of an event, as one does to have all of them in
// one slice: append(e.Also, e.Key). They must not write to the same memory. (Run with -race.)
func TestSeveralKeysOfEventsHaveNoRoom(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		lease := f.acquireAll("a", "b", "c")
		synctest.Wait()
		f.hang()
		err := lease.Extend(f.ctx)
		var round *quorum.RoundError
		require.ErrorAs(t, err, &round)
		one, other := append(round.Also, "one"), append(round.Also, "other")
		assert.Equal(t, []string{"b", "c", "one"}, one)
		assert.Equal(t, []string{"b", "c", "other"}, other)
		f.resume()
		require.NoError(t, lease.Release(f.ctx))
	})
}
