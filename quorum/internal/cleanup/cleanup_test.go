package cleanup_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/background"
	"github.com/redquorum/redlock/quorum/internal/cleanup"
	"github.com/redquorum/redlock/quorum/internal/presence"
	"github.com/redquorum/redlock/quorum/wire"
)

const (
	window = 10 * time.Second
	ms     = time.Millisecond
)

var (
	errPermanent = errors.New("no right to delete")
	mayArrive    = presence.State{Unanswered: 1}
)

// fixture is a Queue with an instance whose answers a test sets.
type fixture struct {
	*cleanup.Queue
	t      *testing.T
	group  *background.Group
	reader *drift.Reader

	mu      sync.Mutex
	answer  func(key string) wire.Vote
	deletes []string
}

func play(t *testing.T, max int, do func(f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, group: background.New(), reader: drift.SystemReader()}
		f.answerWith(wire.Vote{Outcome: wire.Refused})
		f.Queue = cleanup.New(cleanup.Config{
			Delete: func(key string, _ []string, value string) wire.Vote {
				require.Equal(t, "value of "+key, value)
				f.mu.Lock()
				f.deletes = append(f.deletes, key)
				answer := f.answer
				f.mu.Unlock()
				return answer(key)
			},
			Permanent: func(err error) bool { return errors.Is(err, errPermanent) },
			Clock:     clock.New(), Reader: f.reader, Group: f.group,
			Max: max, Window: window,
		})
		do(f)
		f.group.Close()
		require.NoError(t, f.group.Wait(context.Background()))
	})
}

func (f *fixture) answerWith(vote wire.Vote) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = func(string) wire.Vote { return vote }
}

func (f *fixture) add(key string) { f.Add(key, nil, "value of "+key, mayArrive) }

func (f *fixture) sent() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.deletes)
}

// settled waits until nothing is pending, and returns how long that took.
func (f *fixture) settled() time.Duration {
	began := time.Now()
	require.NoError(f.t, f.group.Settle(context.Background()))
	return time.Since(began)
}

func TestADeleteThatFindsTheKeyIsDone(t *testing.T) {
	play(t, 8, func(f *fixture) {
		f.answerWith(wire.Vote{Outcome: wire.Granted})
		f.add("k")
		f.settled()
		require.Equal(f.t, 1, f.sent())
	})
}

// A delete that finds nothing isn't final while the SET may still arrive.
func TestADeleteThatFindsNothingIsRepeatedForAWindow(t *testing.T) {
	play(t, 8, func(f *fixture) {
		f.add("k")
		took := f.settled()
		require.GreaterOrEqual(t, took, window)
		require.Less(t, took, 3*window)
		require.Less(t, f.sent(), 20, "less and less often")
	})
}

func TestASilentInstanceKeepsItsDeletes(t *testing.T) {
	play(t, 8, func(f *fixture) {
		f.answerWith(wire.Vote{Err: wire.ErrTimeout})
		for n := range 5 {
			f.add(fmt.Sprint("k", n))
		}
		time.Sleep(time.Hour)
		require.NoError(t, f.Full())
		sent := f.sent()
		require.InDelta(t, time.Hour/(250*ms), sent, 50, "one at a time, four times a second")
		f.answerWith(wire.Vote{Outcome: wire.Granted})
		f.Answered(f.reader.Now().Mono)
		require.Less(t, f.settled(), 50*ms, "an answer to another request ends the pause")
		require.Equal(t, sent+5, f.sent())
	})
}

// TestASilentInstanceIsSentAll: while no delete is answered, all have their turn. A server that is too
// far away for the timeout carries them out.
func TestASilentInstanceIsSentAll(t *testing.T) {
	play(t, 10, func(f *fixture) {
		f.answerWith(wire.Vote{Err: wire.ErrTimeout})
		for _, key := range []string{"a", "b", "c"} {
			f.add(key)
		}
		time.Sleep(2 * time.Second)
		f.mu.Lock()
		require.Subset(t, f.deletes, []string{"a", "b", "c"})
		f.mu.Unlock()
		f.answerWith(wire.Vote{Outcome: wire.Granted})
		f.settled()
	})
}

// A connection error is no answer from the server; a rejection is permanent.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		answered bool // the instance answers other requests
		ends     bool
	}{
		"connection":                      {errors.New("EOF"), false, false},
		"connection, but the server runs": {errors.New("EOF"), true, true},
		"rejected":                        {errPermanent, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 8, func(f *fixture) {
				f.answerWith(wire.Vote{Err: c.err})
				f.add("k")
				time.Sleep(time.Second)
				if c.answered {
					f.Answered(f.reader.Now().Mono)
				}
				time.Sleep(window - 2*time.Second)
				before := f.sent()
				time.Sleep(time.Second)
				require.Greater(f.t, f.sent(), before, "not before a window has passed")
				time.Sleep(time.Hour)
				before = f.sent()
				time.Sleep(time.Second)
				require.Equal(f.t, c.ends, f.sent() == before)
			})
		})
	}
}

func TestAFullQueueSaysWhy(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.answerWith(wire.Vote{Err: wire.ErrTimeout})
		f.add("a")
		f.add("b")
		require.NoError(f.t, f.Full())
		f.add("c")
		require.ErrorIs(f.t, f.Full(), wire.ErrOverloaded)
		require.NotErrorIs(f.t, f.Full(), wire.ErrTimeout, "none was sent yet")
		time.Sleep(time.Second)
		require.ErrorIs(f.t, f.Full(), wire.ErrOverloaded)
		require.ErrorIs(f.t, f.Full(), wire.ErrTimeout)
	})
}

// The last pass tries every delete, including those that become pending during it.
func TestClosingTriesAllOnceMore(t *testing.T) {
	play(t, 8, func(f *fixture) {
		f.answerWith(wire.Vote{Err: wire.ErrTimeout})
		f.add("a")
		time.Sleep(time.Minute)
		added := false
		f.mu.Lock()
		f.deletes = nil
		f.answer = func(string) wire.Vote {
			time.Sleep(ms)
			if !added {
				added = true
				f.add("b")
			}
			return wire.Vote{Err: wire.ErrTimeout}
		}
		f.mu.Unlock()
		f.group.Close()
		require.NoError(f.t, f.group.Wait(context.Background()))
		require.Equal(f.t, []string{"a", "b"}, f.deletes)
	})
}
