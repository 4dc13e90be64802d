package turns

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
)

// fixture is a Queue, and what its probes have found.
type fixture struct {
	*Queue
	mu    sync.Mutex
	found bool
}

func play(t *testing.T, do func(f *fixture)) {
	synctest.Test(t, func(*testing.T) {
		f := &fixture{}
		f.Queue = &Queue{Owner: &f.mu, Reader: drift.SystemReader()}
		do(f)
	})
}

func (f *fixture) enter(enough func(drift.Instant) bool) *turn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Enter(enough)
}

func (f *fixture) foundIt(drift.Instant) bool { return f.found }

func never(drift.Instant) bool { return false }

func TestOneTurnAtATime(t *testing.T) {
	play(t, func(f *fixture) {
		running, most := 0, 0
		for range 10 {
			go func() {
				mine, err := f.enter(never).Wait(context.Background())
				require.True(t, mine)
				require.NoError(t, err)
				running++
				most = max(most, running)
				time.Sleep(time.Second)
				running--
				f.End()
			}()
		}
		began := time.Now()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, most)
		require.Equal(t, time.Minute, time.Since(began))
		f.mu.Lock()
		defer f.mu.Unlock()
		require.False(t, f.Taken())
	})
}

// A probe that answers a question ends the wait of all goroutines with that question. The last of
// the others is next.
func TestWhoIsNext(t *testing.T) {
	play(t, func(f *fixture) {
		first := f.enter(f.foundIt)
		same, early, late := f.enter(f.foundIt), f.enter(never), f.enter(never)
		mine, err := first.Wait(context.Background())
		require.NoError(t, err)
		require.True(t, mine)
		f.found = true
		f.End()
		mine, err = same.Wait(context.Background())
		require.NoError(t, err)
		require.False(t, mine)
		for _, next := range []*turn{late, early} {
			mine, err = next.Wait(context.Background())
			require.NoError(t, err)
			require.True(t, mine)
			f.End()
		}
	})
}

// A goroutine whose context ends leaves the queue, and passes on a turn that it got at the same
// moment.
func TestTurnsOfEndedContexts(t *testing.T) {
	play(t, func(f *fixture) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for range 100 {
			_, err := f.enter(never).Wait(ended)
			require.ErrorIs(t, err, context.Canceled)
		}
		mine, err := f.enter(never).Wait(context.Background())
		require.NoError(t, err)
		require.True(t, mine)
		_, err = f.enter(never).Wait(ended)
		require.ErrorIs(t, err, context.Canceled)
		f.End()
		f.mu.Lock()
		defer f.mu.Unlock()
		require.False(t, f.Taken())
	})
}
