package quorum_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// Each test here repeats a failure seen in another lock library. The library and, as far as known,
// its version are named.

// redsync v4.13: with one of three servers stopped, Lock took 10.0 s and failed. Extend took 5.0 s
// and failed though a quorum had extended. rslock and node-redlock have no timeout for an instance
// at all.
func TestStoppedServerDoesNotSlowTheLock(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.lag(ms)
		f.hang(1)
		took := func(call func() error) {
			f.t.Helper()
			began := time.Now()
			require.NoError(f.t, call())
			assert.Equal(f.t, ms, time.Since(began))
		}
		var lease *quorum.Lease
		took(func() (err error) { lease, err = f.TryAcquire(f.ctx, "k"); return err })
		time.Sleep(time.Second)
		took(func() error { return lease.Extend(f.ctx) })
		assert.Equal(f.t, 9897*ms, lease.Validity())
		took(func() error { return lease.Release(f.ctx) })
		f.resume()
		f.requireNothingLeft()
	})
}

// redsync v4: all tries of a Lock share one value, so a late rollback of one try deletes the next
// try's key: two holders.
func TestLateDeleteOfOneTryDoesNotFreeTheNext(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		// The first try is lost: A grants, and B and C are taken for 20 ms. Its delete on A is
		// carried out, but arrives a second time later.
		f.occupy("k", 20*ms, 1, 2)
		var first wire.Request
		f.servers[0].OnCommand(func(cmd wire.Request) {
			if cmd.Op == wire.Release && first.Op == 0 {
				first = cmd
			}
		})
		lease := f.await("k")
		require.Equal(f.t, wire.Release, first.Op)
		require.NotEqual(f.t, lease.Value(), first.Value)
		for _, s := range f.servers {
			s.Do(f.ctx, first)
		}
		synctest.Wait()
		f.tryFailsBy(f.other(), "k", quorum.ErrTaken)
		assert.Len(f.t, f.left(), 3)
		f.giveBack(lease)
	})
}

// redsync v4: after a lost round with 3 of 5 stopped, all three wake up with the abandoned key for
// its whole TTL.
func TestServersThatWakeUpHaveNoDeadKeys(t *testing.T) {
	for _, asleep := range []time.Duration{200 * ms, 5 * time.Second, time.Minute} {
		play(t, 5, func(f *fixture) {
			f.warm()
			f.hang(0, 2, 4)
			_, err := f.Acquire(f.ctx, "k") // many rounds, many abandoned keys
			requireWaitError(f.t, err, quorum.ErrExhausted)
			assert.Equal(f.t, asleep, f.elapsed(), "also during a round")
			f.resume()
			f.requireNothingLeftWithin(time.Second)
		}, func(cfg *quorum.Config) { cfg.MaxWait = asleep })
	}
}

// rueidislock: with one key and four processes waiters missed their wake-up, one for over four
// minutes; a stall of 100 ms left one asleep forever.
func TestNoWaiterIsForgotten(t *testing.T) {
	play(t, 3, func(f *fixture) {
		var group sync.WaitGroup
		served := make([]int, 4)
		for i := range served {
			c := f.other()
			for range 3 {
				var mu sync.Mutex
				group.Go(func() {
					for range 20 {
						lease, err := c.Acquire(f.ctx, "k")
						if !assert.NoError(f.t, err) {
							return
						}
						mu.Lock()
						served[i]++
						mu.Unlock()
						time.Sleep(3 * ms)
						assert.NoError(f.t, lease.Release(f.ctx))
					}
				})
			}
		}
		for range 5 { // stalls of all servers, longer than a timeout
			time.Sleep(300 * ms)
			f.hang()
			time.Sleep(80 * ms)
			f.resume()
		}
		group.Wait()
		assert.Less(f.t, f.elapsed(), time.Minute)
		f.requireNothingLeft()
	})
}
