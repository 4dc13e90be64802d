package quorum_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// A lease that was left is over for its holder, and its keys last for the rest of the TTL.
func TestLeave(t *testing.T) {
	var told []quorum.LeaseEvent
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		lease.KeepAlive()
		ctx := lease.Context()
		time.Sleep(time.Second)
		require.NoError(t, lease.Leave())
		require.Error(t, ctx.Err())
		require.ErrorIs(t, context.Cause(ctx), quorum.ErrReleased)
		assert.Zero(t, lease.Validity())
		require.ErrorIs(t, lease.Err(), quorum.ErrReleased)
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrReleased)
		require.ErrorIs(t, lease.Leave(), quorum.ErrReleased)
		require.ErrorIs(t, lease.Release(f.ctx), quorum.ErrReleased)
		_, err := lease.HandOff(f.ctx)
		require.ErrorIs(t, err, quorum.ErrReleased)
		require.Len(t, told, 1)
		require.NoError(t, told[0].Err)
		require.True(t, told[0].Left)

		f.tryFailsBy(f.other(), "k", quorum.ErrTaken)
		require.NoError(t, f.Settle(f.ctx))
		assert.Len(t, f.left(), 5)
		time.Sleep(9*time.Second - ms)
		assert.Len(t, f.left(), 5)
		time.Sleep(ms)
		assert.Empty(t, f.left())
		for i := range f.servers {
			assert.NotContains(t, f.ops(i), wire.Extend)
			assert.NotContains(t, f.ops(i), wire.Release)
		}
	}, func(c *quorum.Config) {
		c.Hooks.Released = func(_ context.Context, e quorum.LeaseEvent) { told = append(told, e) }
		c.Hooks.Lost = func(e quorum.LeaseEvent) { t.Error("it isn't lost", e) }
	})
}

// Leave says why a lease had already ended. In no case is anything deleted afterwards.
func TestLeaveOfALeaseThatIsOver(t *testing.T) {
	require.ErrorIs(t, (*quorum.Lease)(nil).Leave(), quorum.ErrConfig)
	require.ErrorIs(t, (*quorum.Lease)(nil).Release(t.Context()), quorum.ErrNotHeld)
	for want, end := range map[error]func(f *fixture, lease *quorum.Lease){
		quorum.ErrReleased:  func(f *fixture, lease *quorum.Lease) { require.NoError(t, lease.Release(f.ctx)) },
		quorum.ErrHandedOff: func(f *fixture, lease *quorum.Lease) { f.handOff(lease) },
		quorum.ErrExpired:   func(*fixture, *quorum.Lease) { time.Sleep(10*time.Second - ms) },
		quorum.ErrLost: func(f *fixture, lease *quorum.Lease) {
			f.each(func(s *quorumtest.Server) { s.Delete("k") }, 0, 1, 2)
			require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrLost)
		},
		quorum.ErrClosed: func(f *fixture, lease *quorum.Lease) {
			_ = lease.Context() // which ends with the Coordinator
			require.NoError(t, f.Close(f.ctx))
		},
	} {
		t.Run(want.Error(), func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				synctest.Wait()
				end(f, lease)
				synctest.Wait() // a decided release is still in flight to some
				left := f.left()
				require.ErrorIs(t, lease.Leave(), want)
				require.Error(t, lease.Release(f.ctx))
				require.NoError(t, f.Settle(f.ctx))
				assert.Equal(t, left, f.left())
			})
		})
	}
}

// An extension in progress when the lease is left doesn't bring it back, and sets no key on an
// instance that lacks it.
func TestLeaveDuringAnExtension(t *testing.T) {
	var during func()
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		f.servers[4].Delete("k")
		during = func() { assert.NoError(t, lease.Leave()) }
		require.ErrorIs(t, lease.Extend(f.ctx), quorum.ErrReleased)
		require.NoError(t, f.Settle(f.ctx))
		assert.Len(t, f.left(), 4)
		for i := range f.servers {
			assert.Zero(t, f.count(i, wire.Restore))
		}
	}, func(c *quorum.Config) {
		c.Hooks.RoundStarted = func(_ context.Context, e quorum.RoundStart) {
			if e.Op == wire.Extend {
				during()
			}
		}
	})
}

// An instance that answers late also has the key, for a TTL from the arrival of the request.
func TestLeaveKeepsTheKeysOfLateInstances(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.acquire("warm")
		synctest.Wait()
		f.hang(3, 4)
		lease := f.acquire("k")
		require.NoError(t, lease.Leave())
		time.Sleep(time.Second)
		f.resume(3, 4)
		require.NoError(t, f.Settle(f.ctx))
		for i, s := range f.servers {
			_, left, ok := s.Get("k")
			require.True(t, ok, "%s", s.Name())
			if i < 3 {
				assert.Equal(t, 9*time.Second, left)
			} else {
				assert.Equal(t, 10*time.Second, left)
			}
			assert.Zero(t, f.count(i, wire.Release))
		}
	})
}

// A waiter of this process asks the instances at once, as a waiter of another process would.
func TestLeaveLetsWaitersAsk(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		acquired := make(chan time.Duration, 1)
		go func() {
			next, err := f.Acquire(f.ctx, "k")
			if assert.NoError(t, err) {
				assert.Greater(t, next.Token(), lease.Token())
				assert.NoError(t, next.Release(f.ctx))
			}
			acquired <- f.elapsed()
		}()
		synctest.Wait() // it waits in the queue
		before := f.count(0, wire.Acquire)
		require.NoError(t, lease.Leave())
		synctest.Wait()
		assert.Equal(t, before+1, f.count(0, wire.Acquire))
		took := <-acquired
		assert.GreaterOrEqual(t, took, 10*time.Second, "the keys hadn't expired")
		assert.Less(t, took, 11*time.Second)
	})
}

// Of many concurrent calls that would end a lease only one does.
func TestLeaveBesideAReleaseAndAHandOff(t *testing.T) {
	for range 20 {
		play(t, 3, func(f *fixture) {
			lease := f.acquire("k")
			synctest.Wait()
			ended := make(chan string, 12)
			for range 4 {
				go func() { ended <- says("left", lease.Leave()) }()
				go func() { ended <- says("released", lease.Release(f.ctx)) }()
				go func() {
					_, err := lease.HandOff(f.ctx)
					ended <- says("handed off", err)
				}()
			}
			did := ""
			for range cap(ended) {
				if what := <-ended; what != "" {
					require.Empty(t, did, "and %s", what)
					did = what
				}
			}
			require.NotEmpty(t, did)
			require.NoError(t, f.Settle(f.ctx))
			assert.Equal(t, did == "released", f.clean(), did)
		})
	}
}

// says is what, or "" after an error.
func says(what string, err error) string {
	if err != nil {
		return ""
	}
	return what
}
