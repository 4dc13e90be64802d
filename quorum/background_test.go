package quorum

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBackgroundSettlesWhenTheLastHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, ctx := newBackground(), context.Background()
		require.NoError(t, b.settle(ctx), "nothing runs")
		began := time.Now()
		b.spawn(func() {
			time.Sleep(time.Second)
			// The wait includes goroutines started during it.
			b.spawn(func() { time.Sleep(time.Second) })
		})
		for range 3 {
			go func() { assert.NoError(t, b.settle(ctx)); assert.Equal(t, 2*time.Second, time.Since(began)) }()
		}
		require.NoError(t, b.wait(ctx))
		assert.Equal(t, 2*time.Second, time.Since(began))
		synctest.Wait()
	})
}

func TestBackgroundDoesNotSettleForStandingOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, ctx := newBackground(), context.Background()
		ended := false
		b.spawnStanding(func() { <-b.closing; time.Sleep(time.Second); ended = true })
		require.NoError(t, b.settle(ctx))
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		require.ErrorIs(t, b.wait(short), context.DeadlineExceeded, "but wait does wait for them")
		assert.False(t, ended)
		b.close()
		b.close() // again does nothing
		require.NoError(t, b.wait(ctx))
		assert.True(t, ended)
		require.NoError(t, b.wait(ctx))
	})
}

func TestBackgroundAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, ctx := newBackground(), context.Background()
		b.close()
		b.spawnStanding(func() { t.Error("it would never learn that it has to end") })
		cleaned := false
		b.spawn(func() { time.Sleep(time.Second); cleaned = true })
		require.NoError(t, b.wait(ctx))
		assert.True(t, cleaned, "goroutines in progress may clean up")
	})
}

func TestBackgroundWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackground()
		release := make(chan struct{})
		b.spawn(func() { <-release })
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		require.ErrorIs(t, b.settle(ctx), context.Canceled)
		assert.Equal(t, time.Second, time.Since(began))
		close(release)
		require.NoError(t, b.settle(context.Background()))
	})
}
