package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
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
	seeds := uint64(3) // with and without notifications and lost messages
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

// Close ends all waits for several keys, and leaves nothing.
func TestSeveralCloseDuringWaits(t *testing.T) {
	for after := range 12 {
		playNotifying(t, 3, func(f *fixture) {
			f.warm()
			f.travel(ms)
			holder := f.other()
			one := f.acquireBy(holder, "a")
			other := f.acquireBy(holder, "b")
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
