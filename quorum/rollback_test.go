package quorum_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// Whenever the caller's context ends, the error says so and no key stays behind.
func TestInterruptedAtEachStep(t *testing.T) {
	steps := []struct {
		name    string
		prepare func(f *fixture)
		op      wire.Op // the request at which it ends; 0 is before the call
		server  int
		after   time.Duration // how long after that request was sent
		verdict error
	}{
		{name: "before the call", verdict: quorum.ErrInterrupted},
		{name: "as the first SET is sent", op: wire.Acquire, server: 0, verdict: quorum.ErrInterrupted},
		{name: "as the last SET is sent", op: wire.Acquire, server: 4, verdict: quorum.ErrInterrupted},
		{name: "while the SETs travel", op: wire.Acquire, after: 5 * ms, verdict: quorum.ErrInterrupted},
		{name: "while the replies travel", op: wire.Acquire, after: 15 * ms, verdict: quorum.ErrInterrupted},
		{
			name: "when two have granted", op: wire.Acquire, after: 15 * ms, verdict: quorum.ErrInterrupted,
			prepare: func(f *fixture) { f.each(func(s *quorumtest.Server) { s.SetFate(nil) }, 0, 1) },
		}, {
			name: "when two have refused", op: wire.Acquire, after: 15 * ms, verdict: quorum.ErrInterrupted,
			prepare: func(f *fixture) {
				f.occupy("k", time.Hour, 0, 1)
				f.each(func(s *quorumtest.Server) { s.SetFate(nil) }, 0, 1)
			},
		}, {
			name: "while hung instances are waited for", op: wire.Acquire, after: 60 * ms, verdict: quorum.ErrInterrupted,
			prepare: func(f *fixture) { f.hang(0, 1, 2) },
		}, {
			name: "as a counter is raised", op: wire.Raise, server: 0, verdict: quorum.ErrInterrupted,
			prepare: spreadCounters,
		}, {
			name: "while counters are raised", op: wire.Raise, server: 0, after: 15 * ms, verdict: quorum.ErrInterrupted,
			prepare: spreadCounters,
		}, {
			// The round was decided before, so its result stands.
			name: "as a lost round is rolled back", op: wire.Release, server: 4, verdict: quorum.ErrTaken,
			prepare: func(f *fixture) {
				f.occupy("k", time.Hour, 0, 1, 2)
				f.each(func(s *quorumtest.Server) { s.SetFate(nil) }, 3, 4)
			},
		}, {
			name: "while a lost round is rolled back", op: wire.Release, server: 4, after: 5 * ms, verdict: quorum.ErrNoQuorum,
			prepare: func(f *fixture) { f.kill(0, 1, 2) },
		},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				f.warm()
				f.each(func(s *quorumtest.Server) {
					s.Delay(func(wire.Request) time.Duration { return 10 * ms }, func(wire.Request) time.Duration { return 10 * ms })
				})
				if step.prepare != nil {
					step.prepare(f)
				}
				ctx, cancel := context.WithCancelCause(f.ctx)
				stop := func() { cancel(errReason) }
				switch {
				case step.op == 0:
					stop()
				default:
					f.servers[step.server].OnCommand(func(cmd wire.Request) {
						if cmd.Op == step.op && step.after == 0 {
							stop()
						} else if cmd.Op == step.op {
							time.AfterFunc(step.after, stop)
						}
					})
				}
				lease, err := f.TryAcquire(ctx, "k")
				require.Nil(f.t, lease)
				require.ErrorIs(f.t, err, step.verdict)
				interrupted := step.verdict == quorum.ErrInterrupted
				for _, cause := range []error{quorum.ErrInterrupted, context.Canceled, errReason} {
					require.Equal(f.t, interrupted, errors.Is(err, cause))
				}
				require.NotErrorIs(f.t, err, context.DeadlineExceeded)
				f.each((*quorumtest.Server).Resume)
				f.each(func(s *quorumtest.Server) { s.Start(true) })
				stop() // may have had no occasion yet
				f.requireNothingLeft()
			})
		})
	}
}

var errReason = errors.New("the user closed the window")

// spreadCounters gives each instance a different counter, so that a round has to raise them.
func spreadCounters(f *fixture) {
	for i, s := range f.servers {
		// A's is the lowest, so it has to be raised whichever others vote in time.
		s.PutCounter("k", quorumToken(100*(i+1)))
	}
}

// Scenario S9: a delete is sent only after the SET that it undoes has ended.
func TestDeleteNeverOvertakesItsSet(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.warm()
		// E's SET takes 60 ms to arrive; its delete would take no time.
		f.servers[4].SetFate(only(wire.Acquire, quorumtest.Fate{Before: 60 * ms}))
		type sent struct {
			op wire.Op
			at time.Duration
		}
		var log []sent
		f.servers[4].OnCommand(func(cmd wire.Request) { log = append(log, sent{cmd.Op, f.elapsed()}) })
		lease := f.acquire("k")
		time.Sleep(10 * ms)
		f.giveBack(lease)
		assert.Equal(f.t, []sent{{wire.Acquire, 0}, {wire.Release, 60 * ms}}, log)
		assert.Equal(f.t, wire.Granted, f.log(4)[len(f.log(4))-1].Vote.Outcome, "one delete was enough")
	})
}

// Without randomness two rounds could share a value. So nothing is sent, and waiting doesn't help.
func TestWithoutRandomnessNothingIsSent(t *testing.T) {
	broken := errors.New("no entropy")
	for name, reader := range map[string]io.Reader{
		"an error": iotest.ErrReader(broken), "too little": io.MultiReader(io.LimitReader(zeroes{}, 19), iotest.ErrReader(broken)),
	} {
		t.Run(name, func(t *testing.T) {
			h := &hookLog{t: t}
			play(t, 3, func(f *fixture) {
				f.tryFails("k", broken)
				assert.Empty(f.t, h.take(), "a round that can't begin is neither started nor decided")
				_, err := f.Acquire(f.ctx, "k")
				require.ErrorIs(f.t, err, broken)
				assert.ErrorContains(f.t, err, "Config.Lab.Random")
				for _, not := range []error{quorum.ErrTaken, quorum.ErrNoQuorum, quorum.ErrInterrupted, quorum.ErrExhausted} {
					assert.NotErrorIs(f.t, err, not)
				}
				assert.Zero(f.t, f.elapsed())
				for i := range f.servers {
					assert.Empty(f.t, f.log(i))
				}
			}, h.install, func(cfg *quorum.Config) { cfg.Lab.Random = reader })
		})
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }
