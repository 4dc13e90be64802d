package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestRoundErrorWording(t *testing.T) {
	cause := errors.New("shutting down")
	err := &quorum.RoundError{
		Op: wire.Extend, Key: "k", Verdict: quorum.ErrNoQuorum, Cause: cause, Quorum: 2,
		Votes: []quorum.Ballot{
			{Instance: "a", Vote: wire.Vote{Outcome: wire.Granted}},
			{Instance: "b", Vote: wire.Vote{Outcome: wire.Refused}},
			{Instance: "c", Vote: wire.Vote{Err: quorumtest.ErrConnRefused}},
		},
	}
	assert.EqualError(t, err, `quorum: no quorum of instances (extend "k": 1 granted, 1 refused, 1 failed; quorum is 2 of 3): shutting down; c: quorumtest: connection refused`)
	for _, want := range []error{quorum.ErrNoQuorum, cause, quorumtest.ErrConnRefused} {
		assert.ErrorIs(t, err, want)
	}
	assert.NotErrorIs(t, err, quorum.ErrTaken)
	var inst *quorum.InstanceError
	require.ErrorAs(t, err, &inst)
	assert.Equal(t, quorum.InstanceError{Instance: "c", Op: wire.Extend, Err: quorumtest.ErrConnRefused}, *inst)
	assert.EqualError(t, inst, "c: extend: quorumtest: connection refused")

	err.Op, err.Verdict, err.Cause, err.Holder = wire.Acquire, quorum.ErrTaken, nil, &quorum.Holder{Key: "k"}
	assert.ErrorContains(t, err, `quorum is 2 of 3): the votes are split between clients that ask at the same time; c: `)
}

// What several servers say alike about their quarantines is said once, with their names.
func TestQuarantinesAreToldOnce(t *testing.T) {
	in := func(name, detail string, reason quorum.QuarantineReason) quorum.Ballot {
		return quorum.Ballot{Instance: name, Vote: wire.Vote{Err: &quorum.QuarantineError{Reason: reason, Detail: detail, Remaining: 29 * time.Second}}}
	}
	err := &quorum.RoundError{Op: wire.Acquire, Key: "k", Verdict: quorum.ErrNoQuorum, Quorum: 3, Votes: []quorum.Ballot{
		in("a", "it came up 1s ago", quorum.Restarted), in("b", "its run ID changed", quorum.Restarted), in("c", "it came up 2.5s ago", quorum.Restarted),
		in("d", "it came up 1s ago", quorum.ClockJumped), {Instance: "e", Vote: wire.Vote{Err: quorum.ErrTimeout}},
	}}
	text := regexp.MustCompile(`; wait[^;]*`).ReplaceAllString(err.Error(), "; WAIT")
	assert.Equal(t, `quorum: no quorum of instances (acquire "k": 5 failed; quorum is 3 of 5)`+
		"; a, similarly c: instance is in quarantine for 29s: it came up 1s ago; WAIT"+
		"; b: instance is in quarantine for 29s: its run ID changed; WAIT"+
		"; d: instance is in quarantine for 29s: it came up 1s ago; WAIT"+
		"; e: instance did not answer in time", text)
}

// An instance whose vote was not needed has not failed, and a round that was cut short had votes
// that it still needed.
func TestPendingVotesAreNoFailures(t *testing.T) {
	votes := []quorum.Ballot{
		{Instance: "a", Vote: wire.Vote{Outcome: wire.Refused}},
		{Instance: "b", Vote: wire.Vote{Outcome: wire.Refused}},
		{Instance: "c", Vote: wire.Vote{Err: quorum.ErrPending}},
	}
	for verdict, pending := range map[error]string{
		quorum.ErrTaken: "", quorum.ErrNotHeld: "", quorum.ErrUnsettled: "",
		quorum.ErrInterrupted: ", 1 not answered yet", quorum.ErrClosed: ", 1 not answered yet",
	} {
		err := &quorum.RoundError{Op: wire.Acquire, Key: "k", Verdict: verdict, Quorum: 2, Votes: votes}
		assert.EqualError(t, err, verdict.Error()+` (acquire "k": 2 refused`+pending+`; quorum is 2 of 3)`)
		assert.ErrorIs(t, err, quorum.ErrPending)
	}
	votes[0].Vote, votes[1].Vote = wire.Vote{Err: quorum.ErrTimeout}, wire.Vote{Err: quorum.ErrTimeout}
	err := &quorum.RoundError{Op: wire.Acquire, Key: "k", Verdict: quorum.ErrNoQuorum, Quorum: 2, Votes: votes}
	assert.ErrorContains(t, err, "2 failed, 1 not waited for; quorum is 2 of 3", "beside failures it would look healthy")
}

// A round whose token no quorum confirmed reports the errors of the raises.
func TestUnsettledTokenShowsTheRaises(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.lag(ms) // so that all three have voted
		f.counters(10, 30, 20)
		denied := permanentError{true}
		f.each(func(s *quorumtest.Server) {
			s.SetFate(func(cmd wire.Request) (fate quorumtest.Fate) {
				switch {
				case cmd.Op == wire.Raise:
					fate.Err = denied
				case cmd.Op == wire.Acquire && s != f.servers[1]:
					fate.Before = 2 * ms // so that the largest vote is among the first
				}
				return fate
			})
		})
		_, err := f.TryAcquire(f.ctx, "k")
		require.ErrorIs(f.t, err, quorum.ErrUnsettled)
		require.ErrorIs(f.t, err, denied)
		assert.ErrorContains(f.t, err, `: `+denied.Error())
		var inst *quorum.InstanceError
		require.ErrorAs(f.t, err, &inst)
		assert.Equal(f.t, wire.Raise, inst.Op)
		var round *quorum.RoundError
		require.ErrorAs(f.t, err, &round)
		assert.NotEmpty(f.t, round.Raises)
		f.requireNothingLeft()

		// If nothing helps the raises, waiting doesn't either.
		f.counters(10, 30, 20)
		_, err = f.Acquire(f.ctx, "k")
		require.ErrorIs(f.t, err, quorum.ErrUnsettled)
		assert.NotErrorIs(f.t, err, quorum.ErrExhausted)
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) { cfg.MaxWait = time.Minute })
	err := &quorum.RoundError{Op: wire.Acquire, Key: "k", Verdict: quorum.ErrUnsettled, Quorum: 1,
		Votes:  []quorum.Ballot{{Instance: "a", Vote: wire.Vote{Outcome: wire.Granted}}},
		Raises: []quorum.Ballot{{Instance: "a", Vote: wire.Vote{Outcome: wire.Refused}}},
	}
	assert.EqualError(t, err, quorum.ErrUnsettled.Error()+` (acquire "k": 1 granted; quorum is 1 of 1); a: its key was gone`)
}

// Clients that disagree on the set get an error other than ErrTaken.
func TestOtherSetIsNoLockThatIsTaken(t *testing.T) {
	theirs := wire.Set{Name: "theirs", Version: 3, N: 3, Q: 2}
	for name, c := range map[string]struct {
		other, held, down []int
		verdict           error
	}{
		"all":                 {other: []int{0, 1, 2, 3, 4}, verdict: wire.ErrSetMismatch},
		"enough":              {other: []int{0, 1, 2}, verdict: wire.ErrSetMismatch},
		"with failures":       {other: []int{0, 1}, down: []int{2}, verdict: wire.ErrSetMismatch},
		"one of the refusals": {other: []int{0}, held: []int{1, 2, 3, 4}, verdict: quorum.ErrTaken},
		"but it is down":      {other: []int{0, 1}, down: []int{2, 3, 4}, verdict: quorum.ErrNoQuorum},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				f.warm()
				for _, i := range c.other {
					f.servers[i].PutSet(theirs)
				}
				for _, i := range c.held {
					f.occupy("k", time.Hour, i)
				}
				for _, i := range c.down {
					f.kill(i)
				}
				if len(c.down) == 3 {
					f.lag(ms, c.other...) // so that the failures decide
				}
				_, err := f.TryAcquire(f.ctx, "k")
				var round *quorum.RoundError
				require.ErrorAs(f.t, err, &round)
				assert.Equal(f.t, c.verdict, round.Verdict)
				assert.Equal(f.t, c.verdict == quorum.ErrTaken, errors.Is(err, quorum.ErrTaken))
				f.requireNothingLeft()
			})
		})
	}
}

func TestWaitErrorText(t *testing.T) {
	last := &quorum.RoundError{Op: wire.Acquire, Key: "k", Verdict: quorum.ErrTaken, Quorum: 2}
	cause := fmt.Errorf("%w: %w", context.Canceled, errors.New("shutting down"))
	err := &quorum.WaitError{Key: "k", Tries: 3, Waited: 1500*ms + 7*time.Microsecond, Verdict: quorum.ErrInterrupted, Cause: cause, Last: last}
	assert.EqualError(t, err, `quorum: interrupted by the caller's context ("k": 3 tries in 1.5s): canceled: shutting down; last: lock is taken (no instance was asked)`)
	for _, want := range []error{quorum.ErrInterrupted, context.Canceled, quorum.ErrTaken} {
		assert.ErrorIs(t, err, want)
	}
	bare := &quorum.WaitError{Key: "k", Verdict: quorum.ErrExhausted}
	assert.Equal(t, []error{quorum.ErrExhausted}, bare.Unwrap())
	assert.EqualError(t, bare, `quorum: gave up waiting for the lock ("k": 0 tries in 0s)`)
}

// The cause of the caller's context is in the error, in a round as in a wait. "canceled" never
// means anything else.
func TestTheCallersCauseIsVisible(t *testing.T) {
	why := errors.New("the request was aborted")
	play(t, 5, func(f *fixture) {
		f.hang(0, 1, 2)
		interrupted := func(call func(ctx context.Context) error) error {
			ctx, cancel := context.WithCancelCause(f.ctx)
			defer cancel(nil)
			time.AfterFunc(10*ms, func() { cancel(why) })
			return call(ctx)
		}
		for name, call := range map[string]func(ctx context.Context) error{
			"try":     func(ctx context.Context) error { _, err := f.TryAcquire(ctx, "k"); return err },
			"acquire": func(ctx context.Context) error { _, err := f.Acquire(ctx, "k"); return err },
			"do": func(ctx context.Context) error {
				return f.Do(ctx, "k", func(context.Context, *quorum.Lease) error { return nil })
			},
			"inspect": func(ctx context.Context) error { _, err := f.Inspect(ctx, "k"); return err },
			"verify":  func(ctx context.Context) error { _, err := f.Verify(ctx); return err },
		} {
			err := interrupted(call)
			for _, want := range []error{quorum.ErrInterrupted, context.Canceled, why} {
				require.ErrorIs(t, err, want, name)
			}
			assert.NotErrorIs(t, err, context.DeadlineExceeded, name)
			assert.NotErrorIs(t, err, quorum.ErrTaken, name)
			assert.ErrorContains(t, err, why.Error(), name)
		}

		// A deadline of the caller's context.
		ctx, cancel := context.WithTimeout(f.ctx, 250*ms)
		defer cancel()
		_, err := f.Acquire(ctx, "k")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.ErrorIs(t, err, wire.ErrTimeout, "and the reason for the wait is there as well")

		// An instance's timeout is none.
		_, err = f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, wire.ErrTimeout)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, quorum.ErrInterrupted)
	})
}

// breaker is an instance that breaks the contract on errors.
type breaker struct {
	*quorumtest.Server
	err error
}

func (b *breaker) Send(_ wire.Request, _ time.Duration, to wire.Receiver) {
	to.Receive(wire.Vote{Err: b.err})
}

func TestInstancesCannotPassForTheCaller(t *testing.T) {
	for _, own := range []error{context.DeadlineExceeded, context.Canceled, os.ErrDeadlineExceeded, fmt.Errorf("read: %w", context.DeadlineExceeded), nil} {
		synctest.Test(t, func(t *testing.T) {
			c, err := quorum.New(quorum.Config{Lab: quorum.Lab{RestartQuarantine: quorum.Off}}, &breaker{quorumtest.NewServer("a", nil), own})
			require.NoError(t, err)
			_, err = c.TryAcquire(context.Background(), "k")
			require.ErrorIs(t, err, quorum.ErrNoQuorum)
			for _, no := range []error{context.DeadlineExceeded, context.Canceled, os.ErrDeadlineExceeded, quorum.ErrInterrupted} {
				assert.NotErrorIs(t, err, no)
			}
			if own != nil {
				assert.ErrorIs(t, err, wire.ErrTimeout)
			} else {
				assert.ErrorContains(t, err, "gave no reason")
			}
			require.NoError(t, c.Close(context.Background()))
		})
	}
}

func TestTypedErrorsUnwrapAndSpeak(t *testing.T) {
	for _, c := range []struct {
		err  error
		is   error
		says []string
	}{
		{&quorum.QuarantineError{Reason: quorum.Restarted, Detail: "seen", Remaining: 1500 * ms}, quorum.ErrQuarantined, []string{"seen", "1.5s", "Trust"}},
		{&quorum.QuarantineError{Reason: quorum.ClockJumped, Detail: "seen"}, quorum.ErrQuarantined, []string{"seen", "time service"}},
		{&wire.SetMismatchError{Mine: wire.Set{Name: "a", N: 5, Q: 3}, Theirs: "b@1 N=3 Q=2"}, wire.ErrSetMismatch, []string{"a@0 N=5 Q=3", "b@1 N=3 Q=2", "Config.Set.Version"}},
	} {
		assert.ErrorIs(t, c.err, c.is)
		for _, text := range c.says {
			assert.ErrorContains(t, c.err, text)
		}
	}
	assert.Equal(t, "reason(9)", quorum.QuarantineReason(9).String())
}
