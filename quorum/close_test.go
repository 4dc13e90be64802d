package quorum_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// closerFunc is what Close closes.
type closerFunc func() error

func (f closerFunc) Close() error { return f() }

// The instances are closed after the deletes that were pending have been sent, once.
func TestCloseClosesTheRest(t *testing.T) {
	why := errors.New("can't be closed")
	closed := 0
	var f *fixture
	synctest.Test(t, func(t *testing.T) {
		f = newFixture(t, 3)
		cfg := f.cfg
		cfg.CloseAlso = closerFunc(func() error {
			closed++
			for i := range f.servers {
				assert.Equal(t, 1, f.count(i, wire.Release), "closed before the delete was sent")
			}
			return why
		})
		c, err := quorum.New(cfg, f.instances()...)
		require.NoError(t, err)
		lease := f.acquireBy(c, "k")
		f.slow(20*ms, 20*ms)
		released := make(chan error)
		go func() { released <- lease.Release(f.ctx) }()
		synctest.Wait() // the deletes are under way
		for range 2 {
			require.ErrorIs(t, c.Close(f.ctx), why)
		}
		require.NoError(t, <-released)
		assert.Equal(t, 1, closed)
		f.requireNothingLeft()
	})
}

// Nothing stays open because an instance hangs.
func TestCloseThatIsGivenUpClosesTheRest(t *testing.T) {
	closed := false
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 3)
		cfg := f.cfg
		cfg.CloseAlso = closerFunc(func() error { closed = true; return nil })
		c, err := quorum.New(cfg, f.instances()...)
		require.NoError(t, err)
		lease := f.acquireBy(c, "k")
		f.hang()
		released := make(chan error)
		go func() { released <- lease.Release(f.ctx) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(f.ctx, time.Microsecond)
		defer cancel()
		err = c.Close(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.ErrorIs(t, c.Settle(ctx), quorum.ErrInterrupted)
		assert.True(t, closed)
		require.ErrorIs(t, <-released, quorum.ErrUnreachable)
		require.NoError(t, c.Close(f.ctx))
	})
}

// Close ends the context of a Do that runs, and waits until that has released its keys.
func TestCloseWaitsForADo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 3)
		cfg := f.cfg
		cfg.CloseAlso = closerFunc(func() error {
			for i, s := range f.servers {
				assert.Equal(t, 1, f.count(i, wire.Release), "closed before the delete was sent")
				_, _, there := s.Get("k")
				assert.False(t, there, "its key is left")
			}
			return nil
		})
		c, err := quorum.New(cfg, f.instances()...)
		require.NoError(t, err)
		done := make(chan error)
		go func() {
			done <- c.Do(f.ctx, "k", func(ctx context.Context, _ *quorum.Lease) error {
				<-ctx.Done()
				time.Sleep(time.Second) // it cleans up
				return context.Cause(ctx)
			})
		}()
		synctest.Wait()
		brief, cancel := context.WithTimeout(f.ctx, 10*ms)
		defer cancel()
		began := time.Now()
		go func() { assert.ErrorIs(t, <-done, quorum.ErrClosed) }()
		require.NoError(t, c.Close(f.ctx))
		assert.Equal(t, time.Second, time.Since(began))
		require.NoError(t, c.Close(brief), "nothing is left")
		f.requireNothingLeft()
	})
}

// A Close that is given up says what is left.
func TestCloseSaysWhatIsLeft(t *testing.T) {
	play(t, 3, func(f *fixture) {
		end := make(chan struct{})
		go func() { _ = f.Do(f.ctx, "k", func(context.Context, *quorum.Lease) error { <-end; return nil }) }()
		synctest.Wait()
		brief, cancel := context.WithTimeout(f.ctx, 10*ms)
		defer cancel()
		err := f.Close(brief)
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.ErrorContains(t, err, "1 call of Do")
		close(end)
		require.NoError(t, f.Close(f.ctx))
	})
}

// sleepyClock has the goroutine of a round sleep when it reads the clock between the decision and what follows from it.
type sleepyClock struct {
	clock.Clock
	on atomic.Bool
}

func (c *sleepyClock) Now() time.Time {
	if c.on.Load() {
		buf := make([]byte, 8192)
		stack := string(buf[:runtime.Stack(buf, false)])
		if strings.Contains(stack, "attempt).run(") && !strings.Contains(stack, "attempt).ask(") && !strings.Contains(stack, "attempt).lose(") {
			time.Sleep(30 * ms)
		}
	}
	return c.Clock.Now()
}

// Close waits until a round that it ends was rolled back.
func TestCloseBeforeTheRollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepy := &sleepyClock{Clock: clock.New()}
		f := newFixture(t, 3, func(cfg *quorum.Config) { cfg.Lab.Clock = sleepy })
		f.warm()
		f.lag(5 * ms)
		done := make(chan error)
		go func() { _, err := f.TryAcquire(f.ctx, "k"); done <- err }()
		time.Sleep(2 * ms)
		sleepy.on.Store(true)
		ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
		defer cancel()
		go func() { assert.ErrorIs(t, <-done, quorum.ErrClosed) }()
		require.NoError(t, f.Close(ctx))
		require.Empty(t, f.left())
	})
}

// A call that has found the Coordinator open begins no round after Close has returned: nobody would wait for its rollback.
func TestNoRoundAfterClose(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		before := len(f.log(0))
		_, err := f.TryAcquire(closingContext{f.ctx, sync.OnceFunc(func() { require.NoError(t, f.Close(f.ctx)) })}, "k")
		require.ErrorIs(t, err, quorum.ErrClosed)
		synctest.Wait()
		require.Len(t, f.log(0), before)
	})
}

// closingContext closes the Coordinator in the middle of the call that it is given to.
type closingContext struct {
	context.Context
	close func()
}

func (c closingContext) Value(key any) any {
	c.close()
	return c.Context.Value(key)
}
