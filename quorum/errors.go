package quorum

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum/internal/quarantine"
	"github.com/redquorum/redlock/quorum/wire"
)

// The errors, for errors.Is. An error that comes from a round is a *RoundError, which has
// each instance's answer. An error that Is context.Canceled or context.DeadlineExceeded means
// that the caller's context ended, and it also Is one of these. The timeout of an instance Is
// ErrTimeout.
var (
	// ErrTaken: another client or another goroutine of this process has the lock, or several
	// clients ask for it at once. RoundError.Holder says who, as far as that is known.
	ErrTaken = errors.New("quorum: lock is taken")

	// ErrSplit: the votes were split between clients that tried at the same time, and within six
	// InstanceTimeouts this client neither won nor saw which client did. It isn't ErrTaken,
	// because perhaps nobody has the lock. If a client died and left its key on the instance that
	// decides between clients, tries whose votes are split get ErrSplit until that key has
	// expired. Try again, or use Acquire, which asks all instances each time.
	ErrSplit = errors.New("quorum: votes are split, and no client was seen to get the lock")

	// ErrHeldByCaller: the caller's context belongs to a lease on the same key (Lease.Context,
	// Lease.Within, or the context that Do passes to its work), and that lease isn't over. The
	// caller would wait for itself. Use the lease, release it first, or ask with a context that
	// isn't the lease's. It isn't ErrTaken.
	ErrHeldByCaller = errors.New("quorum: the caller has this lock already")

	// ErrNoQuorum: too few instances answered to tell whether the lock is held.
	ErrNoQuorum = errors.New("quorum: no quorum of instances")

	// ErrTooSlow: a quorum granted, but so late that no validity was left, or less than
	// Terms.MinValidity.
	ErrTooSlow = errors.New("quorum: acquired too late, no validity left")

	// ErrUnsettled: a quorum granted, but no quorum of instances could agree on a fencing token:
	// keys were lost meanwhile, or the servers' clocks are further apart than half of MaxTTL.
	ErrUnsettled = errors.New("quorum: fencing token was not settled on a quorum")

	// ErrInterrupted: the caller's context ended a round or a wait. The error also Is the
	// context's error and cause.
	ErrInterrupted = errors.New("quorum: interrupted by the caller's context")

	// ErrExhausted: Acquire gave up after Terms.MaxTries or Terms.MaxWait. The error also Is the
	// last round's error: ErrTaken if another client has the lock, ErrNoQuorum in an outage.
	ErrExhausted = errors.New("quorum: gave up waiting for the lock")

	// ErrLost: the lease is not held any more: its deadline has passed, its keys are gone, or
	// it reached Terms.MaxLife.
	ErrLost = errors.New("quorum: lease is lost")

	// ErrExpired: the deadline has passed. It Is ErrLost as well.
	ErrExpired = fmt.Errorf("%w: its deadline has passed", ErrLost)

	// ErrNotExtended: an extension didn't win a quorum. The lease lasts until its old
	// deadline.
	ErrNotExtended = errors.New("quorum: lease was not extended")

	// ErrReleased: the lease was released or left (Lease.Leave) before.
	ErrReleased = errors.New("quorum: lease was released")

	// ErrHandedOff: the lease was handed off to another process (Lease.HandOff).
	ErrHandedOff = errors.New("quorum: lease was handed off")

	// ErrNotHeld: the release found the lease on no quorum. It had expired, or another client
	// had taken it over, and the holder worked without it.
	ErrNotHeld = errors.New("quorum: lease was not held any more")

	// ErrUnreachable: too few instances answered a release to tell whether the lease was held.
	// The deletes stay pending until the other instances answer.
	ErrUnreachable = errors.New("quorum: release reached no quorum of instances")

	// ErrClosed: the Coordinator was closed.
	ErrClosed = errors.New("quorum: coordinator is closed")

	// ErrQuarantined: an instance's server may not vote yet, see QuarantineError.
	ErrQuarantined = errors.New("quorum: instance is in quarantine")

	// ErrDuplicate: two of the instances are the same server.
	ErrDuplicate = errors.New("quorum: two instances are one server")

	// ErrEviction: the server may drop locks when its memory is full.
	ErrEviction = errors.New("quorum: server may evict locks")

	// ErrHidden: the server doesn't tell what a safety feature needs to know.
	ErrHidden = errors.New("quorum: server hides what the quarantine must know")
)

// The errors of instances. Package wire says what they mean.
var (
	ErrConfig        = wire.ErrConfig
	ErrTimeout       = wire.ErrTimeout
	ErrOverloaded    = wire.ErrOverloaded
	ErrOtherRun      = wire.ErrOtherRun
	ErrSetMismatch   = wire.ErrSetMismatch
	ErrCounter       = wire.ErrCounter
	ErrNotReplicated = wire.ErrNotReplicated
	ErrNotMaster     = wire.ErrNotMaster
)

// InstanceError is one instance's part in a failure.
type InstanceError struct {
	// Instance is its name.
	Instance string
	// Op is what it was asked for.
	Op wire.Op
	// Err says why.
	Err error
}

func (e *InstanceError) Error() string {
	return e.Instance + ": " + e.Op.String() + ": " + e.Err.Error()
}

func (e *InstanceError) Unwrap() error { return e.Err }

// RoundError is a round that was not won, with each instance's answer. It unwraps to its
// verdict (ErrTaken, ErrNoQuorum, ...), to the caller's context error if that ended the round,
// and to an *InstanceError for each instance that failed.
type RoundError struct {
	// Op is what the round was for: Acquire, Extend, Release or Look.
	Op wire.Op
	// Key is the resource, and Also are the others of a round for several.
	Key  string
	Also []string
	// Verdict says how the round ended: one of this package's errors.
	Verdict error
	// Cause is the cause of the caller's context, if that ended the round.
	Cause error
	// Quorum is how many votes were needed.
	Quorum int
	// Votes has every instance's ballot, in the Coordinator's order. It is empty if no
	// instance was asked.
	Votes []Ballot
	// Raises says why instances that granted don't have the token. The raise of a counter
	// failed, found the key gone (refused, without an error), or could not help. Or a counter
	// or clock was too far from the others. It is set only with ErrUnsettled, or if the round
	// ended while counters were being raised.
	Raises []Ballot
	// Holder is the holder of a lock that is taken, nil if it is unknown. It has no Value. It has
	// the Owner and the Note of another client if the instances reported them, which they usually
	// do from the second try on. Inspect always finds them. Held is true if a quorum of the
	// instances reported the same holder; otherwise the votes may be split between clients.
	Holder *Holder
}

// ErrPending marks the vote of an instance that had not answered, or not been
// asked, when its round was decided.
var ErrPending = errors.New("quorum: no answer yet when the round was decided")

// WaitError is an Acquire that gave up. It unwraps to its verdict (ErrExhausted,
// ErrInterrupted or ErrClosed), to the context's error and cause, and to the last round's
// error.
type WaitError struct {
	// Key is the resource, and Also are the others of an AcquireAll.
	Key  string
	Also []string
	// Tries is how many tries there were (see Terms.MaxTries), and Waited how long they took.
	// Without MaxTries only the first of several looks in a row at a lock of this process is
	// counted.
	Tries  int
	Waited time.Duration
	// Verdict says why it ended: one of this package's errors.
	Verdict error
	// Cause is the error of the caller's context, with its cause, if that ended it.
	Cause error
	// Last is the error of the last round; nil if there was none.
	Last error
}

func (e *WaitError) Error() string {
	text := fmt.Sprintf("%v (%v: %s in %v)", e.Verdict, append(keys{e.Key}, e.Also...), count(e.Tries, "try", "tries"), e.Waited.Round(time.Millisecond)) + causeText(e.Cause)
	if round, ok := e.Last.(*RoundError); ok {
		text += "; last: " + plain(round.text(round.counts())) // it is known what the round was for
	} else if e.Last != nil {
		text += "; last: " + plain(e.Last.Error())
	}
	return text
}

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// Unwrap returns the verdict, the context's error and the last round's.
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

// causeOf is a context's error, together with its cause if that differs.
func causeOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// interrupted is the error for a call that the caller's context ended.
func interrupted(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrInterrupted, causeOf(ctx))
}

// permanent reports whether waiting can't cure an instance's failure: the error says so by a
// method Permanent, or the configuration is wrong.
func permanent(err error) bool {
	var own interface{ Permanent() bool }
	if errors.As(err, &own) {
		return own.Permanent()
	}
	return errors.Is(err, ErrSetMismatch) || errors.Is(err, ErrDuplicate) || errors.Is(err, ErrCounter) || errors.Is(err, ErrConfig) ||
		errors.Is(err, ErrEviction) || errors.Is(err, ErrHidden)
}

func (e *RoundError) Error() string {
	round := fmt.Sprintf("%s %v: %s", e.Op, append(keys{e.Key}, e.Also...), e.counts())
	if t := outcomesOf(e.Votes); e.Verdict == ErrNoQuorum && t.failed > 0 && t.pending > 0 {
		round += fmt.Sprintf(", %d not waited for", t.pending) // else they would look healthy
	}
	if len(e.Votes) > 0 {
		round += fmt.Sprintf("; quorum is %d of %d", e.Quorum, len(e.Votes))
	}
	return e.text(round)
}

// text is the error's text, with the words about the round.
func (e *RoundError) text(round string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v (%s)", e.Verdict, round)
	if h := e.Holder; h != nil {
		r := rivalsIn(e.Votes)
		if !h.Here && !h.Held && (r.granted > 0 || r.different > 1) {
			b.WriteString(": the votes are split between clients that ask at the same time")
		} else {
			b.WriteString(": " + h.text())
		}
	}
	b.WriteString(causeText(e.Cause))
	if errors.Is(e.Verdict, ErrTooSlow) {
		b.WriteString("; if it recurs, raise TTL or look for pauses of this process")
	}
	e.tell(&b, e.Votes, "")
	e.tell(&b, e.Raises, "its key was gone")
	return b.String()
}

// counts says how many instances gave which answer. It leaves out those that a round that was decided didn't wait for:
// nothing is wrong with them as far as is known.
func (e *RoundError) counts() string {
	if len(e.Votes) == 0 {
		return "no instance was asked"
	}
	t := outcomesOf(e.Votes)
	if t.pending < len(e.Votes) && !errors.Is(e.Verdict, ErrInterrupted) && !errors.Is(e.Verdict, ErrClosed) {
		t.pending = 0
	}
	var parts []string
	for i, n := range [...]int{t.granted, t.refused, t.failed, t.pending} {
		if n > 0 {
			parts = append(parts, fmt.Sprint(n, [...]string{" granted", " refused", " failed", " not answered yet"}[i]))
		}
	}
	return strings.Join(parts, ", ")
}

// tell says why instances failed: once for all that failed alike, also if they differ in numbers. without is why those
// failed that have no error.
func (e *RoundError) tell(b *strings.Builder, ballots []Ballot, without string) {
	type reason struct{ instances, text, kind string }
	var reasons []reason
	for _, ballot := range ballots {
		text := without
		if err := ballot.Vote.Err; err != nil && err != ErrPending {
			text = strings.TrimPrefix(plain(err.Error()), plain(e.Verdict.Error())+": ")
			text = strings.ReplaceAll(text, " "+ballot.Instance+":", ":") // as package net says it
		}
		kind := numbers.ReplaceAllString(text, "")
		i := slices.IndexFunc(reasons, func(r reason) bool { return r.kind == kind })
		switch {
		case text == "":
		case i < 0:
			reasons = append(reasons, reason{ballot.Instance, text, kind})
		case reasons[i].text == text:
			reasons[i].instances += ", " + ballot.Instance
		default:
			reasons[i].instances += ", similarly " + ballot.Instance
		}
	}
	for _, r := range reasons {
		fmt.Fprintf(b, "; %s: %s", r.instances, r.text)
	}
}

// numbers are addresses, IDs and times, also hexadecimal ones, which differ though the reason is the same.
var numbers = regexp.MustCompile(`[0-9a-f.]+`)

// plain is a text without the names of packages. They tell where an error is from, and the whole text begins with one.
func plain(text string) string { return packageNames.Replace(": " + text)[len(": "):] }

var packageNames = strings.NewReplacer(": quorum: ", ": ", "; quorum: ", "; ", ": instance: ", ": ")

// causeText is the cause of a text that has named the caller's context.
func causeText(cause error) string {
	if cause == nil {
		return ""
	}
	return ": " + strings.TrimPrefix(cause.Error(), "context ")
}

// Unwrap returns the verdict, the context's cause and the instances' errors.
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

// QuarantineReason says why an instance may not vote.
type QuarantineReason uint8

// The reasons.
const (
	// Restarted: less than MaxTTL ago the server came up, was promoted, replaced another
	// server, or was first used under the instance's name. It may have lost votes.
	Restarted QuarantineReason = iota + 1
	// ClockJumped: the server's clock jumped, so that votes may have expired early.
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

// QuarantineError is the vote of an instance whose server may not vote yet. It Is
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
	return fmt.Sprintf("%v for %v: %s; %s", ErrQuarantined, e.Remaining.Round(100*time.Millisecond), e.Detail, e.fix())
}

// quarantineError is the vote of an instance in quarantine, nil if it may vote.
func quarantineError(v quarantine.Exclusion) *QuarantineError {
	if v.MayVote() {
		return nil
	}
	reason := Restarted
	if v.Jumped {
		reason = ClockJumped
	}
	return &QuarantineError{Reason: reason, Detail: v.Detail, Remaining: v.Remaining, Until: v.Until}
}

// fix is what to do about it.
func (e *QuarantineError) fix() string {
	if e.Reason == ClockJumped {
		return "wait, and check its time service"
	}
	return "wait, or call Coordinator.Trust if it never held a lock"
}

func (e *QuarantineError) Unwrap() error { return ErrQuarantined }
