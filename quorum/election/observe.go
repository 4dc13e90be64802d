package election

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
)

// Leader is who led when the servers were asked. It is for people, dashboards and clients that
// look for the leader. A leader that is paused or cut off doesn't know that it is over, so only
// the term that it shows to a resource decides.
type Leader struct {
	// ID is the leader's Config.Owner, empty if it has none.
	ID string
	// Remaining is how long the leader's keys keep a quorum unless it extends its lease. Its own
	// term is shorter.
	Remaining time.Duration
	// TermAtMost bounds the number of the leader's term: the servers' counters also count
	// candidates that were refused. So don't show it to a guard, which would then refuse the
	// leader. Where this candidate leads, it is the term's number.
	TermAtMost fencing.Token

	value string // of the lease
}

// Leader asks the servers who leads. The error Is ErrNoLeader if no candidate has a quorum of
// them; otherwise it is Coordinator.Inspect's (quorum.ErrNoQuorum, ErrInterrupted, ErrClosed).
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	if e.none() {
		return Leader{}, errNoElection
	}
	found, err := e.locks.Inspect(ctx, e.name)
	if err != nil {
		return Leader{}, fmt.Errorf("election %q: %w", e.name, err)
	}
	held := found.Held()
	if held == nil {
		return Leader{}, fmt.Errorf("%w (%q)", ErrNoLeader, e.name)
	}
	leader := Leader{ID: held.Owner, Remaining: held.Remaining, TermAtMost: found.Token, value: held.Value}
	if t := e.leading(); t != nil && t.lease.Value() == held.Value {
		leader.TermAtMost = t.lease.Token()
	}
	return leader, nil
}

// Observe asks who leads every Config.ObserveEvery, and yields at each change: a leader with a
// new term, or an error if there is none (ErrNoLeader) or the servers can't tell. It begins with
// the present state, and repeats no state. It misses a term that begins and ends between two
// looks, and takes two candidates of one Coordinator for one if the second got the lock from the first. It ends when ctx ends or the loop is left, and with quorum.ErrClosed.
//
//	for leader, err := range e.Observe(ctx) {
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		if e.none() {
			yield(Leader{}, errNoElection)
			return
		}
		var value, failure string
		for {
			leader, err := e.Leader(ctx)
			if ctx.Err() != nil {
				return
			}
			if was, kind := failure, kindOf(err); leader.value != value || kind != was {
				value, failure = leader.value, kind
				if !yield(leader, err) || errors.Is(err, quorum.ErrClosed) {
					return
				}
			}
			select {
			case <-e.locks.Config().Lab.Clock.After(e.cfg.ObserveEvery):
			case <-ctx.Done():
				return
			}
		}
	}
}

// kindOf tells states without a leader apart. The texts of errors differ from look to look.
func kindOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrNoLeader):
		return "none"
	case errors.Is(err, quorum.ErrClosed):
		return "closed"
	default:
		return "unknown"
	}
}
