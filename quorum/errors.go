package quorum

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What went wrong, for errors.Is. An error that comes from a round is a
// *RoundError, which says it instance by instance. A context's own error is
// reported beside these, never instead: an error that Is context.Canceled or
// context.DeadlineExceeded means that the caller's context ended, and nothing
// else does (an instance's time-out Is ErrTimeout).
var (
	// ErrConfig: a value in a Config, a key or a handle can't be used. The
	// message names it, says why, and what to do.
	ErrConfig = errors.New("quorum: bad configuration")

	// ErrTaken: so many instances refused that the lock is somebody else's, or
	// was being fought over.
	ErrTaken = errors.New("quorum: lock is taken")

	// ErrNoQuorum: too few instances answered to tell. It says nothing of
	// whether the lock is held.
	ErrNoQuorum = errors.New("quorum: no quorum of instances")

	// ErrTooSlow: a quorum granted, but so late that the lease would have had
	// no validity left, or less than Terms.MinValidity.
	ErrTooSlow = errors.New("quorum: lease would be over before it began")

	// ErrTokenRace: a quorum granted, but the fencing token could not be made
	// the same on a quorum.
	ErrTokenRace = errors.New("quorum: fencing token was not settled on a quorum")

	// ErrInterrupted: the caller's context ended a round or a wait. The context's
	// error and cause are beside it.
	ErrInterrupted = errors.New("quorum: interrupted by the caller's context")

	// ErrExhausted: Acquire gave up after Terms.MaxTries or Terms.MaxWait. The
	// last round's error is beside it.
	ErrExhausted = errors.New("quorum: gave up waiting for the lock")

	// ErrLost: the lease is not held any more (its deadline has passed, its
	// keys are gone, or its life reached Terms.MaxLife).
	ErrLost = errors.New("quorum: lease is lost")

	// ErrExpired: the deadline has passed. It Is ErrLost as well.
	ErrExpired = fmt.Errorf("%w: its deadline has passed", ErrLost)

	// ErrNotExtended: an extension didn't win a quorum. The lease stands until
	// its old deadline.
	ErrNotExtended = errors.New("quorum: lease was not extended")

	// ErrReleased: the lease was released before.
	ErrReleased = errors.New("quorum: lease was released")

	// ErrNotHeld: at its release the lease was found on no quorum: it had
	// expired or was taken over, and its holder worked without it.
	ErrNotHeld = errors.New("quorum: lease was not held any more")

	// ErrUnreachable: at the release too few instances answered to tell. What
	// is owed to the others is delivered when they answer again.
	ErrUnreachable = errors.New("quorum: release reached no quorum of instances")

	// ErrClosed: the Coordinator was closed.
	ErrClosed = errors.New("quorum: coordinator is closed")

	// ErrTimeout: an instance didn't answer within Config.InstanceTimeout.
	ErrTimeout = errors.New("quorum: instance did not answer in time")

	// ErrOverloaded: an instance has Config.MaxInFlight commands unanswered.
	ErrOverloaded = errors.New("quorum: too many commands unanswered by this instance")

	// ErrQuarantined: an instance may not vote yet, see QuarantineError.
	ErrQuarantined = errors.New("quorum: instance is in quarantine")

	// ErrDuplicate: two of the instances are the same server.
	ErrDuplicate = errors.New("quorum: two instances are one server")

	// ErrSetMismatch: clients disagree on the set of instances, see
	// SetMismatchError.
	ErrSetMismatch = errors.New("quorum: clients disagree on the set of instances")

	// ErrNotReplicated: a grant wasn't acknowledged by as many replicas as the
	// instance demands.
	ErrNotReplicated = errors.New("quorum: grant was not acknowledged by enough replicas")

	// ErrNotMaster: the server is a replica or something else that takes no
	// locks.
	ErrNotMaster = errors.New("quorum: server is not a master")

	// ErrEviction: the server may drop locks when its memory is full.
	ErrEviction = errors.New("quorum: server may evict locks")

	// ErrHidden: the server doesn't tell what a safety feature needs to know.
	ErrHidden = errors.New("quorum: server hides what the quarantine must know")
)

// InstanceError is what one instance had to do with a failure.
type InstanceError struct {
	// Instance is its name.
	Instance string
	// Op is what it was asked.
	Op Op
	// Err says why.
	Err error
}

func (e *InstanceError) Error() string {
	return e.Instance + ": " + e.Op.String() + ": " + e.Err.Error()
}

func (e *InstanceError) Unwrap() error { return e.Err }

// RoundError is a round that was not won, instance by instance. It unwraps to
// its verdict (ErrTaken, ErrNoQuorum, ...), to the caller's context error where
// that ended the round, and to an *InstanceError for each instance that failed.
type RoundError struct {
	// Op is what the round was for: Acquire, Extend, Release or Look.
	Op Op
	// Key is the resource.
	Key string
	// Verdict says how the round ended: one of this package's errors.
	Verdict error
	// Cause is the cause of the caller's context, if that ended the round.
	Cause error
	// Quorum is how many votes were needed.
	Quorum int
	// Votes has every instance's part, in the Coordinator's order.
	Votes []Ballot
}

// Ballot is one instance's part in a round.
type Ballot struct {
	// Instance is its name.
	Instance string
	// Vote is its answer. In a round that was decided before it answered, it
	// has failed with ErrPending.
	Vote Vote
	// Latency is the time from sending to the answer, 0 while it is pending.
	Latency time.Duration
}

// ErrPending marks the vote of an instance that had not answered, or not been
// asked, when its round was decided.
var ErrPending = errors.New("quorum: no answer yet when the round was decided")

// WaitError is an Acquire that gave up. It unwraps to its verdict
// (ErrExhausted, ErrInterrupted or ErrClosed), to the context's error and cause,
// and to the last round's error.
type WaitError struct {
	// Key is the resource.
	Key string
	// Tries is how many rounds were tried, Waited how long.
	Tries  int
	Waited time.Duration
	// Verdict says who ended it: one of this package's errors.
	Verdict error
	// Cause is the error of the caller's context, with its cause, if that
	// ended it.
	Cause error
	// Last is the error of the last round; nil if there was none.
	Last error
}

func (e *WaitError) Error() string {
	text := fmt.Sprintf("%v (%q: %d tries in %v)", e.Verdict, e.Key, e.Tries, e.Waited.Round(time.Millisecond))
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	if e.Last != nil {
		text += "; last: " + e.Last.Error()
	}
	return text
}

// Unwrap gives the verdict, the context's error and the last round's.
func (e *WaitError) Unwrap() []error {
	errs := []error{e.Verdict}
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	if e.Last != nil {
		errs = append(errs, e.Last)
	}
	return errs
}

// causeOf is a context's error together with its cause, where that says more.
func causeOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// permanent reports whether waiting can't cure an instance's failure: it says so
// itself, by a method Permanent, or the configuration is at fault.
func permanent(err error) bool {
	var own interface{ Permanent() bool }
	if errors.As(err, &own) {
		return own.Permanent()
	}
	return errors.Is(err, ErrSetMismatch) || errors.Is(err, ErrDuplicate)
}

func (e *RoundError) Error() string {
	var b strings.Builder
	b.WriteString(e.Verdict.Error())
	granted, refused, failed := count(e.Votes)
	fmt.Fprintf(&b, " (%s %q: %d granted, %d refused, %d failed; quorum is %d of %d)",
		e.Op, e.Key, granted, refused, failed, e.Quorum, len(e.Votes))
	if e.Cause != nil {
		b.WriteString(": " + e.Cause.Error())
	}
	for _, ballot := range e.Votes {
		if ballot.Vote.Err != nil {
			b.WriteString("; " + ballot.Instance + ": " + ballot.Vote.Err.Error())
		}
	}
	return b.String()
}

// Unwrap gives the verdict, the context's cause and the instances' errors.
func (e *RoundError) Unwrap() []error {
	errs := make([]error, 0, 2+len(e.Votes))
	errs = append(errs, e.Verdict)
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	for _, ballot := range e.Votes {
		if ballot.Vote.Err != nil {
			errs = append(errs, &InstanceError{Instance: ballot.Instance, Op: e.Op, Err: ballot.Vote.Err})
		}
	}
	return errs
}

func count(votes []Ballot) (granted, refused, failed int) {
	for _, ballot := range votes {
		switch ballot.Vote.Outcome {
		case Granted:
			granted++
		case Refused:
			refused++
		default:
			failed++
		}
	}
	return granted, refused, failed
}

// QuarantineReason says why an instance may not vote.
type QuarantineReason uint8

// The reasons.
const (
	// Restarted: the server came up less than a maximal TTL ago, or is not the
	// one that was here before; it may have forgotten votes.
	Restarted QuarantineReason = iota + 1
	// ClockJumped: the server's clock was stepped; it may have expired votes
	// early.
	ClockJumped
)

// String names the reason.
func (r QuarantineReason) String() string {
	switch r {
	case Restarted:
		return "restarted"
	case ClockJumped:
		return "clock jumped"
	default:
		return fmt.Sprintf("reason(%d)", uint8(r))
	}
}

// QuarantineError is the vote of an instance that may not vote yet. It Is
// ErrQuarantined.
type QuarantineError struct {
	Reason QuarantineReason
	// Detail says what was seen.
	Detail string
	// Remaining is how long the quarantine still lasts.
	Remaining time.Duration
	// Until is when it ends, by the client's wall clock.
	Until time.Time
}

func (e *QuarantineError) Error() string {
	mend := "or call Coordinator.Trust if you know that no lock was given out before, or that none was lost"
	if e.Reason == ClockJumped {
		mend = "see to its time service"
	}
	return fmt.Sprintf("%v (%v): %s; it votes again in %v, from %s on; wait, %s",
		ErrQuarantined, e.Reason, e.Detail, e.Remaining.Round(time.Millisecond),
		e.Until.Format("15:04:05.000"), mend)
}

func (e *QuarantineError) Unwrap() error { return ErrQuarantined }

// SetMismatchError is the vote of an instance that was last used under another
// Set. It Is ErrSetMismatch.
type SetMismatchError struct {
	// Mine is this client's set, Theirs the one that the instance remembers, as
	// it keeps it.
	Mine   Set
	Theirs string
}

func (e *SetMismatchError) Error() string {
	return fmt.Sprintf("%v: this client has %q, the instance was last used with %q; "+
		"give all clients the same instances, or, to change the set, stop the clients of the old one, wait for one TTL and raise Config.Set.Version",
		ErrSetMismatch, e.Mine, e.Theirs)
}

func (e *SetMismatchError) Unwrap() error { return ErrSetMismatch }

// DuplicateError is the vote of an instance that is the same server as another
// one. It Is ErrDuplicate.
type DuplicateError struct {
	// Instance and Other are the two names, RunID is the server's.
	Instance, Other, RunID string
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%v: %q and %q have the run id %s; list each server once",
		ErrDuplicate, e.Instance, e.Other, e.RunID)
}

func (e *DuplicateError) Unwrap() error { return ErrDuplicate }

// timeoutError hides the deadline error of an instance's own time-out, so that
// errors.Is(err, context.DeadlineExceeded) speaks of the caller's context alone.
type timeoutError struct {
	after time.Duration
	text  string
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("%v: after %v: %s", ErrTimeout, e.after, e.text)
}

func (e *timeoutError) Unwrap() error { return ErrTimeout }
