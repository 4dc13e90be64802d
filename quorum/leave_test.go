package quorum_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// A lease that was left or handed off is over for its holder, and each of its methods says why. Its keys last for the
// rest of the TTL.
func TestAbandoningEndsTheLease(t *testing.T) {
	for want, abandon := range map[error]func(f *fixture, lease *quorum.Lease) error{
		quorum.ErrReleased:  func(_ *fixture, lease *quorum.Lease) error { return lease.Leave() },
		quorum.ErrHandedOff: func(f *fixture, lease *quorum.Lease) error { _, err := lease.HandOff(f.ctx); return err },
	} {
		t.Run(want.Error(), func(t *testing.T) {
			var told []quorum.LeaseEvent
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				lease.KeepAlive()
				ctx, within := lease.Context(), lease.Within(f.ctx)
				time.Sleep(time.Second)
				require.NoError(f.t, abandon(f, lease))
				for _, over := range []context.Context{ctx, within} {
					require.Error(f.t, over.Err())
					require.ErrorIs(f.t, context.Cause(over), want)
				}
				assert.Zero(f.t, lease.Validity())
				require.ErrorIs(f.t, lease.Extend(f.ctx), want)
				requireOver(f, lease, want)
				require.Len(f.t, told, 1)
				require.Equal(f.t, want == quorum.ErrReleased, told[0].Left && told[0].Err == nil)
				require.Equal(f.t, want == quorum.ErrHandedOff, errors.Is(told[0].Err, want))

				f.tryFailsBy(f.other(), "k", quorum.ErrTaken)
				require.NoError(f.t, f.Settle(f.ctx))
				time.Sleep(9*time.Second - ms)
				assert.Len(f.t, f.left(), 5)
				time.Sleep(ms)
				assert.Empty(f.t, f.left())
				for i := range f.servers {
					assert.NotContains(f.t, f.ops(i), wire.Extend)
					assert.NotContains(f.t, f.ops(i), wire.Release)
				}
			}, func(c *quorum.Config) {
				c.Hooks.Released = func(_ context.Context, e quorum.LeaseEvent) { told = append(told, e) }
				c.Hooks.Lost = func(e quorum.LeaseEvent) { t.Error("it isn't lost", e) }
			})
		})
	}
}

// requireOver demands that a lease that has ended for this reason can be neither left nor handed off nor released.
func requireOver(f *fixture, lease *quorum.Lease, want error) {
	f.t.Helper()
	require.ErrorIs(f.t, lease.Err(), want)
	require.ErrorIs(f.t, lease.Leave(), want)
	_, err := lease.HandOff(f.ctx)
	require.ErrorIs(f.t, err, want)
	err = lease.Release(f.ctx)
	require.Error(f.t, err)
	if errors.Is(want, quorum.ErrReleased) || errors.Is(want, quorum.ErrHandedOff) {
		require.ErrorIs(f.t, err, want)
	}
}

// What is over is neither left nor handed off, and nothing is deleted afterwards.
func TestWhatIsOverIsNotAbandoned(t *testing.T) {
	require.ErrorIs(t, (*quorum.Lease)(nil).Leave(), quorum.ErrConfig)
	require.ErrorIs(t, (*quorum.Lease)(nil).Release(t.Context()), quorum.ErrNotHeld)
	for want, end := range map[error]func(f *fixture, lease *quorum.Lease){
		quorum.ErrReleased:  func(f *fixture, lease *quorum.Lease) { require.NoError(t, lease.Release(f.ctx)) },
		quorum.ErrHandedOff: func(f *fixture, lease *quorum.Lease) { f.handOff(lease) },
		quorum.ErrExpired:   func(*fixture, *quorum.Lease) { time.Sleep(10*time.Second - ms) },
		quorum.ErrLost: func(f *fixture, lease *quorum.Lease) {
			f.each(func(s *quorumtest.Server) { s.Delete("k") }, 0, 1, 2)
			require.ErrorIs(f.t, lease.Extend(f.ctx), quorum.ErrLost)
		},
		quorum.ErrClosed: func(f *fixture, lease *quorum.Lease) {
			require.NoError(f.t, f.Close(f.ctx))
			_ = lease.Context() // which ends with the Coordinator
		},
	} {
		t.Run(want.Error(), func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				synctest.Wait()
				end(f, lease)
				synctest.Wait() // a decided release is still in flight to some
				left := f.left()
				requireOver(f, lease, want)
				require.NoError(f.t, f.Settle(f.ctx))
				assert.Equal(f.t, left, f.left())
			})
		})
	}
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
