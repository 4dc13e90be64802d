package redsync_test

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
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/redsync"
	"github.com/redquorum/redlock/quorum/adapters/redsync/redis"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// world is five servers in virtual time.
type world struct {
	t       *testing.T
	ctx     context.Context
	servers quorumtest.Servers
	began   time.Time
}

func play(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, ctx: t.Context(), servers: quorumtest.NewServers(5), began: time.Now()}
		test(w)
	})
}

// pool is a server in memory as a pool.
type pool struct {
	server *quorumtest.Server
	of     *redsync.Redsync // the process's, so that processes share nothing
}

func (p pool) Open() (wire.Instance, func() error, error) {
	return quorumtest.NotifyingServer{Server: p.server}, func() error { return nil }, nil
}

// process is what one process makes.
func (w *world) process() *redsync.Redsync {
	w.t.Helper()
	var pools []redis.Pool
	own := new(redsync.Redsync)
	for _, s := range w.servers {
		pools = append(pools, pool{s, own})
	}
	rs := redsync.New(pools...)
	require.NoError(w.t, rs.Err())
	w.t.Cleanup(func() { assert.NoError(w.t, rs.Close(context.Background())) })
	return rs
}

func (w *world) since() time.Duration { return time.Since(w.began) }

// The tests up to TestValid are redsync's own, in virtual time.

func TestMutexAlreadyLocked(t *testing.T) {
	play(t, func(w *world) {
		first, second := w.process().NewMutex("test-lock"), w.process().NewMutex("test-lock")
		require.NoError(t, first.Lock())
		err := second.TryLock()
		var taken *redsync.ErrTaken
		require.ErrorAs(t, err, &taken)
		require.GreaterOrEqual(t, len(taken.Nodes), 3)
		require.ErrorIs(t, err, quorum.ErrTaken)
		require.NotErrorIs(t, err, redsync.ErrFailed)
		require.ErrorContains(t, err, "lock already taken, locked nodes: [")
		_, bare := err.(*redsync.ErrTaken) //nolint:errorlint // programs that were written for redsync do that
		require.True(t, bare)

		ok, err := first.Unlock()
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, second.TryLock())
		require.Greater(t, second.Lease().Token(), first.Lease().Token())
		_, err = second.Unlock()
		require.NoError(t, err)
	})
}

// A mutex can be locked again and again, and not twice at once.
func TestLockedAgain(t *testing.T) {
	play(t, func(w *world) {
		mutex := w.process().NewMutex("again")
		require.NoError(t, mutex.Lock())
		value := mutex.Value()
		var taken *redsync.ErrTaken
		require.ErrorAs(t, mutex.TryLock(), &taken)
		require.ErrorAs(t, mutex.TryLockContext(mutex.Lease().Context()), &taken)
		require.Equal(t, value, mutex.Value())
		_, err := mutex.Unlock()
		require.NoError(t, err)
		require.NoError(t, mutex.Lock())
		require.NotEqual(t, value, mutex.Value())
		_, err = mutex.Unlock()
		require.NoError(t, err)
	})
}

func TestExpired(t *testing.T) {
	play(t, func(w *world) {
		mutex := w.process().NewMutex("test-mutex-extend", redsync.WithExpiry(500*ms))
		require.NoError(t, mutex.Lock())
		time.Sleep(time.Second)
		ok, err := mutex.Extend()
		require.False(t, ok)
		require.ErrorIs(t, err, redsync.ErrExtendFailed)
		require.ErrorIs(t, err, quorum.ErrExpired)
		ok, err = mutex.Valid()
		require.False(t, ok)
		require.ErrorIs(t, err, quorum.ErrExpired)
		ok, err = mutex.Unlock()
		require.False(t, ok)
		require.ErrorIs(t, err, redsync.ErrLockAlreadyExpired)
		require.ErrorIs(t, err, quorum.ErrNotHeld)
	})
}

// A goroutine works longer than the expiry. Its late Unlock doesn't free the lock that another
// goroutine has taken with the same Mutex, and no other process gets it.
func TestLateUnlockFreesNoOtherLock(t *testing.T) {
	play(t, func(w *world) {
		shared, other := w.process().NewMutex("k"), w.process().NewMutex("k")
		require.NoError(t, shared.Lock()) // goroutine 1
		time.Sleep(9 * time.Second)
		require.NoError(t, shared.Lock()) // goroutine 2
		lease := shared.Lease()
		ok, err := shared.Unlock() // goroutine 1
		require.False(t, ok)
		require.ErrorIs(t, err, redsync.ErrLockAlreadyExpired)
		require.ErrorIs(t, err, quorum.ErrNotHeld)
		require.NoError(t, lease.Err())
		var taken *redsync.ErrTaken
		require.ErrorAs(t, other.TryLock(), &taken)
		ok, err = shared.Unlock() // goroutine 2
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, other.TryLock())
		_, err = other.Unlock()
		require.NoError(t, err)

		// From then on the Mutex is as good as new, and an Unlock too many frees nothing.
		require.NoError(t, shared.Lock())
		ok, err = shared.Unlock()
		require.NoError(t, err)
		require.True(t, ok)
		ok, err = shared.Unlock()
		require.False(t, ok)
		require.ErrorIs(t, err, redsync.ErrLockAlreadyExpired)
	})
}

// A lock expires, and another goroutine takes the next one with the same Mutex. The first goroutine gets no
// answer that is about that lock, whatever it asks and when.
func TestHolderOfAnEndedLockIsToldSo(t *testing.T) {
	for name, ask := range map[string]func(m *redsync.Mutex) (bool, error){"Extend": (*redsync.Mutex).Extend, "Valid": (*redsync.Mutex).Valid} {
		for _, before := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", before the next Lock: ", before), func(t *testing.T) {
				play(t, func(w *world) {
					shared := w.process().NewMutex("k")
					require.NoError(t, shared.Lock()) // goroutine 1
					time.Sleep(9 * time.Second)
					if before {
						require.Error(t, second(ask(shared))) // goroutine 1
						require.Error(t, second(ask(shared))) // and again
					}
					require.NoError(t, shared.Lock()) // goroutine 2
					if !before {
						require.ErrorIs(t, second(ask(shared)), quorum.ErrNotHeld) // goroutine 1
					}
					require.NoError(t, second(ask(shared)))                                    // goroutine 2
					require.ErrorIs(t, second(shared.Unlock()), redsync.ErrLockAlreadyExpired) // goroutine 1
					require.NoError(t, second(ask(shared)))                                    // goroutine 2
					require.NoError(t, second(shared.Unlock()))                                // goroutine 2
				})
			})
		}
	}
}

// A program extends its lock until that is lost, and locks again without an Unlock. It works, also
// for long.
func TestLostAndLockedAgain(t *testing.T) {
	play(t, func(w *world) {
		mutex := w.process().NewMutex("k")
		for range 10 {
			require.NoError(t, mutex.Lock())
			for range 3 {
				time.Sleep(5 * time.Second)
				ok, err := mutex.Extend()
				require.NoError(t, err)
				require.True(t, ok)
			}
			time.Sleep(9 * time.Second)
			ok, err := mutex.Extend()
			require.False(t, ok)
			require.ErrorIs(t, err, redsync.ErrExtendFailed)
		}
		// An Unlock for each Lock that had none.
		require.NoError(t, mutex.TryLock())
		for range 10 {
			_, err := mutex.Unlock()
			require.ErrorIs(t, err, redsync.ErrLockAlreadyExpired)
		}
		ok, err := mutex.Unlock()
		require.NoError(t, err)
		require.True(t, ok)
	})
}

// Goroutines share a Mutex, work too long, extend and unlock late, at random times, and another process
// takes the lock in between. No lock is freed before its holder's Unlock. Whoever is told to have the
// lock is alone until then.
func TestSharedMutexAtRandom(t *testing.T) {
	for seed := range uint64(50) {
		play(t, func(w *world) {
			var mu sync.Mutex
			draw := rand.New(rand.NewPCG(seed, 0))
			beliefs := map[int]time.Time{} // by goroutine: until when it was told to have the lock
			told := func(who int, until time.Time) {
				mu.Lock()
				defer mu.Unlock()
				for other, end := range beliefs {
					assert.False(t, other != who && until.After(time.Now()) && end.After(time.Now()), "seed %d, %v: both %d and %d have the lock", seed, w.since(), who, other)
				}
				beliefs[who] = until
			}
			work := func(who int, m *redsync.Mutex) {
				// Each goroutine has milliseconds of its own, so that no two calls come at once.
				sleep := func(most int) {
					mu.Lock()
					n := time.Duration(draw.IntN(most)) * ms
					mu.Unlock()
					now := w.since()
					time.Sleep((now + n).Truncate(10*ms) + 10*ms + time.Duration(who)*ms - now)
				}
				for range 5 {
					sleep(5000)
					if m.Lock() != nil {
						continue
					}
					lease := m.Lease()
					told(who, m.Until())
					for range 4 {
						sleep(10000)
						if ok, _ := m.Extend(); !ok {
							told(who, time.Time{})
							break
						}
						told(who, m.Until())
					}
					sleep(12000)
					assert.NotErrorIs(t, lease.Err(), quorum.ErrReleased, "seed %d, %v: the lock of %d was freed", seed, w.since(), who)
					told(who, time.Time{})
					_, _ = m.Unlock()
				}
			}
			shared, other := w.process().NewMutex("k"), w.process().NewMutex("k")
			var all sync.WaitGroup
			for who := range 5 {
				all.Go(func() { work(who, []*redsync.Mutex{other, shared}[min(who, 1)]) })
			}
			all.Wait()
		})
	}
}

func TestValid(t *testing.T) {
	play(t, func(w *world) {
		mutex := w.process().NewMutex("test-shared-lock", redsync.WithExpiry(30*time.Second))
		require.NoError(t, mutex.Lock())
		ok, err := mutex.Valid()
		require.NoError(t, err)
		require.True(t, ok)
		require.Error(t, w.process().NewMutex("test-shared-lock").Lock())

		for _, s := range w.servers[:3] {
			s.Delete("test-shared-lock")
		}
		ok, err = mutex.Valid()
		require.False(t, ok)
		var taken *redsync.ErrTaken
		require.ErrorAs(t, err, &taken)
		require.ErrorIs(t, err, quorum.ErrNotHeld)

		for _, s := range w.servers[:3] {
			s.Kill()
		}
		ok, err = mutex.Valid()
		require.False(t, ok)
		var failed *redsync.RedisError
		require.ErrorAs(t, err, &failed)
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
	})
}

// Errors name the servers, by their place among the pools.
func TestServersDown(t *testing.T) {
	play(t, func(w *world) {
		mutex := w.process().NewMutex("k")
		require.NoError(t, mutex.Lock())
		for _, s := range w.servers[2:] {
			s.Kill()
		}
		ok, err := mutex.Unlock()
		require.False(t, ok)
		require.ErrorIs(t, err, quorum.ErrUnreachable)
		var failed *redsync.RedisError
		require.ErrorAs(t, err, &failed)
		require.GreaterOrEqual(t, failed.Node, 2)
		require.ErrorIs(t, failed, quorumtest.ErrConnRefused)
		require.NotErrorIs(t, err, redsync.ErrLockAlreadyExpired)

		err = mutex.TryLock()
		require.ErrorAs(t, err, &failed)
		require.GreaterOrEqual(t, failed.Node, 2)
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		var taken *redsync.ErrTaken
		require.False(t, errors.As(err, &taken))
		require.NotErrorIs(t, err, redsync.ErrFailed)
	})
}

// Lock waits as long as redsync's tries and delays would take, and takes the lock at the moment of
// its release.
func TestWaits(t *testing.T) {
	play(t, func(w *world) {
		holder, rs := w.process().NewMutex("k", redsync.WithExpiry(25*time.Second)), w.process()
		require.NoError(t, holder.Lock())
		var taken *redsync.ErrTaken
		for _, c := range []struct {
			options  []redsync.Option
			from, to time.Duration
		}{
			{nil, 31 * 50 * ms, 31*250*ms + 100*ms},
			{[]redsync.Option{redsync.WithTries(1)}, 0, 0},
			{[]redsync.Option{redsync.WithTries(4), redsync.WithRetryDelay(time.Second)}, 3 * time.Second, 3*time.Second + 100*ms},
			{[]redsync.Option{redsync.WithTries(3), redsync.WithRetryDelay(0)}, 0, time.Second},
			{[]redsync.Option{redsync.WithTries(3), redsync.WithRetryDelayFunc(func(tries int) time.Duration { return time.Duration(tries) * time.Second })}, 3 * time.Second, 3*time.Second + 100*ms},
		} {
			at := w.since()
			require.ErrorAs(t, rs.NewMutex("k", c.options...).Lock(), &taken)
			require.GreaterOrEqual(t, w.since()-at, c.from)
			require.LessOrEqual(t, w.since()-at, c.to)
		}

		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		err := rs.NewMutex("k", redsync.WithTries(1<<62)).LockContext(ctx)
		require.ErrorIs(t, err, redsync.ErrFailed)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, rs.NewMutex("k", redsync.WithTries(0)).Lock(), redsync.ErrFailed)

		waiter, locked := rs.NewMutex("k"), make(chan error, 1)
		go func() { locked <- waiter.Lock() }()
		time.Sleep(301 * ms)
		synctest.Wait()
		at := w.since()
		_, err = holder.Unlock()
		require.NoError(t, err)
		require.NoError(t, <-locked)
		// At once, or after a pause if it asked before all servers had the delete.
		require.LessOrEqual(t, w.since()-at, time.Second)
		_, err = waiter.Unlock()
		require.NoError(t, err)
	})
}

// A mutex without a lock says so, and doesn't panic.
func TestNotLocked(t *testing.T) {
	play(t, func(w *world) {
		mutex := w.process().NewMutex("k")
		require.Equal(t, "k", mutex.Name())
		require.Empty(t, mutex.Value())
		require.True(t, mutex.Until().IsZero())
		require.Nil(t, mutex.Lease())
		ok, err := mutex.Unlock()
		require.False(t, ok)
		require.ErrorIs(t, err, redsync.ErrLockAlreadyExpired)
		ok, err = mutex.Extend()
		require.False(t, ok)
		require.ErrorIs(t, err, redsync.ErrExtendFailed)
		ok, err = mutex.Valid()
		require.False(t, ok)
		var taken *redsync.ErrTaken
		require.ErrorAs(t, err, &taken)

		require.NoError(t, mutex.LockContext(nil)) //nolint:staticcheck // redsync takes it
		ok, err = mutex.UnlockContext(nil)         //nolint:staticcheck // redsync takes it
		require.NoError(t, err)
		require.True(t, ok)
		ok, err = mutex.Unlock()
		require.False(t, ok)
		require.ErrorIs(t, err, redsync.ErrLockAlreadyExpired)
		require.ErrorIs(t, err, quorum.ErrReleased)
	})
}

// What can't be honoured is refused by every call that would lock.
func TestRefusedOptions(t *testing.T) {
	play(t, func(w *world) {
		rs := w.process()
		for name, option := range map[string]redsync.Option{
			"WithDriftFactor":    redsync.WithDriftFactor(0.02),
			"WithRetryDelayFunc": redsync.WithRetryDelayFunc(nil),
			"Option":             nil,
			"WithExpiry":         redsync.WithExpiry(time.Hour),
		} {
			mutex := rs.NewMutex("k", option, redsync.WithTries(2))
			for call, err := range map[string]error{"Lock": mutex.Lock(), "TryLock": mutex.TryLock(), "Unlock": second(mutex.Unlock()), "Extend": second(mutex.Extend()), "Valid": second(mutex.Valid())} {
				var refused *redsync.OptionError
				require.ErrorAs(t, err, &refused, "%s: %s", name, call)
				require.Equal(t, name, refused.Option)
				require.ErrorIs(t, err, quorum.ErrConfig)
				require.ErrorContains(t, err, "redsync: "+name+": ")
			}
		}
		for _, option := range []redsync.Option{
			redsync.WithDriftFactor(0.01), redsync.WithDriftFactor(0), redsync.WithFailFast(true), redsync.WithFailFast(false),
			redsync.WithShufflePools(true), redsync.WithExpiry(1500*time.Millisecond + 1), redsync.OptionFunc(func(*redsync.Mutex) {}),
		} {
			mutex := rs.NewMutex("k", option)
			require.NoError(t, mutex.Lock())
			_, err := mutex.Unlock()
			require.NoError(t, err)
		}
		require.ErrorIs(t, rs.NewMutex("a{b}").Lock(), quorum.ErrConfig)
		require.ErrorIs(t, rs.NewMutex("").TryLock(), quorum.ErrConfig)
	})
}

// An expiry is the keys' TTL. One that MaxTTL or InstanceTimeout doesn't allow is refused, with what to do.
func TestExpiries(t *testing.T) {
	play(t, func(w *world) {
		rs := w.process()
		for _, expiry := range []time.Duration{165 * ms, 8 * time.Second, 30 * time.Second} {
			mutex := rs.NewMutex("k", redsync.WithExpiry(expiry))
			require.NoError(t, mutex.Lock(), expiry)
			synctest.Wait() // the first server may be one of those that weren't waited for
			_, left, _ := w.servers[0].Get("k")
			require.Equal(t, expiry, left)
			require.NoError(t, second(mutex.Unlock()))
		}
		for _, expiry := range []time.Duration{0, 100 * ms, 30*time.Second + ms, time.Hour} {
			err := rs.NewMutex("k", redsync.WithExpiry(expiry)).Lock()
			require.ErrorIs(t, err, quorum.ErrConfig)
			require.ErrorContains(t, err, "redsync: WithExpiry: "+expiry.String()+": ")
			require.ErrorContains(t, err, "give redsync.On a Coordinator")
		}
	})
}

// redsync's own program: a Lock on servers that have just been set up waits until they vote, beyond the
// time of its tries. A TryLock doesn't wait.
func TestNewServers(t *testing.T) {
	play(t, func(w *world) {
		for _, s := range w.servers {
			s.SetIdentity(func(id *wire.Identity) { id.Vouched = false })
		}
		rs := w.process()
		require.ErrorIs(t, rs.NewMutex("k").TryLock(), quorum.ErrQuarantined)
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
		defer cancel()
		err := rs.NewMutex("k").LockContext(ctx)
		require.ErrorIs(t, err, quorum.ErrQuarantined)
		require.ErrorIs(t, err, redsync.ErrFailed)
		mutex := rs.NewMutex("k")
		require.NoError(t, mutex.Lock())
		require.InDelta(t, 30, w.since().Seconds(), 3)
		require.NoError(t, second(mutex.Unlock()))
		for _, s := range w.servers[:3] {
			s.Kill()
		}
		require.ErrorIs(t, rs.NewMutex("k").Lock(), quorum.ErrNoQuorum, "and so do those that are down")
	})
}

// What New makes of the same pools shares its Coordinator, until the last one is closed.
func TestNewSharesItsCoordinator(t *testing.T) {
	play(t, func(w *world) {
		make := func(n int) *redsync.Redsync {
			var pools []redis.Pool
			for _, s := range w.servers[:n] {
				pools = append(pools, pool{server: s})
			}
			return redsync.New(pools...)
		}
		first, second, less := make(5), make(5), make(3)
		require.Same(t, first.Coordinator(), second.Coordinator())
		require.NotSame(t, first.Coordinator(), less.Coordinator())
		mutex := second.NewMutex("k")
		require.NoError(t, mutex.Lock())
		require.NoError(t, first.Close(w.ctx))
		require.NoError(t, first.Close(w.ctx), "the second call isn't another one's")
		ok, err := mutex.Unlock()
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, second.Close(w.ctx))
		require.ErrorIs(t, mutex.Lock(), quorum.ErrClosed)
		again := make(5)
		require.NotSame(t, second.Coordinator(), again.Coordinator())
		require.NoError(t, again.NewMutex("k").Lock())
		require.NoError(t, again.Close(w.ctx))
		require.NoError(t, less.Close(w.ctx))
	})
}

func second(_ bool, err error) error { return err }

// On takes a Coordinator that the program has, with what options can't say.
func TestOn(t *testing.T) {
	play(t, func(w *world) {
		locks, err := quorum.New(quorum.Config{MaxTTL: 2 * time.Hour, Lab: quorum.Lab{Drift: drift.Allowance{PPM: 20_000}}}, w.servers[0])
		require.NoError(t, err)
		rs, other := redsync.On(locks), redsync.On(locks)
		require.NoError(t, rs.Err())
		mutex := rs.NewMutex("k", redsync.WithExpiry(time.Hour), redsync.WithDriftFactor(0.02))
		require.NoError(t, mutex.Lock())
		require.Equal(t, time.Hour, mutex.Lease().Validity()+time.Hour/50)
		var taken *redsync.ErrTaken
		require.ErrorAs(t, other.NewMutex("k").TryLock(), &taken)
		require.NoError(t, other.Close(w.ctx))
		_, err = mutex.Unlock()
		require.NoError(t, err, "the Coordinator isn't On's to close")
		require.NoError(t, locks.Close(w.ctx))
		require.ErrorIs(t, mutex.Lock(), quorum.ErrClosed)
	})
}

// What is made of pools that can't be used says why, at once and in every lock.
func TestBadPools(t *testing.T) {
	broken := errors.New("broken")
	for says, rs := range map[string]*redsync.Redsync{
		"pool #0 is nil":         redsync.New(nil),
		"pool #1: broken":        redsync.New(pool{server: quorumtest.NewServer("A", nil)}, failing{broken}),
		"no instances":           redsync.New(),
		"the Coordinator is nil": redsync.On(nil),
	} {
		require.ErrorContains(t, rs.Err(), says)
		require.ErrorContains(t, rs.NewMutex("k", redsync.WithFailFast(true)).Lock(), says)
		require.Nil(t, rs.Coordinator())
		require.NoError(t, rs.Close(t.Context()))
	}
}

type failing struct{ err error }

func (f failing) Open() (wire.Instance, func() error, error) { return nil, nil, f.err }
