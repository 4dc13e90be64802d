package quorum

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Hooks are functions that a Coordinator calls when something happens. A nil hook costs
// nothing. A hook is called on the goroutine that does the work, so it must be quick and must
// not call the Coordinator. Several goroutines may call it at once. Extensions by KeepAlive that
// go out together share one goroutine. Contexts carry the values of the call that acquired the lease,
// or of the call itself.
type Hooks struct {
	// RoundStarted: a round to acquire or extend is about to be sent. If a lease is passed on to
	// the caller (wire.Pass), RoundStarted and RoundDecided are both called once that is decided;
	// if the lease can't be passed on, neither is called. Released may be called for the previous
	// lease at the same time.
	RoundStarted func(ctx context.Context, e RoundStart)
	// RoundDecided: the same round is won or lost. Instances that had not answered by then
	// have ErrPending in its ballots.
	RoundDecided func(ctx context.Context, e RoundEnd)
	// WaitStarted: an Acquire enters this process's wait queue for the key, also if the lock is
	// free and it doesn't wait for long. WaitEnded: the Acquire has left the queue, with a lease
	// or without. It follows each WaitStarted, and comes before Acquired. TryAcquire, and an
	// Acquire whose arguments are refused, enter no queue.
	WaitStarted func(ctx context.Context, e WaitStart)
	WaitEnded   func(ctx context.Context, e WaitEnd)
	// Acquired: a caller gets a lease: it won a round, called Resume, or a lease was passed on to
	// it.
	Acquired func(ctx context.Context, e LeaseEvent)
	// Extended: a lease has a new deadline.
	Extended func(ctx context.Context, e LeaseEvent)
	// Released: a release was decided, and Err is what Release returned. Or the lease was
	// handed off, and Err is ErrHandedOff, or left, and Err is what Leave returned.
	Released func(ctx context.Context, e LeaseEvent)
	// Lost: a lease ended without a release; Err says why. It is called on the first goroutine
	// that notices, which may be in Lease.Validity, Lease.Err, Lease.Release or the Err of a
	// lease's context. So don't take a lock that callers of these hold.
	Lost func(e LeaseEvent)
	// Waiting: no lock can be taken, because too few instances may vote, as at a first start, or
	// because no quorum has answered for a second. An Acquire that waits or a TryAcquire calls
	// it, and only once until a quorum answers. Default: a warning by slog.Default, so that a
	// program that waits for its first lock says why. Set an empty function for none.
	Waiting func(ctx context.Context, e WaitEvent)
	// Quarantined: a quarantine of an instance's server begins.
	Quarantined func(e QuarantineEvent)
	// ClockJumped: the clock of an instance's server jumped.
	ClockJumped func(e ClockEvent)
	// Unprotected: a server hides its run, or may evict locks. If it hides its run, its restarts
	// go unnoticed, or are noticed only by its uptime, its promotions go unnoticed, and counters
	// of an earlier run look like those of the present one. An eviction is never noticed. Called
	// once per instance and reason, when the server is asked who it is: at the first lock, after
	// a restart, and by Verify.
	Unprotected func(e UnprotectedEvent)
	// CannotNotify: an instance cannot notify waiters, so they poll. Called once per instance,
	// and not for an instance that just doesn't answer.
	CannotNotify func(e CannotNotifyEvent)
}

// RoundStart is the beginning of a round.
type RoundStart struct {
	Op  wire.Op
	Key string
	// Also has the other keys of a round for several.
	Also []string
	// Try counts the tries of one Acquire from 1 (Terms.MaxTries). A try may be a look, without
	// a round.
	Try int
}

// RoundEnd is the end of a round.
type RoundEnd struct {
	Op   wire.Op
	Key  string
	Also []string
	Try  int
	// Started is the client's wall clock at the start, and Took the time to the decision.
	Started time.Time
	Took    time.Duration
	// Token is the fencing token, if the round was won and was to acquire.
	Token fencing.Token
	// Validity is the lease's validity when the round was won.
	Validity time.Duration
	// Ballots has every instance's vote and latency.
	Ballots []Ballot
	// Err is nil for a round that was won.
	Err error
}

// WaitStart is the beginning of an Acquire.
type WaitStart struct {
	Key string
	// Also has the other keys of an AcquireAll.
	Also []string
	// Waiters is how many goroutines are in the wait queue for Key, this one included.
	Waiters int
}

// WaitEnd is the end of an Acquire.
type WaitEnd struct {
	Key  string
	Also []string
	// Started is the client's wall clock at the call of Acquire, and Waited the time since.
	Started time.Time
	Waited  time.Duration
	// Tries is how many tries there were, as in WaitError: 0 if the lease was passed on by
	// another goroutine of this process before the first one.
	Tries int
	// Here: a goroutine of this process had the lock, or waited for it before this one.
	// Elsewhere: a round found that another client had the lock, or asked for it, too. Both are
	// false if the lock was free, and both may be true after a longer wait.
	Here, Elsewhere bool
	// Token is the fencing token, if it ended with a lease.
	Token fencing.Token
	// Err is what Acquire returns, nil if it ended with a lease. A *WaitError says why it
	// was given up.
	Err error
}

// LeaseEvent is an event of a lease.
type LeaseEvent struct {
	Key string
	// Also has the other keys of a lease on several.
	Also  []string
	Token fencing.Token
	// Validity is how long the lease may still be used; in Released, how long it could have been
	// when the release began; 0 in Lost.
	Validity time.Duration
	// Held is how long the lease had been held.
	Held time.Duration
	// Err says why it ended (Lost), or what came of its release (Released, nil as a rule). Nil in Acquired and
	// Extended.
	Err error
	// Left: in Released, the lease was left (Lease.Leave). Its keys stay until they expire, so the
	// lock is not free yet.
	Left bool
}

// WaitEvent says why no lock can be taken.
type WaitEvent struct {
	// Key is the resource that the caller asked for.
	Key string
	// For is how long it takes until a quorum may vote, unless another quarantine begins. 0 if
	// enough may vote, but don't answer.
	For time.Duration
	// Quarantined is how many of the Instances may not vote.
	Quarantined, Instances int
	// Err says why the first of them may not, and what to do.
	Err *QuarantineError
	// Lasted is for how long no quorum has answered, and Last the error of the last round, if For
	// is 0.
	Lasted time.Duration
	Last   error
}

// String describes the wait in a sentence.
func (e WaitEvent) String() string {
	if e.Last != nil {
		return fmt.Sprintf("no lock could be taken for %v: %s", e.Lasted.Round(100*time.Millisecond), Redact(e.Last.Error()))
	}
	text := fmt.Sprintf("no lock can be taken for %v: %d of %d instances don't vote yet",
		e.For.Round(100*time.Millisecond), e.Quarantined, e.Instances)
	if e.Err != nil {
		text += " (" + e.Err.Detail + "); " + e.Err.fix()
	}
	return text
}

// logWaiting is what Hooks.Waiting does unless it is set.
func logWaiting(ctx context.Context, e WaitEvent) {
	slog.Default().WarnContext(ctx, "redlock: "+e.String(), "key", e.Key)
}

// QuarantineEvent is the beginning of a quarantine.
type QuarantineEvent struct {
	Instance string
	Err      *QuarantineError
}

// ClockEvent is a jump of a server's clock.
type ClockEvent struct {
	Instance string
	Jump     drift.Jump
	// Everywhere is set in one of the events if all servers' clocks moved in the same direction,
	// by about the same amount, at once. Then either this machine was paused or suspended, as by
	// a live migration, or the servers share a wrong time source.
	Everywhere bool
}

// UnprotectedEvent says what a server hides, or that it may evict locks.
type UnprotectedEvent struct {
	Instance string
	Hidden   []string
	// Eviction is the server's maxmemory-policy if that isn't noeviction; Hidden is nil then.
	Eviction string
}

// CannotNotifyEvent says why an instance cannot notify waiters.
type CannotNotifyEvent struct {
	Instance string
	Err      error
}

// And returns hooks that call both: h first, then other. A hook that is nil in both stays
// nil.
func (h Hooks) And(other Hooks) Hooks {
	return Hooks{
		RoundStarted: bothWithin(h.RoundStarted, other.RoundStarted),
		RoundDecided: bothWithin(h.RoundDecided, other.RoundDecided),
		WaitStarted:  bothWithin(h.WaitStarted, other.WaitStarted),
		WaitEnded:    bothWithin(h.WaitEnded, other.WaitEnded),
		Acquired:     bothWithin(h.Acquired, other.Acquired),
		Extended:     bothWithin(h.Extended, other.Extended),
		Released:     bothWithin(h.Released, other.Released),
		Lost:         both(h.Lost, other.Lost),
		Waiting:      bothWithin(h.Waiting, other.Waiting),
		Quarantined:  both(h.Quarantined, other.Quarantined),
		ClockJumped:  both(h.ClockJumped, other.ClockJumped),
		Unprotected:  both(h.Unprotected, other.Unprotected),
		CannotNotify: both(h.CannotNotify, other.CannotNotify),
	}
}

func bothWithin[E any](first, second func(context.Context, E)) func(context.Context, E) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(ctx context.Context, e E) {
		first(ctx, e)
		second(ctx, e)
	}
}

func both[E any](first, second func(E)) func(E) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(e E) {
		first(e)
		second(e)
	}
}

// tellStart calls RoundStarted.
func (h *Hooks) tellStart(ctx context.Context, op wire.Op, all keys, try int) {
	if started := h.RoundStarted; started != nil {
		started(ctx, RoundStart{Op: op, Key: all[0], Also: all.others(), Try: try})
	}
}
