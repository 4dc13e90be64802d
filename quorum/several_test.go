package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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

// counter is a key's counter on each server.
func (f *fixture) counter(key string) []fencing.Token {
	var all []fencing.Token
	for _, s := range f.servers {
		all = append(all, s.Counter(key))
	}
	return all
}

// A lease on several keys has one value and one token, and keeps everybody from each of them.
func TestOneLeaseOnSeveralKeys(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		lease, err := f.AcquireAll(f.ctx, "c", "a", "b")
		require.NoError(t, err)
		synctest.Wait()
		for i := range f.servers {
			assert.Equal(t, 1, f.count(i, wire.Acquire)-1, "one request for all, after the one of warm")
		}
		assert.Equal(t, []string{"a", "b", "c"}, lease.Keys())
		assert.Equal(t, "a", lease.Key())
		assert.Contains(t, lease.String(), `lease on "a", "b", "c", token `)
		for _, key := range lease.Keys() {
			for i, s := range f.servers {
				value, left, ok := s.Get(key)
				require.True(t, ok)
				assert.Equal(t, lease.Value(), value)
				assert.Positive(t, left)
				assert.Equal(t, lease.Token(), f.counter(key)[i])
			}
			f.tryFailsBy(f.other(), key, quorum.ErrTaken)
			assert.True(t, f.inspect(key).Held() != nil)
		}
		assert.Equal(t, []string{"A", "B", "C"}, lease.Instances())
		require.NoError(t, lease.Extend(f.ctx))
		f.giveBack(lease)
		assert.Equal(t, []string{"k"}, f.acquire("k").Keys())
	})
}

// Where one of the keys is taken nothing stays set.
func TestAllKeysOrNone(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.occupy("b", time.Minute)
		_, err := f.TryAcquireAll(f.ctx, "a", "b", "c")
		require.ErrorIs(t, err, quorum.ErrTaken)
		var round *quorum.RoundError
		require.ErrorAs(t, err, &round)
		assert.Equal(t, "a", round.Key)
		assert.Equal(t, []string{"b", "c"}, round.Also)
		require.NotNil(t, round.Holder)
		assert.Equal(t, "b", round.Holder.Key)
		assert.True(t, round.Holder.Held)
		assert.Equal(t, time.Minute, round.Holder.Remaining)
		assert.Contains(t, err.Error(), `(acquire "a", "b", "c": `)
		assert.Contains(t, err.Error(), `: "b" is held by another client, whose lease ends in 1m0s`)
		f.requireNothingLeft()
		for i := range f.servers {
			assert.Zero(t, f.count(i, wire.Release)-1, "there is nothing to delete")
		}
	})
}

// A key that is taken on one server costs that server's vote, and none is left half set there.
func TestOneServerLacksOneKey(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.occupy("b", time.Minute, 2)
		lease := f.acquireBy(f.Coordinator, "a", "b")
		synctest.Wait()
		assert.Equal(t, []string{"A", "B"}, lease.Instances())
		_, _, ok := f.servers[2].Get("a")
		assert.False(t, ok)
		f.servers[2].Delete("b")
		require.NoError(t, lease.Extend(f.ctx), "which puts the lease back")
		synctest.Wait()
		assert.Equal(t, []string{"A", "B", "C"}, lease.Instances())
		for _, key := range []string{"a", "b"} {
			value, _, _ := f.servers[2].Get(key)
			assert.Equal(t, lease.Value(), value, key)
			assert.Equal(t, lease.Token(), f.servers[2].Counter(key), key)
		}
		f.giveBack(lease)
	})
}

// The token is above that of each earlier lease on any of the keys, and below each later one,
// whatever the counters are.
func TestOneTokenOrdersAllKeys(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		start := fencing.Token(time.Now().UnixMicro())
		for i, s := range f.servers {
			s.PutCounter("a", start+fencing.Token(i))
			s.PutCounter("b", start+fencing.Token(100-10*i))
			s.PutCounter("c", start+fencing.Token(50*i))
		}
		lease := f.acquireBy(f.Coordinator, "a", "b", "c")
		synctest.Wait()
		assert.Equal(t, start+101, lease.Token(), "the largest of all counters, and one more")
		for _, key := range lease.Keys() {
			assert.Equal(t, []fencing.Token{start + 101, start + 101, start + 101}, f.counter(key), key)
		}
		require.NoError(t, lease.Release(f.ctx))
		for _, key := range []string{"a", "b", "c"} {
			next := f.acquire(key)
			assert.Equal(t, start+102, next.Token())
			require.NoError(t, next.Release(f.ctx))
		}
		last := f.acquireBy(f.Coordinator, "a", "c")
		assert.Equal(t, start+103, last.Token())
		f.giveBack(last)
	})
}

func TestKeysThatCannotBeLockedTogether(t *testing.T) {
	play(t, 3, func(f *fixture) {
		many := strings.Split(strings.Repeat("x", wire.MaxKeys+1), "")
		for i := range many {
			many[i] = fmt.Sprint(i)
		}
		for name, c := range map[string]struct {
			keys []string
			says string
		}{
			"none":     {nil, "no keys"},
			"too many": {many, "17 keys, at most 16 are allowed"},
			"twice":    {[]string{"a", "b", "a"}, `"a" is given twice`},
			"braces":   {[]string{"a", "{b}"}, "braces are not allowed"},
			"empty":    {[]string{"a", ""}, "the key is empty"},
			"long":     {[]string{"a", strings.Repeat("b", 1025)}, "1025 bytes"},
		} {
			before := len(f.log(0))
			ctx, cancel := context.WithTimeout(f.ctx, time.Minute) // keys that aren't refused may be waited for
			defer cancel()
			_, err := f.AcquireAll(ctx, c.keys...)
			require.ErrorIs(f.t, err, quorum.ErrConfig, name)
			assert.Contains(f.t, err.Error(), c.says)
			_, err = f.TryAcquireAll(ctx, c.keys...)
			require.ErrorIs(f.t, err, quorum.ErrConfig, name)
			err = f.DoAll(ctx, c.keys, func(context.Context, *quorum.Lease) error { panic("it has no lease") })
			require.ErrorIs(f.t, err, quorum.ErrConfig, name)
			assert.Len(f.t, f.log(0), before, "nothing was asked")
		}
		keys := slices.Clone(many[:wire.MaxKeys])
		lease := f.acquireBy(f.Coordinator, keys...)
		assert.Len(t, lease.Keys(), wire.MaxKeys)
		assert.Equal(t, many[:wire.MaxKeys], keys, "the caller's slice stays as it is")
		require.NoError(t, lease.Release(f.ctx))
		one := f.acquireBy(f.Coordinator, "a")
		assert.Equal(t, []string{"a"}, one.Keys())
		require.NoError(t, one.Release(f.ctx))
		ended, cancel := context.WithCancel(f.ctx)
		cancel()
		_, err := f.AcquireAll(ended, "b", "a")
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		assert.Contains(t, err.Error(), `"a", "b"`)
		f.requireNothingLeft()
	})
}

// A holder of one of the keys would wait for itself.
func TestSeveralKeysOfWhichTheCallerHasOne(t *testing.T) {
	play(t, 3, func(f *fixture) {
		err := f.DoAll(f.ctx, []string{"b", "a"}, func(ctx context.Context, lease *quorum.Lease) error {
			token, ok := fencing.FromContext(ctx)
			assert.True(t, ok)
			assert.Equal(t, lease.Token(), token)
			for _, key := range []string{"a", "b"} {
				_, err := f.Acquire(ctx, key)
				require.ErrorIs(t, err, quorum.ErrHeldByCaller)
				_, err = f.TryAcquireAll(ctx, key, "c")
				require.ErrorIs(t, err, quorum.ErrHeldByCaller)
				_, err = f.TryAcquireAll(ctx, key, "0")
				require.ErrorIs(t, err, quorum.ErrHeldByCaller)
				assert.Contains(t, err.Error(), fmt.Sprintf("%q", key))
			}
			_, err := lease.HandOff(ctx)
			require.ErrorIs(t, err, quorum.ErrConfig)
			assert.Contains(t, err.Error(), "can't be handed off")
			require.NoError(t, lease.Err(), "it is still held")
			return f.DoAll(ctx, []string{"c", "d"}, func(context.Context, *quorum.Lease) error { return nil })
		})
		require.NoError(t, err)
		f.requireNothingLeft()
	})
}

// An instance that has lost any of the keys doesn't count for an extension. If a quorum has, the
// lease is lost, and what is left of it is deleted.
func TestSeveralKeysOfWhichOneIsLost(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		lease := f.acquireBy(f.Coordinator, "a", "b")
		synctest.Wait()
		f.servers[0].Delete("b")
		time.Sleep(time.Second)
		require.NoError(t, lease.Extend(f.ctx))
		synctest.Wait()
		assert.Equal(t, []string{"A", "B", "C"}, lease.Instances(), "it was put back")
		for _, key := range lease.Keys() {
			assert.Equal(t, 10*time.Second, f.remaining(0, key), "each key has the whole TTL")
		}

		f.servers[0].Delete("a")
		f.occupy("b", time.Minute, 1)
		f.lag(0)
		err := lease.Extend(f.ctx)
		require.ErrorIs(t, err, quorum.ErrLost)
		require.ErrorIs(t, lease.Err(), quorum.ErrLost)
		require.ErrorIs(t, lease.Release(f.ctx), quorum.ErrNotHeld)
		f.requireNothingLeft()
	})
}

// A set of keys is waited for at the key that is in the way. The waiter has the lock as soon as
// that is released.
func TestSeveralKeysAreWaitedForOneByOne(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.travel(ms)
		holder := f.other()
		one := f.acquireBy(holder, "b")
		other := f.acquireBy(holder, "c")
		var group sync.WaitGroup
		var got time.Time
		group.Go(func() {
			lease, err := f.AcquireAll(f.ctx, "c", "b", "a")
			if assert.NoError(t, err) {
				got = time.Now()
				assert.NoError(t, lease.Release(f.ctx))
			}
		})
		time.Sleep(time.Second)
		assert.Len(t, f.queueServer("b").Waiting("b"), 1)
		assert.Empty(t, f.queueServer("c").Waiting("c"))
		require.NoError(t, one.Release(f.ctx))
		time.Sleep(time.Second)
		assert.Empty(t, f.queueServer("b").Waiting("b"))
		assert.Len(t, f.queueServer("c").Waiting("c"), 1)
		at := time.Now()
		require.NoError(t, other.Release(f.ctx))
		group.Wait()
		assert.Less(t, got.Sub(at), 20*ms)
		f.requireNothingLeft()
	}, patient)
}

// A waiter that was notified of one key, and finds another one taken, passes the notification on.
func TestANotificationIsPassedOnByAWaiterForSeveral(t *testing.T) {
	for _, where := range []string{"another process", "this process"} {
		t.Run(where, func(t *testing.T) {
			playNotifying(t, 3, func(f *fixture) {
				f.warm()
				f.travel(ms)
				holder := f.other()
				one := f.acquireBy(holder, "a")
				other := f.acquireBy(holder, "b")
				var group sync.WaitGroup
				group.Go(func() {
					lease, err := f.AcquireAll(f.ctx, "a", "b")
					if assert.NoError(t, err) {
						assert.NoError(t, lease.Release(f.ctx))
					}
				})
				time.Sleep(time.Second)
				narrow := f.Coordinator
				if where == "another process" {
					narrow = f.other()
				}
				var got time.Time
				group.Go(func() {
					lease, err := narrow.Acquire(f.ctx, "a")
					if assert.NoError(t, err) {
						got = time.Now()
						assert.NoError(t, lease.Release(f.ctx))
					}
				})
				time.Sleep(time.Second)
				at := time.Now()
				require.NoError(t, one.Release(f.ctx))
				time.Sleep(time.Second)
				require.NoError(t, other.Release(f.ctx))
				group.Wait()
				assert.Less(t, got.Sub(at), 50*ms, "the next waiter is notified")
				assert.True(t, got.After(at))
				f.requireNothingLeft()
			}, patient)
		})
	}
}

// The release of several keys notifies other processes of each, although waiters of this one go on with one of
// them.
func TestReleaseOfSeveralLetsOthersIn(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.travel(ms)
		first := f.acquireBy(f.other(), "a")
		var group sync.WaitGroup
		held := make(chan *quorum.Lease)
		wait := func(c *quorum.Coordinator, then func(*quorum.Lease), keys ...string) {
			group.Go(func() {
				lease, err := c.AcquireAll(f.ctx, keys...)
				if assert.NoError(t, err) {
					then(lease)
				}
			})
			time.Sleep(100 * ms)
		}
		release := func(lease *quorum.Lease) { assert.NoError(t, lease.Release(f.ctx)) }
		wait(f.Coordinator, func(lease *quorum.Lease) { held <- lease }, "a", "b")
		wait(f.Coordinator, release, "a")
		wait(f.Coordinator, release, "a")
		require.NoError(t, first.Release(f.ctx))
		lease := <-held
		var got time.Time
		wait(f.other(), func(lease *quorum.Lease) { got = time.Now(); release(lease) }, "b")
		at := time.Now()
		release(lease)
		group.Wait()
		assert.Less(t, got.Sub(at), 50*ms)
		f.requireNothingLeft()
	}, patient)
}

// A waiter for other keys than the last lease had has a round of its own, with tokens and without.
func TestWaitersForOtherKeysHaveRoundsOfTheirOwn(t *testing.T) {
	for name, keys := range map[string][2][]string{
		"one of several": {{"a", "b"}, {"a"}},
		"several of one": {{"a"}, {"a", "b"}},
		"the same":       {{"a", "b"}, {"a", "b"}},
	} {
		for _, fencing := range []quorum.Switch{quorum.On, quorum.Off} {
			t.Run(fmt.Sprint(name, ", fencing ", fencing), func(t *testing.T) {
				playNotifying(t, 3, func(f *fixture) {
					f.warm()
					f.travel(ms)
					holder := f.acquireBy(f.other(), "a", "b")
					// Two wait while another process has the locks, so this one has two turns.
					var group sync.WaitGroup
					values := make([]string, 2)
					for i, keys := range keys {
						group.Go(func() {
							lease, err := f.AcquireAll(f.ctx, keys...)
							if assert.NoError(t, err) {
								values[i] = lease.Value()
								assert.Equal(t, keys, lease.Keys())
								assert.NoError(t, lease.Release(f.ctx))
							}
						})
						time.Sleep(time.Second)
					}
					at := time.Now()
					require.NoError(t, holder.Release(f.ctx))
					group.Wait()
					assert.Less(t, time.Since(at), 100*ms)
					assert.NotEqual(t, values[0], values[1], "each by a round of its own")
					f.requireNothingLeft()
				}, patient, func(cfg *quorum.Config) { cfg.Lab.Fencing = fencing })
			})
		}
	}
}

// Clients that name the same keys in different orders, or sets that overlap in a ring, never wait
// for each other forever. Each key is used by one of them at a time.
func TestNobodyWaitsInARing(t *testing.T) {
	for _, notifies := range []bool{true, false} {
		t.Run(fmt.Sprint("notified ", notifies), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := makeFixture(t, 3, fixture{notifies: notifies}, func(cfg *quorum.Config) { cfg.Lab.BackoffMax = 100 * ms })
				f.warm()
				f.travel(ms)
				var group sync.WaitGroup
				var mu sync.Mutex
				users, last := map[string]int{}, map[string]fencing.Token{}
				use := func(lease *quorum.Lease, by int) {
					mu.Lock()
					defer mu.Unlock()
					for _, key := range lease.Keys() {
						assert.Zero(t, users[key], "%q is used by two", key)
						assert.Greater(t, lease.Token(), last[key])
						users[key], last[key] = by, lease.Token()
					}
				}
				for i, keys := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c"}, {"c", "a"}, {"a", "b"}, {"b"}, {"a", "d"}} {
					c := f.Coordinator
					if i%2 == 0 {
						c = f.other()
					}
					group.Go(func() {
						for range 5 {
							lease, err := c.AcquireAll(f.ctx, keys...)
							if !assert.NoError(t, err) {
								return
							}
							use(lease, i+1)
							time.Sleep(time.Duration(1+i) * ms)
							mu.Lock()
							for _, key := range lease.Keys() {
								users[key] = 0
							}
							mu.Unlock()
							assert.NoError(t, lease.Release(f.ctx))
						}
					})
				}
				group.Wait()
				assert.Less(t, f.elapsed(), 10*time.Second)
				f.requireNothingLeft()
			})
		})
	}
}

// The library's own hooks name all keys.
func TestHooksNameAllKeys(t *testing.T) {
	var also [][]string
	play(t, 3, func(f *fixture) {
		lease := f.acquireBy(f.Coordinator, "a", "b")
		require.NoError(t, lease.Extend(f.ctx))
		f.giveBack(lease)
	}, func(cfg *quorum.Config) {
		cfg.Hooks = quorum.Hooks{
			RoundStarted: func(_ context.Context, e quorum.RoundStart) { also = append(also, e.Also) },
			RoundDecided: func(_ context.Context, e quorum.RoundEnd) { also = append(also, e.Also) },
			Acquired:     func(_ context.Context, e quorum.LeaseEvent) { also = append(also, e.Also) },
			Extended:     func(_ context.Context, e quorum.LeaseEvent) { also = append(also, e.Also) },
			Released:     func(_ context.Context, e quorum.LeaseEvent) { also = append(also, e.Also) },
		}
	})
	require.Len(t, also, 7)
	for _, keys := range also {
		assert.Equal(t, []string{"b"}, keys)
	}
}

// oneKey is an instance that doesn't know that a request may be about several keys.
type oneKey struct{ wire.Instance }

func (i oneKey) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	cmd.Keys = cmd.Keys[:min(1, len(cmd.Keys))]
	i.Instance.Send(cmd, timeout, to)
}

// An instance that knows one key of several grants nothing.
func TestAGrantOfOneKeyIsNoneOfSeveral(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		instances := f.instances()
		for i := range instances {
			instances[i] = oneKey{instances[i]}
		}
		c := f.newCoordinatorOn(f.cfg, instances)
		_, err := c.AcquireAll(f.ctx, "a", "b") // it doesn't wait in vain
		require.ErrorIs(t, err, quorum.ErrConfig)
		assert.Zero(t, f.elapsed())
		assert.Contains(t, err.Error(), "it granted 0 keys of 2; the Instance must grant all of wire.Request.Keys")
		f.requireNothingLeft()
		lease := f.awaitBy(c, "a")
		f.giveBack(lease)
	})
}

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
	t.Run("events", func(t *testing.T) {
		play(t, 3, func(f *fixture) {
			f.warm()
			lease := f.acquireBy(f.Coordinator, "a", "b", "c")
			synctest.Wait()
			assert.Equal(t, []string{"a", "b", "c"}, lease.Keys())
			assert.NoError(t, lease.Release(f.ctx))
			synctest.Wait()
			assert.Empty(t, f.left(), "keys that no delete names")
		}, func(cfg *quorum.Config) {
			cfg.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) { spoil(e.Also) }
			cfg.Hooks.RoundDecided = func(_ context.Context, e quorum.RoundEnd) { spoil(e.Also) }
			cfg.Hooks.Acquired = func(_ context.Context, e quorum.LeaseEvent) { spoil(e.Also) }
		})
	})
	t.Run("an error", func(t *testing.T) {
		playNotifying(t, 3, func(f *fixture) {
			f.warm()
			lease := f.acquireBy(f.Coordinator, "a", "b", "c")
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
