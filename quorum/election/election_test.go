package election_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

// One of two candidates leads, and the other takes over at once when the first resigns or ends.
func TestTwoCandidates(t *testing.T) {
	play(t, func(w *world) {
		a, b := w.client("a", election.Config{}), w.client("b", election.Config{})
		runA := w.start(a)
		first := runA.leads()
		runB := w.start(b)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(t, a.IsLeader(w.ctx))
		require.ErrorIs(t, b.IsLeader(w.ctx), election.ErrNotLeader)
		require.Equal(t, first.term, a.Term())
		require.Zero(t, b.Term())
		require.Empty(t, runB.terms)

		// A release notifies the next candidate, which may pause once if it asks before all servers have
		// the delete.
		at := w.elapsed()
		require.NoError(t, a.Resign())
		second := runB.leads()
		require.Less(t, w.elapsed()-at, time.Second)
		require.Greater(t, second.term, first.term)
		require.ErrorIs(t, context.Cause(first.ctx), election.ErrResigned)
		require.ErrorIs(t, a.IsLeader(w.ctx), election.ErrNotLeader)
		require.NoError(t, b.IsLeader(w.ctx))

		time.Sleep(2 * time.Second) // until it campaigns again
		at = w.elapsed()
		require.ErrorIs(t, runB.quit(), context.Canceled)
		third := runA.leads()
		require.Less(t, w.elapsed()-at, time.Second)
		require.Greater(t, third.term, second.term)
		require.ErrorIs(t, runA.quit(), context.Canceled)
		require.ErrorIs(t, a.IsLeader(w.ctx), election.ErrNotLeader)
		require.NoError(t, a.locks.Settle(w.ctx))
		require.NoError(t, b.locks.Settle(w.ctx))
		for _, s := range w.servers {
			require.Empty(t, s.Keys())
		}
	})
}

// A leader that is cut off stops a margin before its lease ends. The next term begins after that.
func TestTheMargin(t *testing.T) {
	for _, set := range []time.Duration{0, ms, 5 * time.Second} {
		play(t, func(w *world) {
			a, b := w.client("a", election.Config{Margin: set}), w.client("b", election.Config{Margin: set})
			runA := w.start(a)
			first := runA.leads()
			runB := w.start(b)
			synctest.Wait()
			a.cut.Store(true)

			<-first.ctx.Done()
			require.Equal(t, validity-cmp.Or(set, margin), w.elapsed())
			require.ErrorIs(t, context.Cause(first.ctx), election.ErrTermOver)
			require.Empty(t, runB.terms)

			second := runB.leads()
			require.GreaterOrEqual(t, w.elapsed(), 10*time.Second, "a TTL")
			require.Less(t, w.elapsed(), 10*time.Second+300*ms)
			require.Greater(t, second.term, first.term)
			// It campaigns again, also with servers that it can't reach.
			a.cut.Store(false)
			time.Sleep(time.Minute)
			require.NoError(t, b.Resign())
			require.Greater(t, runA.leads().term, second.term)
			require.Error(t, runA.quit())
			require.Error(t, runB.quit())
		})
	}
}

// Run says that ctx ended it, whether this candidate led or not, and whatever its function returned.
func TestRunSaysThatItsContextEnded(t *testing.T) {
	errStop, errFlush := errors.New("SIGTERM"), errors.New("flush")
	play(t, func(w *world) {
		for _, returns := range []error{nil, errFlush} {
			ctx, stop := context.WithCancelCause(w.ctx)
			// If the leader is told first, the other one may lead for a moment.
			leads, ended := make(chan bool, 2), make(chan error, 2)
			for range 2 {
				e := w.client("a", election.Config{})
				go func() {
					ended <- e.Run(ctx, func(ctx context.Context, _ fencing.Token) error {
						leads <- true
						<-ctx.Done()
						return returns
					})
				}()
			}
			<-leads
			synctest.Wait()
			stop(errStop)
			told := 0
			for range 2 {
				err := <-ended
				require.ErrorIs(t, err, quorum.ErrInterrupted)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, errStop)
				if errors.Is(err, errFlush) {
					told++
				}
			}
			require.Equal(t, returns != nil, told > 0)
		}
	})
}

// After a suspension, before any timer fires, the first check says that the term is over.
func TestSuspendedLeader(t *testing.T) {
	play(t, func(w *world) {
		c := &jumpingClock{Clock: clock.New()}
		a := w.client("a", election.Config{}, func(cfg *quorum.Config) { cfg.Lab.Clock = c })
		run := w.start(a)
		leads := run.leads()
		synctest.Wait()
		c.forward(validity - margin - ms)
		require.NoError(t, a.IsLeader(w.ctx))
		require.NoError(t, leads.ctx.Err())
		c.forward(ms)
		require.ErrorIs(t, a.IsLeader(w.ctx), election.ErrNotLeader)
		require.Zero(t, a.Term())
		require.Error(t, leads.ctx.Err())
		require.ErrorIs(t, context.Cause(leads.ctx), election.ErrTermOver)
		require.ErrorIs(t, a.Resign(), election.ErrNotLeader)
		require.Greater(t, run.leads().term, leads.term, "it campaigns again")
		require.Error(t, run.quit())
	})
}

// A term ends as soon as an extension finds that a majority lost the keys.
func TestLostMajority(t *testing.T) {
	play(t, func(w *world) {
		a := w.client("a", election.Config{})
		run := w.start(a)
		first := run.leads()
		synctest.Wait()
		for _, s := range w.servers[:3] {
			s.Delete("job")
		}
		<-first.ctx.Done()
		require.Less(t, w.elapsed(), 4*time.Second)
		require.ErrorIs(t, context.Cause(first.ctx), quorum.ErrLost)
		require.Greater(t, run.leads().term, first.term)
		require.Error(t, run.quit())
	})
}

// Any process can ask for the leader.
func TestLeader(t *testing.T) {
	play(t, func(w *world) {
		a, b := w.client("a:80", election.Config{}), w.client("", election.Config{})
		_, err := b.Leader(w.ctx)
		require.ErrorIs(t, err, election.ErrNoLeader)
		run := w.start(a)
		run.leads()
		synctest.Wait()
		for _, c := range []*client{a, b} {
			leader, err := c.Leader(w.ctx)
			require.NoError(t, err)
			assert.Equal(t, "a:80", leader.ID)
			assert.Equal(t, 10*time.Second, leader.Remaining)
		}
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

// What ends Run, and what it returns.
func TestRunEnds(t *testing.T) {
	mine := errors.New("mine")
	t.Run("a leader that returns resigns", func(t *testing.T) {
		for _, want := range []error{nil, mine} {
			play(t, func(w *world) {
				a, b := w.client("a", election.Config{}), w.client("b", election.Config{})
				run := w.startWith(a, func(context.Context, fencing.Token) error { return want })
				run.leads()
				err := <-run.ended
				require.ErrorIs(t, err, want)
				next := w.start(b)
				next.leads()
				require.Zero(t, w.elapsed())
				require.Error(t, next.quit())
			})
		}
	})
	t.Run("the context of a leader that cleans up", func(t *testing.T) {
		play(t, func(w *world) {
			a, b := w.client("a", election.Config{}), w.client("b", election.Config{})
			run := w.startWith(a, func(ctx context.Context, _ fencing.Token) error {
				<-ctx.Done()
				time.Sleep(time.Minute) // nobody leads meanwhile
				return nil
			})
			run.leads()
			next := w.start(b)
			synctest.Wait()
			run.end()
			time.Sleep(time.Minute - ms)
			require.Empty(t, next.terms)
			require.ErrorIs(t, a.IsLeader(w.ctx), election.ErrNotLeader)
			require.ErrorIs(t, <-run.ended, context.Canceled)
			next.leads()
			// It pauses once if it asks before all servers have the delete.
			require.Less(t, w.elapsed(), time.Minute+time.Second)
			require.Error(t, next.quit())
		})
	})
	t.Run("the context of a candidate", func(t *testing.T) {
		play(t, func(w *world) {
			a, b := w.client("a", election.Config{}), w.client("b", election.Config{})
			leader := w.start(a)
			leader.leads()
			waits := w.start(b)
			synctest.Wait()
			err := waits.quit()
			require.ErrorIs(t, err, quorum.ErrInterrupted)
			require.ErrorIs(t, err, context.Canceled)
			require.Error(t, leader.quit())
			ended, cancel := context.WithCancel(w.ctx)
			cancel()
			require.ErrorIs(t, a.Run(ended, func(context.Context, fencing.Token) error { return nil }), quorum.ErrInterrupted)
		})
	})
	t.Run("Close", func(t *testing.T) {
		play(t, func(w *world) {
			a, b := w.client("a", election.Config{}), w.client("b", election.Config{})
			leader := w.start(a)
			leads := leader.leads()
			waits := w.start(b)
			synctest.Wait()
			require.NoError(t, a.locks.Close(w.ctx))
			require.ErrorIs(t, <-leader.ended, quorum.ErrClosed)
			require.ErrorIs(t, context.Cause(leads.ctx), quorum.ErrClosed)
			require.NoError(t, b.locks.Close(w.ctx))
			require.ErrorIs(t, <-waits.ended, quorum.ErrClosed)
		})
	})
	t.Run("keys that were gone at the release", func(t *testing.T) {
		play(t, func(w *world) {
			run := w.startWith(w.client("a", election.Config{}), func(context.Context, fencing.Token) error {
				for _, s := range w.servers {
					s.Delete("job")
				}
				return mine
			})
			err := <-run.ended
			require.ErrorIs(t, err, mine)
			require.ErrorIs(t, err, quorum.ErrNotHeld)
		})
	})
	t.Run("an error that waiting can't cure", func(t *testing.T) {
		play(t, func(w *world) {
			leader := w.start(w.client("a", election.Config{}))
			leader.leads()
			other := w.client("b", election.Config{}, func(c *quorum.Config) { c.Set.Name = "other" })
			require.ErrorIs(t, <-w.start(other).ended, quorum.ErrSetMismatch)
			require.Error(t, leader.quit())
		})
	})
	t.Run("a second Run", func(t *testing.T) {
		play(t, func(w *world) {
			a := w.client("a", election.Config{})
			run := w.start(a)
			run.leads()
			require.ErrorIs(t, a.Run(w.ctx, func(context.Context, fencing.Token) error { return nil }), election.ErrRunning)
			require.Error(t, run.quit())
			require.NoError(t, a.Run(w.ctx, func(context.Context, fencing.Token) error { return nil }), "one after the other")
		})
	})
	t.Run("a Run under its own term", func(t *testing.T) {
		play(t, func(w *world) {
			a := w.client("a", election.Config{})
			twin, err := election.New(a.locks, "job", election.Config{})
			require.NoError(t, err)
			err = a.Run(w.ctx, func(ctx context.Context, _ fencing.Token) error {
				return twin.Run(ctx, func(context.Context, fencing.Token) error { return nil })
			})
			require.ErrorIs(t, err, quorum.ErrHeldByCaller)
		})
	})
}

// A leader may resign, and lead again later. Its context has the term.
func TestALeaderResigns(t *testing.T) {
	play(t, func(w *world) {
		a, b := w.client("a", election.Config{}), w.client("b", election.Config{})
		require.ErrorIs(t, a.Resign(), election.ErrNotLeader)
		resign := make(chan struct{})
		runA := w.startWith(a, func(ctx context.Context, term fencing.Token) error {
			carried, ok := fencing.FromContext(ctx)
			assert.True(t, ok)
			assert.Equal(t, term, carried)
			<-resign
			assert.NoError(t, a.Resign())
			assert.ErrorIs(t, a.Resign(), election.ErrNotLeader)
			assert.Error(t, ctx.Err())
			return nil
		})
		first := runA.leads()
		runB := w.start(b)
		synctest.Wait()
		close(resign)
		second := runB.leads()
		require.Greater(t, second.term, first.term)
		synctest.Wait()
		require.Empty(t, runA.ended, "it campaigns again")
		require.Error(t, runB.quit())
		require.Greater(t, runA.leads().term, second.term)
		synctest.Wait() // it has resigned again
		_ = runA.quit()
	})
}

// A candidate that resigned waits for as long as others may need to try, before it leads again.
func TestTheLastLeaderStepsBack(t *testing.T) {
	play(t, func(w *world) {
		a := w.client("a", election.Config{})
		run := w.start(a)
		run.leads()
		require.NoError(t, a.Resign())
		run.leads()
		require.Equal(t, 1100*ms, w.elapsed(), "twice BackoffMax, and InstanceTimeout")
		require.NoError(t, a.Resign())
		synctest.Wait()
		require.ErrorIs(t, run.quit(), quorum.ErrInterrupted)
		require.Equal(t, 1100*ms, w.elapsed(), "not if its context ends")
	})
}

// After a panic, of a leader or of a hook, the lock is free and the Election can be used.
func TestPanics(t *testing.T) {
	for name, start := range map[string]func(w *world) (*client, func(context.Context, fencing.Token) error){
		"leader": func(w *world) (*client, func(context.Context, fencing.Token) error) {
			return w.client("a", election.Config{}), func(context.Context, fencing.Token) error { panic("leader") }
		},
		"hook": func(w *world) (*client, func(context.Context, fencing.Token) error) {
			first := true
			hook := func(c *quorum.Config) {
				c.Hooks.Acquired = func(context.Context, quorum.LeaseEvent) {
					if was := first; was {
						first = false
						panic("hook")
					}
				}
			}
			return w.client("a", election.Config{}, hook), func(context.Context, fencing.Token) error { return nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				a, lead := start(w)
				require.PanicsWithValue(t, name, func() { _ = a.Run(w.ctx, lead) })
				require.ErrorIs(t, a.IsLeader(w.ctx), election.ErrNotLeader)
				require.NoError(t, a.Run(w.ctx, func(context.Context, fencing.Token) error { return a.IsLeader(w.ctx) }))
				require.Less(t, w.elapsed(), time.Second, "the lock was free")
			})
		})
	}
}

// MaxLife bounds a term, and MaxWait bounds nothing.
func TestTermsOfTheCoordinator(t *testing.T) {
	play(t, func(w *world) {
		a := w.client("a", election.Config{}, func(c *quorum.Config) { c.MaxLife = time.Minute })
		b := w.client("b", election.Config{}, func(c *quorum.Config) { c.MaxWait, c.MaxTries = time.Second, 1 })
		runA := w.start(a)
		first := runA.leads()
		runB := w.start(b)
		second := runB.leads()
		require.Greater(t, w.elapsed(), 50*time.Second)
		require.Less(t, w.elapsed(), time.Minute+300*ms)
		require.Greater(t, second.term, first.term)
		require.Error(t, runB.quit())
		require.Error(t, runA.quit())
	})
}

// Two candidates of one process, on one Coordinator, are candidates like others.
func TestTwoCandidatesOfOneProcess(t *testing.T) {
	play(t, func(w *world) {
		a := w.client("a", election.Config{})
		twin, err := election.New(a.locks, "job", election.Config{})
		require.NoError(t, err)
		runA := w.start(a)
		first := runA.leads()
		runB := w.start(&client{Election: twin})
		synctest.Wait()
		require.NoError(t, a.Resign())
		second := runB.leads()
		require.Greater(t, second.term, first.term)
		require.Error(t, first.ctx.Err())
		require.ErrorIs(t, a.IsLeader(w.ctx), election.ErrNotLeader)
		require.NoError(t, twin.IsLeader(w.ctx))
		time.Sleep(time.Minute)
		require.NoError(t, second.ctx.Err())
		require.Error(t, runB.quit())
		require.Greater(t, runA.leads().term, second.term)
		require.Error(t, runA.quit())
	})
}

func TestBadInput(t *testing.T) {
	play(t, func(w *world) {
		a := w.client("a", election.Config{})
		with := func(cfg quorum.Config) *quorum.Coordinator {
			locks, err := quorum.New(cfg, quorumtest.NotifyingServer{Server: w.servers[0]})
			require.NoError(t, err)
			return locks
		}
		for says, input := range map[string]struct {
			locks *quorum.Coordinator
			name  string
			cfg   election.Config
		}{
			"the Coordinator is nil":        {nil, "job", election.Config{}},
			"key is empty":                  {a.locks, "", election.Config{}},
			`"a{b" has a '{' at byte 1`:     {a.locks, "a{b", election.Config{}},
			"Margin is 5.001s, want 1ms to": {a.locks, "job", election.Config{Margin: 5001 * ms}},
			"Margin is -1s":                 {a.locks, "job", election.Config{Margin: -time.Second}},
			"has Fencing Off":               {with(quorum.Config{Lab: quorum.Lab{Fencing: quorum.Off}}), "job", election.Config{}},
			"Margin is 1s, and MinValidity": {with(quorum.Config{InstanceTimeout: 4900 * ms}), "job", election.Config{}},
		} {
			_, err := election.New(input.locks, input.name, input.cfg)
			require.ErrorIs(t, err, quorum.ErrConfig, says)
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, "election: ")
		}
		require.ErrorIs(t, a.Run(w.ctx, nil), quorum.ErrConfig)
		for _, s := range w.servers {
			require.Empty(t, s.Log(), "no server was asked")
		}
	})
}

// An Election that New didn't make causes errors and no panics.
func TestZeroElection(t *testing.T) {
	ctx := t.Context()
	for _, e := range []*election.Election{nil, {}} {
		_, err := e.Leader(ctx)
		errs := []error{err, e.Run(ctx, func(context.Context, fencing.Token) error { return nil }), e.IsLeader(ctx), e.Resign()}
		for _, err := range errs {
			require.ErrorIs(t, err, quorum.ErrConfig)
			require.ErrorContains(t, err, "not made by New")
		}
		require.Zero(t, e.Term())
	}
}
