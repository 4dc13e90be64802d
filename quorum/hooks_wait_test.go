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
)

// waits is what the hooks tell of waits. Waiters call them one at a time, because they are in
// one bubble and one queue.
type waits struct {
	started []quorum.WaitStart
	ended   []quorum.WaitEnd
}

func (w *waits) install(cfg *quorum.Config) {
	cfg.Hooks.WaitStarted = func(_ context.Context, e quorum.WaitStart) { w.started = append(w.started, e) }
	cfg.Hooks.WaitEnded = func(_ context.Context, e quorum.WaitEnd) { w.ended = append(w.ended, e) }
}

// A waiter learns whether the holder was in its own process, in another one, or first there and
// then here.
func TestHooksOfAWaitSayWhereTheHolderWas(t *testing.T) {
	var w waits
	playNotifying(t, 3, func(f *fixture) {
		other := f.other(func(cfg *quorum.Config) { cfg.Hooks.WaitStarted, cfg.Hooks.WaitEnded = nil, nil })
		held := f.awaitBy(other, "k")
		leases := make(chan *quorum.Lease, 2)
		wait := func() {
			lease, err := f.Acquire(f.ctx, "k")
			assert.NoError(t, err)
			leases <- lease
		}
		go wait()
		synctest.Wait()
		go wait()
		synctest.Wait()
		assert.Equal(t, []quorum.WaitStart{{Key: "k", Waiters: 1}, {Key: "k", Waiters: 2}}, w.started)
		assert.Empty(t, w.ended, "they wait")

		time.Sleep(300 * ms)
		require.NoError(t, held.Release(f.ctx))
		first := <-leases
		time.Sleep(200 * ms)
		require.NoError(t, first.Release(f.ctx))
		second := <-leases
		require.Len(t, w.ended, 2)
		assert.True(t, w.ended[0].Elsewhere)
		assert.False(t, w.ended[0].Here)
		assert.GreaterOrEqual(t, w.ended[0].Waited, 300*ms)
		assert.GreaterOrEqual(t, w.ended[0].Tries, 2)
		assert.Equal(t, first.Token(), w.ended[0].Token)
		assert.True(t, w.ended[1].Here)
		assert.False(t, w.ended[1].Elsewhere)
		assert.GreaterOrEqual(t, w.ended[1].Waited, 500*ms)
		assert.Equal(t, second.Token(), w.ended[1].Token)
		require.NoError(t, second.Release(f.ctx))
	}, w.install)
}

// Whatever ends a wait is told, with the error that Acquire returns.
func TestHooksOfAWaitThatIsGivenUp(t *testing.T) {
	errStop := errors.New("stop")
	for name, c := range map[string]struct {
		set  func(*quorum.Config)
		ends func(f *fixture, ctx context.Context) context.Context
		is   error
	}{
		"deadline": {
			ends: func(f *fixture, ctx context.Context) context.Context {
				bounded, cancel := context.WithTimeout(ctx, time.Second)
				f.t.Cleanup(cancel)
				return bounded
			},
			is: context.DeadlineExceeded,
		},
		"cancelled": {
			ends: func(f *fixture, ctx context.Context) context.Context {
				ended, cancel := context.WithCancelCause(ctx)
				time.AfterFunc(time.Second, func() { cancel(errStop) })
				return ended
			},
			is: errStop,
		},
		"closed": {
			ends: func(f *fixture, ctx context.Context) context.Context {
				time.AfterFunc(time.Second, func() { _ = f.Close(ctx) })
				return ctx
			},
			is: quorum.ErrClosed,
		},
		"MaxWait":  {set: func(cfg *quorum.Config) { cfg.MaxWait = time.Second }, is: quorum.ErrExhausted},
		"MaxTries": {set: func(cfg *quorum.Config) { cfg.MaxTries = 1 }, is: quorum.ErrExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			var w waits
			play(t, 3, func(f *fixture) {
				other := f.other(func(cfg *quorum.Config) { cfg.Hooks.WaitStarted, cfg.Hooks.WaitEnded = nil, nil })
				_ = f.awaitBy(other, "k")
				ctx := f.ctx
				if c.ends != nil {
					ctx = c.ends(f, ctx)
				}
				_, err := f.Acquire(ctx, "k")
				require.ErrorIs(t, err, c.is)
				require.Len(t, w.started, 1)
				require.Len(t, w.ended, 1)
				assert.Same(t, err, w.ended[0].Err)
				var given *quorum.WaitError
				require.ErrorAs(t, err, &given)
				assert.Equal(t, given.Tries, w.ended[0].Tries)
				assert.Equal(t, given.Waited, w.ended[0].Waited)
				assert.True(t, w.ended[0].Elsewhere)
				assert.Zero(t, w.ended[0].Token)
			}, w.install, func(cfg *quorum.Config) {
				if c.set != nil {
					c.set(cfg)
				}
			})
		})
	}
}
