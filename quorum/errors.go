package quorum

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// What went wrong, for errors.Is. An error that comes from a round is a
// *RoundError, which says it instance by instance. A context's own error is
// reported beside these, never instead: an error that Is context.Canceled or
// context.DeadlineExceeded means that the caller's context ended, and nothing
// else does (an instance's time-out Is ErrTimeout).
var (
	// ErrConfig: a value in a Config, a key or a handle can't be used. The
	// message names it, says why, and what to do.
	ErrConfig = wire.ErrConfig

	// ErrTaken: another client has the lock, or another goroutine of this process, or
	// several are asking for it. RoundError.Holder says who, as far as that is known.
	ErrTaken = errors.New("quorum: lock is taken")

	// ErrHeldByCaller: the context that the lock was asked for with belongs to a lease on
	// the same key (Lease.Context, Lease.Within, or the one that Do gives to its work),
	// which isn't over. To wait would be to wait for oneself, and another try has the same
	// end: use the lease, or release it first, or ask with a context that isn't the
	// lease's. It isn't ErrTaken.
	ErrHeldByCaller = errors.New("quorum: the caller has this lock already")

	// ErrNoQuorum: too few instances answered to tell. It says nothing of
	// whether the lock is held.
	ErrNoQuorum = errors.New("quorum: no quorum of instances")

	// ErrTooSlow: a quorum granted, but so late that the lease would have had
	// no validity left, or less than Terms.MinValidity.
	ErrTooSlow = errors.New("quorum: lease would be over before it began")

	// ErrTokenRace: a quorum granted, but the fencing token could not be made
	// the same on a quorum: keys were lost meanwhile, or the servers' clocks are
	// further apart than half of MaxTTL.
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

	// ErrHandedOff: the lease was handed off to another process (Lease.HandOff).
	ErrHandedOff = errors.New("quorum: lease was handed off")

	// ErrNotHeld: at its release the lease was found on no quorum: it had
	// expired or was taken over, and its holder worked without it.
	ErrNotHeld = errors.New("quorum: lease was not held any more")

	// ErrUnreachable: at the release too few instances answered to tell. What
	// is owed to the others is delivered when they answer again.
	ErrUnreachable = errors.New("quorum: release reached no quorum of instances")

	// ErrClosed: the Coordinator was closed.
	ErrClosed = errors.New("quorum: coordinator is closed")

	// ErrTimeout: an instance didn't answer within Config.InstanceTimeout.
	ErrTimeout = wire.ErrTimeout

	// ErrOverloaded: there is too much under way already. As the verdict on a round for a
	// lock: the rounds of this Coordinator take so long that no more are begun; no
	// instance was asked, and Acquire tries again. As an instance's error: it has
	// Config.MaxInFlight commands unanswered, or is owed Config.MaxPendingDeletes deletes; in the
	// second case the error of the last delete that failed is beside it.
	ErrOverloaded = wire.ErrOverloaded

	// ErrQuarantined: an instance may not vote yet, see QuarantineError.
	ErrQuarantined = errors.New("quorum: instance is in quarantine")

	// ErrOtherRun: another server answered than the one that was asked, or another
	// run of it, see RunError.
	ErrOtherRun = wire.ErrOtherRun

	// ErrDuplicate: two of the instances are the same server.
	ErrDuplicate = errors.New("quorum: two instances are one server")

	// ErrSetMismatch: clients disagree on the set of instances, see
	// SetMismatchError.
	ErrSetMismatch = wire.ErrSetMismatch

	// ErrCounter: the resource's counter on an instance can't be used, see CounterError.
	ErrCounter = wire.ErrCounter

	// ErrNotReplicated: a grant wasn't acknowledged by as many replicas as the
	// instance demands.
	ErrNotReplicated = wire.ErrNotReplicated

	// ErrNotMaster: the server is a replica or something else that takes no
	// locks.
	ErrNotMaster = wire.ErrNotMaster

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
	Op wire.Op
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
	Op wire.Op
	// Key is the resource.
	Key string
	// Verdict says how the round ended: one of this package's errors.
	Verdict error
	// Cause is the cause of the caller's context, if that ended the round.
	Cause error
	// Quorum is how many votes were needed.
	Quorum int
	// Votes has every instance's part, in the Coordinator's order; none if no
	// instance was asked.
	Votes []Ballot
	// Raises has what kept instances that granted from having the token: a raise
	// of their counter that failed, that found the key gone (refused, without an
	// error), or that could not help; or a counter or clock too far from the others'. Only with ErrTokenRace, or where the round
	// ended while counters were being raised.
	Raises []Ballot
	// Holder is who has the lock that is taken, as far as that is known; else nil. Of a
	// lock of this process, or that other goroutines of it ask for, it has no Value.
	Holder *Holder
}

// Ballot is one instance's part in a round.
type Ballot struct {
	// Instance is its name.
	Instance string
	// Vote is its answer. In a round that was decided before it answered, its
	// outcome is Failed and its error ErrPending: it was not waited for.
	Vote wire.Vote
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
	// Tries is how many tries there were (see Terms.MaxTries; without MaxTries only the
	// first of several looks in a row at a lock of this process is counted), Waited how
	// long they took.
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
	return errors.Is(err, ErrSetMismatch) || errors.Is(err, ErrDuplicate) || errors.Is(err, ErrCounter)
}

func (e *RoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v (%s %q", e.Verdict, e.Op, e.Key)
	switch {
	case len(e.Votes) > 0:
		t := count(e.Votes)
		fmt.Fprintf(&b, ": %d granted, %d refused, %d failed", t.granted, t.refused, t.failed)
		if t.pending > 0 {
			fmt.Fprintf(&b, ", %d %s", t.pending, e.pending())
		}
		fmt.Fprintf(&b, "; quorum is %d of %d", e.Quorum, len(e.Votes))
	case e.Holder == nil:
		b.WriteString(": no instance was asked")
	}
	b.WriteString(")")
	if e.Holder != nil {
		b.WriteString(": " + e.Holder.text())
	}
	if e.Cause != nil {
		b.WriteString(": " + e.Cause.Error())
	}
	for _, ballot := range e.Votes {
		if err := ballot.Vote.Err; err != nil && err != ErrPending {
			b.WriteString("; " + ballot.Instance + ": " + err.Error())
		}
	}
	for _, ballot := range e.Raises {
		fmt.Fprintf(&b, "; %s: %s: ", ballot.Instance, wire.Raise)
		if ballot.Vote.Err != nil {
			b.WriteString(ballot.Vote.Err.Error())
		} else {
			b.WriteString("its key was gone")
		}
	}
	return b.String()
}

// pending says why votes are missing. A round that was decided needed no more of
// them: these instances are sound, as far as is known.
func (e *RoundError) pending() string {
	if errors.Is(e.Verdict, ErrInterrupted) || errors.Is(e.Verdict, ErrClosed) {
		return "not answered yet"
	}
	return "not waited for"
}

// Unwrap gives the verdict, the context's cause and the instances' errors.
func (e *RoundError) Unwrap() []error {
	errs := make([]error, 0, 2+len(e.Votes)+len(e.Raises))
	errs = append(errs, e.Verdict)
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	add := func(op wire.Op, ballots []Ballot) {
		for _, ballot := range ballots {
			if ballot.Vote.Err != nil {
				errs = append(errs, &InstanceError{Instance: ballot.Instance, Op: op, Err: ballot.Vote.Err})
			}
		}
	}
	add(e.Op, e.Votes)
	add(wire.Raise, e.Raises)
	return errs
}

// counts are the ballots of a round by what became of them.
type counts struct{ granted, refused, failed, pending int }

func count(votes []Ballot) (t counts) {
	for _, ballot := range votes {
		switch {
		case ballot.Vote.Outcome == wire.Granted:
			t.granted++
		case ballot.Vote.Outcome == wire.Refused:
			t.refused++
		//guard:pending-is-no-failure  a vote that wasn't needed is not counted as a failure
		case ballot.Vote.Err == ErrPending:
			t.pending++
		default:
			t.failed++
		}
	}
	return t
}

// QuarantineReason says why an instance may not vote.
type QuarantineReason uint8

// The reasons.
const (
	// Restarted: the server came up or was promoted less than MaxTTL ago, or is not
	// the one that was here before, or no client has used its name for it for as long;
	// it may lack votes that were given.
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
	return fmt.Sprintf("%v (%v): %s; it votes again in %v, from %s on; %s",
		ErrQuarantined, e.Reason, e.Detail, e.Remaining.Round(time.Millisecond),
		e.Until.Format("15:04:05.000"), e.fix())
}

// fix is what to do about it.
func (e *QuarantineError) fix() string {
	if e.Reason == ClockJumped {
		return "wait, see to its time service"
	}
	return "wait, or call Coordinator.Trust if you know that no lock was given out before, or that none was lost"
}

func (e *QuarantineError) Unwrap() error { return ErrQuarantined }

// RoleError is the vote of an instance that is no independent master. It Is
// ErrNotMaster.
type RoleError struct {
	// Role is what it says it is, as in Identity.Role.
	Role string
}

func (e *RoleError) Error() string {
	switch e.Role {
	case wire.RoleSentinel:
		return fmt.Sprintf("%v but a Sentinel; list the masters that it watches, each by its own address", ErrNotMaster)
	case wire.RoleCluster:
		return fmt.Sprintf("%v of its own but a node of a cluster, which can give keys to other nodes; list independent servers (cluster-enabled no)", ErrNotMaster)
	case "slave":
		return fmt.Sprintf("%v but a replica (slave), or was demoted to one; list masters only, and don't let anything fail over between them", ErrNotMaster)
	default:
		return fmt.Sprintf("%v but a %s; list masters only", ErrNotMaster, e.Role)
	}
}

func (e *RoleError) Unwrap() error { return ErrNotMaster }

// Permanent reports that a Sentinel or a node of a cluster won't become a master. A
// replica may: by a promotion, or because its name leads to another server.
func (e *RoleError) Permanent() bool {
	return e.Role == wire.RoleSentinel || e.Role == wire.RoleCluster
}

// roleError is nil for a master, and for a server that doesn't tell.
func roleError(id wire.Identity) error {
	if id.Role == "" || id.Role == wire.RoleMaster {
		return nil
	}
	return &RoleError{Role: id.Role}
}

// DuplicateError is the vote of an instance that is the same server as another
// one. It Is ErrDuplicate.
type DuplicateError struct {
	// Instance and Other are the two names, RunID is the server's run ID or, if that
	// is hidden, its replication ID.
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
