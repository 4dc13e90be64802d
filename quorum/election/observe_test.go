package election_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
)

// Any process can ask for the leader, and the leader knows its term.
func TestLeader(t *testing.T) {
	play(t, func(w *world) {
		a, b := w.client("a:80", election.Config{}), w.client("", election.Config{})
		_, err := b.Leader(w.ctx)
		require.ErrorIs(t, err, election.ErrNoLeader)
		run := w.start(a)
		leads := run.leads()
		synctest.Wait()
		for _, c := range []*client{a, b} {
			leader, err := c.Leader(w.ctx)
			require.NoError(t, err)
			assert.Equal(t, "a:80", leader.ID)
			assert.Equal(t, 10*time.Second, leader.Remaining)
			assert.GreaterOrEqual(t, leader.TermAtMost, leads.term)
		}
		mine, err := a.Leader(w.ctx)
		require.NoError(t, err)
		assert.Equal(t, leads.term, mine.TermAtMost)
		require.Error(t, run.quit())
		nameless := w.start(b)
		nameless.leads()
		leader, err := a.Leader(w.ctx)
		require.NoError(t, err)
		assert.Empty(t, leader.ID)
		require.Error(t, nameless.quit())

		for _, s := range w.servers[:3] {
			s.Hang()
		}
		_, err = a.Leader(w.ctx)
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.ErrorContains(t, err, `election "job"`)
		for _, s := range w.servers[:3] {
			s.Resume()
		}
		ended, cancel := context.WithCancel(w.ctx)
		cancel()
		_, err = a.Leader(ended)
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.ErrorIs(t, a.IsLeader(ended), election.ErrNotLeader)
		require.ErrorIs(t, a.IsLeader(ended), context.Canceled)
	})
}

// An observer sees each change once, and nothing else.
func TestObserve(t *testing.T) {
	play(t, func(w *world) {
		a, b := w.client("a", election.Config{}), w.client("b", election.Config{})
		observer := w.client("", election.Config{})
		ctx, stop := context.WithCancel(w.ctx)
		defer stop()
		seen := make(chan string, 16)
		go func() {
			defer close(seen)
			for leader, err := range observer.Observe(ctx) {
				if err != nil {
					seen <- kind(err)
					continue
				}
				seen <- leader.ID
			}
		}()
		require.Equal(t, "none", <-seen)
		runA := w.start(a)
		runA.leads()
		require.Equal(t, "a", <-seen)
		runB := w.start(b)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, seen, "nothing has changed")
		require.NoError(t, a.Resign())
		at := w.elapsed()
		require.Equal(t, "b", <-seen)
		require.LessOrEqual(t, w.elapsed()-at, time.Second, "a tenth of the TTL")
		require.NoError(t, b.Resign())
		require.Equal(t, "a", <-seen)
		require.Error(t, runB.quit())
		require.NoError(t, a.Resign())
		require.Equal(t, "none", <-seen, "it steps back for longer than a second")
		require.Equal(t, "a", <-seen, "with another term")

		for _, s := range w.servers[:3] {
			s.Hang()
		}
		require.Equal(t, "unknown", <-seen)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, seen)
		for _, s := range w.servers[:3] {
			s.Resume()
		}
		now := <-seen
		if now == "none" {
			now = <-seen
		}
		require.Equal(t, "a", now)
		require.Error(t, runA.quit())
		require.Equal(t, "none", <-seen)
		stop()
		_, open := <-seen
		require.False(t, open, "it ends with its context")
	})
}

func kind(err error) string {
	switch {
	case errors.Is(err, election.ErrNoLeader):
		return "none"
	case errors.Is(err, quorum.ErrNoQuorum):
		return "unknown"
	}
	return err.Error()
}

// A loop that breaks stops observing, and Close ends a loop.
func TestObserveEnds(t *testing.T) {
	play(t, func(w *world) {
		a := w.client("a", election.Config{ObserveEvery: ms})
		for _, err := range a.Observe(w.ctx) {
			require.ErrorIs(t, err, election.ErrNoLeader)
			break
		}
		asked := len(w.servers[0].Log())
		time.Sleep(time.Second)
		require.Len(t, w.servers[0].Log(), asked)

		var last error
		for _, err := range a.Observe(w.ctx) {
			last = err
			_ = a.locks.Close(w.ctx)
		}
		require.ErrorIs(t, last, quorum.ErrClosed)
	})
}

// The end is told although nobody knew who leads before, either.
func TestObserveEndsWhereNobodyAnswers(t *testing.T) {
	play(t, func(w *world) {
		a := w.client("a", election.Config{ObserveEvery: ms})
		for _, s := range w.servers {
			s.Kill()
		}
		var all []error
		for _, err := range a.Observe(w.ctx) {
			all = append(all, err)
			_ = a.locks.Close(w.ctx)
		}
		require.Len(t, all, 2)
		require.ErrorIs(t, all[0], quorum.ErrNoQuorum)
		require.ErrorIs(t, all[1], quorum.ErrClosed)
	})
}
