package quorum_test

import (
	"context"
	"fmt"
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

// A thousand leases taken at the same moment aren't extended at the same moment: neither the first
// time, nor after failing together.
func TestKeepAlivesAreSpread(t *testing.T) {
	const leases = 1000
	play(t, 1, func(f *fixture) {
		held := make([]*quorum.Lease, leases)
		for i := range held {
			held[i] = f.acquire(fmt.Sprint("k", i))
		}
		for _, lease := range held {
			lease.KeepAlive()
		}
		perSlot := func(part time.Duration) (most int) {
			before := f.count(0, wire.Extend)
			for slot := part / 20; part > 0; part -= slot {
				time.Sleep(slot)
				synctest.Wait()
				now := f.count(0, wire.Extend)
				most, before = max(most, now-before), now
			}
			return most
		}
		time.Sleep(fullValidity / 6)
		most := perSlot(fullValidity / 6)
		require.GreaterOrEqual(t, f.count(0, wire.Extend), leases)
		assert.Less(t, most, 2*leases/20, "extensions in a twentieth of their interval")

		f.servers[0].FailWith(quorumtest.ErrConnReset)
		time.Sleep(fullValidity / 3)
		f.servers[0].SetFate(nil)
		most = perSlot(fullValidity / 6)
		assert.Less(t, most, 3*leases/20, "and after an outage")
		for _, lease := range held {
			require.NoError(t, lease.Release(f.ctx))
		}
	}, func(c *quorum.Config) { c.Lab.MaxInFlight = 2 * leases })
}

// Answers later than InstanceTimeout count while there is time, because a late server has extended
// the lease all the same.
func TestLateExtensionsCount(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		lease.KeepAlive()
		f.lag(300 * ms) // three times the timeout
		time.Sleep(3 * fullValidity)
		require.NoError(t, lease.Err())
		require.Less(t, f.count(0, wire.Extend), 3*6+1, "each counted, and none was repeated")
		f.each(func(s *quorumtest.Server) { s.Delay(nil, nil) })
		time.Sleep(300 * ms) // an extension may be in progress
		require.NoError(t, lease.Release(f.ctx))

		// But Extend returns after InstanceTimeout.
		lease = f.acquire("by hand")
		f.lag(300 * ms)
		at := time.Now()
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrNotExtended)
		require.Equal(t, 100*ms, time.Since(at))
	})
}

// A failed extension isn't repeated while its requests may be in flight, except right before the
// deadline: repeating adds load to servers that can't keep up.
func TestFailedExtensionsAreNotRepeatedAtOnce(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		f.each(func(s *quorumtest.Server) { s.FailWith(quorumtest.ErrConnReset) }, 0, 1)
		lease.KeepAlive()
		tries := func() int { return f.count(2, wire.Extend) }
		const timeout = 100 * ms // by default, with this TTL
		last, before := time.Now(), 0
		for lease.Validity() > 2*timeout {
			time.Sleep(ms)
			synctest.Wait()
			if now := tries(); now != before {
				require.Equal(t, before+1, now)
				require.GreaterOrEqual(t, time.Since(last), timeout-ms)
				last, before = time.Now(), now
			}
		}
		assert.Greater(t, before, 5, "it keeps trying")
		<-lease.Done()
		assert.Greater(t, tries(), before, "until the end")
	})
}

func TestKeepAliveGivesUpAtTheDeadlineAndNotAfter(t *testing.T) {
	for name, fail := range map[string]func(s *quorumtest.Server){
		"hung": (*quorumtest.Server).Hang,
		"down": (*quorumtest.Server).Kill,
		"lost": func(s *quorumtest.Server) { s.EndWith(quorumtest.LoseReply) },
		"busy": func(s *quorumtest.Server) { s.FailWith(quorumtest.ErrConnReset) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				lease.KeepAlive()
				ctx := lease.Context()
				synctest.Wait()
				f.each(fail, 0, 1, 2)
				<-ctx.Done()
				assert.Equal(t, fullValidity, f.elapsed())
				assert.ErrorIs(t, context.Cause(ctx), quorum.ErrExpired)
				assert.Greater(t, f.count(4, wire.Extend), 5, "it tried until then")
				assert.Less(t, f.count(4, wire.Extend), 200, "with a pause in between")
				at := time.Now()
				require.NoError(t, f.Settle(f.ctx))
				assert.LessOrEqual(t, time.Since(at), 100*ms, "its goroutines have ended")
			})
		})
	}
}

func TestKeepAliveEndsAtOnceWhenTheKeysAreGone(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		lease.KeepAlive()
		ctx := lease.Context()
		synctest.Wait()
		time.Sleep(time.Second)
		f.each((*quorumtest.Server).FlushAll)
		<-ctx.Done()
		assert.LessOrEqual(t, f.elapsed(), fullValidity/3, "told at the next extension")
		assert.ErrorIs(t, context.Cause(ctx), quorum.ErrLost)
		assert.NotErrorIs(t, context.Cause(ctx), quorum.ErrExpired)
		require.NoError(t, f.Settle(f.ctx))
		assert.Empty(t, f.left(), "and not revived")
	})
}

// MaxLife counts from the acquisition, also while the keeper has to wait for the holder's own
// extension.
func TestMaxLifeCountsTheWaitInTheQueue(t *testing.T) {
	const maxLife = 10 * time.Second
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		lease.KeepAlive()
		synctest.Wait()
		time.Sleep(fullValidity/3 - 11*ms)
		f.hang(0, 1, 2)
		// It lasts an InstanceTimeout. The keeper wants to extend meanwhile, after a third.
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrNotExtended)
		synctest.Wait()
		require.Equal(t, 2, f.count(3, wire.Extend), "the keeper waited for it")
		f.resume(0, 1, 2)
		ctx := lease.Context()
		<-ctx.Done()
		assert.LessOrEqual(t, f.elapsed(), maxLife)
	}, func(c *quorum.Config) { c.MaxLife, c.Lab.Random = maxLife, zeroes{} })
}

// A slow hook delays the end of no other lease.
func TestASlowHookDelaysNoOtherEnd(t *testing.T) {
	play(t, 3, func(f *fixture) {
		slow, other := f.acquire("slow"), f.acquireAfter("k", time.Second)
		deadline := other.Deadline()
		slow.Done()
		<-other.Done()
		assert.Equal(t, deadline, time.Now())
	}, func(c *quorum.Config) {
		c.Hooks.Lost = func(e quorum.LeaseEvent) {
			if e.Key == "slow" {
				time.Sleep(3 * time.Second)
			}
		}
	})
}

// hookedClock calls a hook at its n-th reading.
type hookedClock struct {
	*skewedClock
	n    atomic.Int64
	hook func()
}

func (c *hookedClock) Now() time.Time {
	if c.n.Add(-1) == 0 {
		c.hook()
	}
	return c.skewedClock.Now()
}

// KeepAlive takes effect although it runs at the same time as the first Done.
func TestKeepAliveBesideTheFirstDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := &hookedClock{skewedClock: newSkewedClock()}
		clk.n.Store(-1)
		f := newFixture(t, 3, func(c *quorum.Config) { c.Lab.Clock = clk })
		lease := f.acquire("k")
		synctest.Wait()
		clk.hook = func() {
			kept := make(chan struct{})
			go func() {
				defer close(kept)
				lease.KeepAlive()
			}()
			<-kept
		}
		clk.n.Store(1)
		lease.Done()
		time.Sleep(3 * fullValidity)
		require.NoError(t, lease.Err())
		f.giveBack(lease)
	})
}
