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

// Hooks are told what a Coordinator does. Each may be nil and then costs
// nothing. They are called on the goroutine that does the work, so they must be
// quick and must not call the Coordinator, and they may be called from several
// goroutines at once; contexts carry the caller's values.
type Hooks struct {
	// RoundStarted: a round to acquire or extend is about to be sent.
	RoundStarted func(ctx context.Context, e RoundStart)
	// RoundDecided: the same round is won or lost. Instances that had not
	// answered by then have ErrPending in its ballots: they were not waited for.
	RoundDecided func(ctx context.Context, e RoundEnd)
	// Acquired: a lease was handed out: by a round that was won, by Resume, or by another
	// goroutine that gave it back (see Config.Cohorts).
	Acquired func(ctx context.Context, e LeaseEvent)
	// Extended: a lease has a new deadline.
	Extended func(ctx context.Context, e LeaseEvent)
	// Released: a release was decided; Err is what Release returned. Or the lease was
	// handed off, and Err is ErrHandedOff.
	Released func(ctx context.Context, e LeaseEvent)
	// Lost: a lease ended without a release; Err says why.
	Lost func(e LeaseEvent)
	// Waiting: an Acquire waits because too few instances may vote, as on a first
	// start. Told once until they may. Default: a warning by slog.Default, so that a
	// program that waits for its first lock says why; an empty function keeps quiet.
	Waiting func(ctx context.Context, e WaitEvent)
	// Quarantined: an instance may not vote for a while.
	Quarantined func(e QuarantineEvent)
	// ClockJumped: an instance's clock was stepped.
	ClockJumped func(e ClockEvent)
	// Unprotected: an instance hides its run, so that its restarts will not be
	// noticed, or only by its uptime, nor its promotions, and a counter that it comes
	// back with can't be told from one of its present run. Told once an instance.
	Unprotected func(e UnprotectedEvent)
	// CannotNotify: an instance can't call those who wait for a lock, who poll
	// instead. Told once an instance; not for one that just doesn't answer.
	CannotNotify func(e CannotNotifyEvent)
}

// RoundStart is the beginning of a round.
type RoundStart struct {
	Op  wire.Op
	Key string
	// Try counts the rounds of one Acquire from 1.
	Try int
}

// RoundEnd is the end of a round.
type RoundEnd struct {
	Op  wire.Op
	Key string
	Try int
	// Started is the client's wall clock at the start, Took the time to the
	// decision.
	Started time.Time
	Took    time.Duration
	// Token is the fencing token of a round to acquire that was won.
	Token fencing.Token
	// Validity is what the lease had left when a round was won.
	Validity time.Duration
	// Ballots has every instance's vote and latency.
	Ballots []Ballot
	// Err is nil for a round that was won.
	Err error
}

// LeaseEvent is something that happened to a lease.
type LeaseEvent struct {
	Key      string
	Token    fencing.Token
	Validity time.Duration
	// Held is how long the lease had been held.
	Held time.Duration
	Err  error
}

// WaitEvent is a wait for instances that may not vote yet.
type WaitEvent struct {
	// Key is the first resource that is waited for, of all.
	Key string
	// For is how long it takes until a quorum may vote, if nothing else comes.
	For time.Duration
	// Quarantined and Instances are how many may not vote, and of how many.
	Quarantined, Instances int
	// Err is why the first of them may not, with what to do.
	Err *QuarantineError
}

// String says it in a sentence.
func (e WaitEvent) String() string {
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

// ClockEvent is a jump of an instance's clock.
type ClockEvent struct {
	Instance string
	Jump     drift.Jump
}

// UnprotectedEvent says what an instance hides.
type UnprotectedEvent struct {
	Instance string
	Hidden   []string
}

// CannotNotifyEvent says why an instance can't call waiters.
type CannotNotifyEvent struct {
	Instance string
	Err      error
}

// And gives hooks that tell both: h first, then other. What neither wants stays
// nil and costs nothing.
func (h Hooks) And(other Hooks) Hooks {
	return Hooks{
		RoundStarted: bothWithin(h.RoundStarted, other.RoundStarted),
		RoundDecided: bothWithin(h.RoundDecided, other.RoundDecided),
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
