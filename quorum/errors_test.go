package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

func TestRoundErrorSaysItInstanceByInstance(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.occupy("orders/42", time.Minute, 0)
		f.kill(1)
		f.identify(truth, 2)
		f.hang(3)
		_, err := f.TryAcquire(f.ctx, "orders/42")
		var round *quorum.RoundError
		require.ErrorAs(t, err, &round)
		assert.Equal(t, quorum.Acquire, round.Op)
		assert.Equal(t, "orders/42", round.Key)
		assert.Equal(t, 3, round.Quorum)
		assert.NoError(t, round.Cause)
		names := ""
		for _, ballot := range round.Votes {
			names += ballot.Instance
		}
		assert.Equal(t, "ABCDE", names)
		assert.ErrorIs(t, err, round.Verdict)
		text := err.Error()
		assert.True(t, strings.HasPrefix(text, round.Verdict.Error()), text)
		assert.Contains(t, text, `(acquire "orders/42": `)
		assert.Contains(t, text, "quorum is 3 of 5)")
		assert.NotContains(t, text, "\n")
		for _, ballot := range round.Votes {
			if ballot.Vote.Err != nil {
				assert.Contains(t, text, "; "+ballot.Instance+": "+ballot.Vote.Err.Error())
				assert.ErrorIs(t, err, ballot.Vote.Err)
			}
		}
	})
}

func TestRoundErrorWording(t *testing.T) {
	cause := errors.New("shutting down")
	err := &quorum.RoundError{
		Op: quorum.Extend, Key: "k", Verdict: quorum.ErrNoQuorum, Cause: cause, Quorum: 2,
		Votes: []quorum.Ballot{
			{Instance: "a", Vote: quorum.Vote{Outcome: quorum.Granted}},
			{Instance: "b", Vote: quorum.Vote{Outcome: quorum.Refused}},
			{Instance: "c", Vote: quorum.Vote{Err: quorumtest.ErrConnRefused}},
		},
	}
	assert.EqualError(t, err, `quorum: no quorum of instances (extend "k": 1 granted, 1 refused, 1 failed; quorum is 2 of 3): shutting down; c: quorumtest: connection refused`)
	for _, want := range []error{quorum.ErrNoQuorum, cause, quorumtest.ErrConnRefused} {
		assert.ErrorIs(t, err, want)
	}
	assert.NotErrorIs(t, err, quorum.ErrTaken)
	var inst *quorum.InstanceError
	require.ErrorAs(t, err, &inst)
	assert.Equal(t, quorum.InstanceError{Instance: "c", Op: quorum.Extend, Err: quorumtest.ErrConnRefused}, *inst)
	assert.EqualError(t, inst, "c: extend: quorumtest: connection refused")
}

func TestWaitErrorText(t *testing.T) {
	last := &quorum.RoundError{Op: quorum.Acquire, Key: "k", Verdict: quorum.ErrTaken, Quorum: 2}
	cause := fmt.Errorf("%w: %w", context.Canceled, errors.New("shutting down"))
	err := &quorum.WaitError{Key: "k", Tries: 3, Waited: 1500*ms + 7*time.Microsecond, Verdict: quorum.ErrInterrupted, Cause: cause, Last: last}
	assert.EqualError(t, err, `quorum: interrupted by the caller's context ("k": 3 tries in 1.5s): context canceled: shutting down; last: quorum: lock is taken (acquire "k": 0 granted, 0 refused, 0 failed; quorum is 2 of 0)`)
	for _, want := range []error{quorum.ErrInterrupted, context.Canceled, quorum.ErrTaken} {
		assert.ErrorIs(t, err, want)
	}
	bare := &quorum.WaitError{Key: "k", Verdict: quorum.ErrExhausted}
	assert.Equal(t, []error{quorum.ErrExhausted}, bare.Unwrap())
	assert.EqualError(t, bare, `quorum: gave up waiting for the lock ("k": 0 tries in 0s)`)
}

// The caller's end shows with its cause, in a round as in a wait; and "canceled"
// never means anything else.
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

		// A deadline of the caller's.
		ctx, cancel := context.WithTimeout(f.ctx, 250*ms)
		defer cancel()
		_, err := f.Acquire(ctx, "k")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.ErrorIs(t, err, quorum.ErrTimeout, "and why it had to wait is there as well")

		// And an instance's is none.
		_, err = f.TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrTimeout)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, quorum.ErrInterrupted)
	})
}

// breaker is an instance that breaks the contract of errors.
type breaker struct {
	*quorumtest.Server
	err error
}

func (b *breaker) Do(context.Context, quorum.Command) quorum.Vote { return quorum.Vote{Err: b.err} }

func TestInstancesCannotPassForTheCaller(t *testing.T) {
	for _, own := range []error{context.DeadlineExceeded, context.Canceled, os.ErrDeadlineExceeded, fmt.Errorf("read: %w", context.DeadlineExceeded), nil} {
		synctest.Test(t, func(t *testing.T) {
			c, err := quorum.New(quorum.Config{RestartQuarantine: quorum.Off}, &breaker{quorumtest.NewServer("a", nil), own})
			require.NoError(t, err)
			_, err = c.TryAcquire(context.Background(), "k")
			require.ErrorIs(t, err, quorum.ErrNoQuorum)
			for _, no := range []error{context.DeadlineExceeded, context.Canceled, os.ErrDeadlineExceeded, quorum.ErrInterrupted} {
				assert.NotErrorIs(t, err, no)
			}
			if own != nil {
				assert.ErrorIs(t, err, quorum.ErrTimeout)
			} else {
				assert.ErrorContains(t, err, "gave no reason")
			}
			require.NoError(t, c.Close(context.Background()))
		})
	}
}

func TestSentinelsAreToldApart(t *testing.T) {
	all := map[string]error{
		"config": quorum.ErrConfig, "taken": quorum.ErrTaken, "no quorum": quorum.ErrNoQuorum, "slow": quorum.ErrTooSlow,
		"race": quorum.ErrTokenRace, "interrupted": quorum.ErrInterrupted, "exhausted": quorum.ErrExhausted, "lost": quorum.ErrLost,
		"expired": quorum.ErrExpired, "not extended": quorum.ErrNotExtended, "released": quorum.ErrReleased, "not held": quorum.ErrNotHeld,
		"unreachable": quorum.ErrUnreachable, "closed": quorum.ErrClosed, "timeout": quorum.ErrTimeout, "overloaded": quorum.ErrOverloaded,
		"quarantined": quorum.ErrQuarantined, "duplicate": quorum.ErrDuplicate, "set": quorum.ErrSetMismatch, "replicated": quorum.ErrNotReplicated,
		"master": quorum.ErrNotMaster, "eviction": quorum.ErrEviction, "hidden": quorum.ErrHidden, "pending": quorum.ErrPending,
	}
	for a, err := range all {
		assert.True(t, strings.HasPrefix(err.Error(), "quorum: "), "%v", err)
		for b, other := range all {
			same := a == b || a == "expired" && b == "lost"
			assert.Equal(t, same, errors.Is(err, other), "%s, %s", a, b)
		}
	}
}

func TestTypedErrorsUnwrapAndSpeak(t *testing.T) {
	for _, c := range []struct {
		err  error
		is   error
		says []string
	}{
		{&quorum.QuarantineError{Reason: quorum.Restarted, Detail: "seen", Remaining: 1500 * ms}, quorum.ErrQuarantined, []string{"restarted", "seen", "1.5s", "Trust"}},
		{&quorum.QuarantineError{Reason: quorum.ClockJumped, Detail: "seen"}, quorum.ErrQuarantined, []string{"clock jumped", "time service"}},
		{&quorum.SetMismatchError{Mine: quorum.Set{Name: "a", N: 5, Q: 3}, Theirs: "b@1 N=3 Q=2"}, quorum.ErrSetMismatch, []string{"a@0 N=5 Q=3", "b@1 N=3 Q=2", "Config.Set.Version"}},
		{&quorum.DuplicateError{Instance: "a", Other: "b", RunID: "r"}, quorum.ErrDuplicate, []string{`"a"`, `"b"`, "run id r"}},
	} {
		assert.ErrorIs(t, c.err, c.is)
		for _, text := range c.says {
			assert.ErrorContains(t, c.err, text)
		}
	}
	assert.Equal(t, "reason(9)", quorum.QuarantineReason(9).String())
}
