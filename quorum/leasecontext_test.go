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
	"github.com/redquorum/redlock/quorum/wire"
)

func TestContextEndsExactlyAtTheDeadline(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		ctx := lease.Context()
		time.Sleep(fullValidity - 1)
		require.NoError(t, ctx.Err())
		require.NoError(t, context.Cause(ctx))
		time.Sleep(time.Nanosecond)
		<-ctx.Done()
		<-lease.Done()
		assert.Equal(t, fullValidity, f.elapsed())
		assert.ErrorIs(t, ctx.Err(), context.Canceled)
		assert.ErrorIs(t, context.Cause(ctx), quorum.ErrExpired)
		assert.ErrorIs(t, context.Cause(ctx), quorum.ErrLost)
		assert.NotErrorIs(t, context.Cause(ctx), quorum.ErrReleased)
	})
}

func TestContextMovesWithAnExtension(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		ctx := lease.Context()
		time.Sleep(9 * time.Second)
		require.NoError(t, lease.Extend(f.ctx))
		<-ctx.Done()
		assert.Equal(t, 9*time.Second+fullValidity, f.elapsed())
		_, has := ctx.Deadline()
		assert.False(t, has, "an extension moves it, so none is promised")
	})
}

// After a suspension no timer has fired yet, but Err reports the end all the same.
func TestErrSeesAPassedDeadlineBeforeAnyTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := newSkewedClock()
		f := newFixture(t, 5, withSkew(clk))
		lease := f.acquire("k")
		ctx := lease.Context()
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		synctest.Wait() // the keeper sleeps by now
		require.NoError(t, ctx.Err())
		clk.stepWall(time.Minute)
		require.Error(t, ctx.Err(), "at once")
		assert.ErrorIs(t, context.Cause(ctx), quorum.ErrExpired)
		select {
		case <-ctx.Done():
		default:
			t.Error("Err and Done disagree")
		}
		assert.Error(t, child.Err(), "and its children end with it")
		assert.Zero(t, f.elapsed())
	})
}

// A holder that waits for Done learns of the end from the keeper, which checks the wall clock
// regularly, not just the monotonic deadline.
func TestWatcherSeesAWallClockThatJumped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := newSkewedClock()
		f := newFixture(t, 5, withSkew(clk))
		ctx := f.acquire("k").Context()
		synctest.Wait()
		clk.stepWall(time.Minute)
		<-ctx.Done()
		assert.LessOrEqual(t, f.elapsed(), fullValidity/4)
	})
}

func TestWithinEndsWithItsParent(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		gone := errors.New("the caller has returned")
		parent, cancel := context.WithCancelCause(f.ctx)
		ctx, sibling := lease.Within(parent), lease.Within(f.ctx)
		cancel(gone)
		<-ctx.Done()
		assert.ErrorIs(t, ctx.Err(), context.Canceled)
		assert.ErrorIs(t, context.Cause(ctx), gone)
		assert.NoError(t, lease.Err(), "the lease continues")
		assert.NoError(t, sibling.Err())
		assert.NoError(t, lease.Context().Err())

		// A parent that has already ended.
		assert.Error(t, lease.Within(parent).Err())
		// A parent's earlier deadline is kept.
		short, stop := context.WithTimeout(f.ctx, time.Second)
		defer stop()
		at, has := lease.Within(short).Deadline()
		assert.True(t, has)
		assert.Equal(t, f.began.Add(time.Second), at)
		bounded := lease.Within(short)
		<-bounded.Done()
		assert.ErrorIs(t, bounded.Err(), context.DeadlineExceeded)
	})
}

func TestWithinALeaseThatIsOver(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		done := lease.Done()
		require.NoError(t, lease.Release(f.ctx))
		<-done
		<-lease.Done()
		for _, ctx := range []context.Context{lease.Within(f.ctx), lease.Context()} {
			select {
			case <-ctx.Done():
			default:
				t.Error("it should have ended at once")
			}
			assert.ErrorIs(t, context.Cause(ctx), quorum.ErrReleased)
		}
	})
}

type valueKey struct{}

func TestContextKeepsValuesAndNotTheEndOfTheCall(t *testing.T) {
	play(t, 3, func(f *fixture) {
		call, cancel := context.WithCancel(context.WithValue(f.ctx, valueKey{}, "trace"))
		lease, err := f.TryAcquire(call, "k")
		require.NoError(t, err)
		cancel()
		assert.Equal(t, "trace", lease.Context().Value(valueKey{}))
		assert.NoError(t, lease.Context().Err(), "the call is over, the lease isn't")
		assert.Equal(t, lease.Context(), lease.Context(), "each call returns the same one")
		within := lease.Within(context.WithValue(f.ctx, valueKey{}, "other"))
		assert.Equal(t, "other", within.Value(valueKey{}))
	})
}

// A holder that serves requests makes a context for each. Ended contexts must be dropped, or a long
// lease keeps all of them.
func TestContextsThatEndedAreForgotten(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		const n, alive = 2000, 100
		for range alive {
			defer func(ctx context.Context) { assert.Error(t, ctx.Err()) }(lease.Within(f.ctx))
		}
		for range n {
			parent, cancel := context.WithCancel(f.ctx)
			ctx := lease.Within(parent)
			cancel()
			require.Error(t, ctx.Err())
		}
		synctest.Wait()
		require.NoError(t, lease.Err())
		assert.LessOrEqual(t, quorum.ContextsOf(lease), 4*alive, "none that has ended is kept for long")
		require.NoError(t, lease.Release(f.ctx))
	})
}

// The holder's contexts end before the first delete is sent, because from then on another client
// can have the lock.
func TestContextEndsBeforeTheFirstDelete(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		own, within := lease.Context(), lease.Within(f.ctx)
		seen := 0
		for _, s := range f.servers {
			s.OnCommand(func(cmd wire.Request) {
				if cmd.Op != wire.Release {
					return
				}
				for _, ctx := range []context.Context{own, within} {
					select {
					case <-ctx.Done():
						assert.ErrorIs(t, context.Cause(ctx), quorum.ErrReleased)
					default:
						t.Error("a delete was sent while the holder's context ran")
					}
				}
				assert.ErrorIs(t, lease.Err(), quorum.ErrReleased)
			})
		}
		require.NoError(t, lease.Release(f.ctx))
		synctest.Wait()
		for i := range f.servers {
			for _, op := range f.ops(i) {
				if op == wire.Release {
					seen++
				}
			}
		}
		assert.Equal(t, 5, seen)
	})
}

func TestContextsEndWhenTheCoordinatorIsClosed(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		ctx := lease.Context()
		require.NoError(t, f.Close(f.ctx))
		<-ctx.Done()
		assert.ErrorIs(t, context.Cause(ctx), quorum.ErrClosed)
		assert.ErrorIs(t, lease.Err(), quorum.ErrClosed)
		assert.NotEmpty(t, f.left(), "its holder may still be at work: Close doesn't release")
		f.giveBack(lease)
	})
}
