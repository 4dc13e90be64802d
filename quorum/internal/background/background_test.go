package background_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/internal/background"
)

func TestBackgroundSettlesWhenTheLastHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, ctx := background.New(), context.Background()
		require.NoError(t, b.Settle(ctx), "nothing runs")
		began := time.Now()
		b.Go(func() {
			time.Sleep(time.Second)
			// The wait includes goroutines started during it.
			b.Go(func() { time.Sleep(time.Second) })
		})
		for range 3 {
			go func() { assert.NoError(t, b.Settle(ctx)); assert.Equal(t, 2*time.Second, time.Since(began)) }()
		}
		require.NoError(t, b.Wait(ctx))
		assert.Equal(t, 2*time.Second, time.Since(began))
		synctest.Wait()
	})
}

func TestBackgroundDoesNotSettleForStandingOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, ctx := background.New(), context.Background()
		ended := false
		b.GoStanding(func() { <-b.Closing(); time.Sleep(time.Second); ended = true })
		require.NoError(t, b.Settle(ctx))
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		require.ErrorIs(t, b.Wait(short), context.DeadlineExceeded, "but wait does wait for them")
		assert.False(t, ended)
		b.Close()
		b.Close() // again does nothing
		require.NoError(t, b.Wait(ctx))
		assert.True(t, ended)
		require.NoError(t, b.Wait(ctx))
	})
}

func TestBackgroundAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, ctx := background.New(), context.Background()
		b.Close()
		b.GoStanding(func() { t.Error("it would never learn that it has to end") })
		cleaned := false
		b.Go(func() { time.Sleep(time.Second); cleaned = true })
		require.NoError(t, b.Wait(ctx))
		assert.True(t, cleaned, "goroutines in progress may clean up")
	})
}

func TestBackgroundWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := background.New()
		release := make(chan struct{})
		b.Go(func() { <-release })
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		require.ErrorIs(t, b.Settle(ctx), context.Canceled)
		assert.Equal(t, time.Second, time.Since(began))
		close(release)
		require.NoError(t, b.Settle(context.Background()))
	})
}
