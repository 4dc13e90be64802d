package keeper_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/background"
	"github.com/redquorum/redlock/quorum/internal/keeper"
	"github.com/redquorum/redlock/quorum/internal/wheel"
)

// lease is valid until its deadline.
type lease struct {
	entry    keeper.Entry[*lease]
	deadline time.Time

	mu    sync.Mutex
	ended time.Duration // when, since the test began; 0 while it is valid
	why   string
}

// fixture is a Keeper, and what it has extended.
type fixture struct {
	*keeper.Keeper[*lease]
	group  *background.Group
	reader *drift.Reader
	began  time.Time

	mu       sync.Mutex
	extended []time.Duration // when groups were extended
	sizes    []int           // how many leases each group had
}

func play(t *testing.T, do func(f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{group: background.New(), reader: drift.SystemReader(), began: time.Now()}
		f.Keeper = keeper.New(keeper.Config[*lease]{
			Clock: clock.New(), Reader: f.reader, Group: f.group,
			Entry: func(l *lease) *keeper.Entry[*lease] { return &l.entry },
			Left:  func(l *lease) time.Duration { return time.Until(l.deadline) },
			Ended: func(l *lease) bool {
				l.mu.Lock()
				defer l.mu.Unlock()
				return l.ended > 0
			},
			Over: func(l *lease) {
				if time.Until(l.deadline) <= 0 {
					f.end(l, "over")
				}
			},
			Extend: func(due []*lease) {
				f.mu.Lock()
				f.extended, f.sizes = append(f.extended, time.Since(f.began)), append(f.sizes, len(due))
				f.mu.Unlock()
			},
			Close: func(all []*lease) {
				for _, l := range all {
					f.end(l, "closed")
				}
			},
		})
		do(f)
		f.group.Close()
		require.NoError(t, f.group.Wait(context.Background()))
	})
}

func (f *fixture) end(l *lease, why string) {
	l.mu.Lock()
	first := l.ended == 0
	if first {
		l.ended, l.why = time.Since(f.began), why
	}
	l.mu.Unlock()
	if first {
		f.Remove(l)
	}
}

// add adds a lease with this validity, to be extended after that time; 0: never.
func (f *fixture) add(lasts, extend time.Duration) *lease {
	l := &lease{entry: keeper.NewEntry[*lease](), deadline: time.Now().Add(lasts)}
	f.Watch(l, f.in(extend))
	return l
}

func (f *fixture) in(d time.Duration) time.Duration {
	if d == 0 {
		return wheel.Never
	}
	return f.reader.Now().Mono + d
}

// Leases end at their deadlines, however many and far apart they are, and leave nothing behind.
func TestDeadlines(t *testing.T) {
	play(t, func(f *fixture) {
		lasts := []time.Duration{time.Hour, time.Second, 30 * time.Second, 1500 * time.Microsecond, time.Second}
		var leases []*lease
		for _, d := range lasts {
			leases = append(leases, f.add(d, 0))
		}
		require.NoError(t, f.group.Settle(context.Background()))
		for i, l := range leases {
			require.Equal(t, lasts[i], l.ended)
			require.Equal(t, "over", l.why)
		}
		require.Empty(t, f.extended)
	})
}

// Extensions due together are sent together, and a lease that was brought forward is extended
// earlier.
func TestExtensions(t *testing.T) {
	play(t, func(f *fixture) {
		f.add(time.Minute, 10*time.Second)
		f.add(time.Minute, 10*time.Second)
		f.ExtendAt(f.add(time.Minute, 0), f.in(3*time.Second))
		time.Sleep(time.Minute / 2)
		synctest.Wait()
		require.Equal(t, []time.Duration{3 * time.Second, 10 * time.Second}, f.extended)
		require.Equal(t, []int{1, 2}, f.sizes)
	})
}

// KeepAlive may be called before a lease is watched, and then counts.
func TestExtendAtBeforeWatch(t *testing.T) {
	play(t, func(f *fixture) {
		l := &lease{entry: keeper.NewEntry[*lease](), deadline: time.Now().Add(time.Minute)}
		f.ExtendAt(l, f.in(2*time.Second))
		f.Watch(l, wheel.Never)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, []time.Duration{2 * time.Second}, f.extended)
	})
}

// A lease that has ended is not extended, and the keeper doesn't wait for it.
func TestRemoved(t *testing.T) {
	play(t, func(f *fixture) {
		f.end(f.add(time.Minute, time.Second), "released")
		require.NoError(t, f.group.Settle(context.Background()))
		require.Zero(t, time.Since(f.began), "nothing was waited for")
		time.Sleep(time.Minute)
		require.Empty(t, f.extended)

		ended := &lease{entry: keeper.NewEntry[*lease](), deadline: time.Now().Add(time.Minute), ended: 1}
		f.Watch(ended, wheel.Never)
		require.NoError(t, f.group.Settle(context.Background()))
	})
}

// When the Group is closed all leases end, later ones as well.
func TestClose(t *testing.T) {
	play(t, func(f *fixture) {
		before := f.add(time.Minute, 0)
		time.Sleep(time.Second)
		f.group.Close()
		after := f.add(time.Minute, 0)
		require.NoError(t, f.group.Wait(context.Background()))
		for _, l := range []*lease{before, after} {
			require.Equal(t, "closed", l.why)
			require.Equal(t, time.Second, l.ended)
		}
	})
}
