package quorum

import (
	"context"
	"sync"
)

// Release gives the lock back: it deletes the key on all instances where it may
// be, if it is still the lease's. It works on a context that has ended, too, and
// takes no longer than a few InstanceTimeouts.
//
// Nil means that a quorum still had it. ErrNotHeld: it had expired or was taken
// over on so many instances that the holder had no lock any more; what it did may
// have met with another's work. ErrUnreachable: too few answered to tell; the
// deletes are owed, and delivered when the instances answer again. ErrReleased:
// it was released before.
func (l *Lease) Release(ctx context.Context) error {
	l.mu.Lock()
	again := l.released
	l.released = true
	l.mu.Unlock()
	if again {
		return &RoundError{Op: Release, Key: l.Key(), Verdict: ErrReleased, Quorum: l.hold.c.majority.Q}
	}
	before := l.event(nil)
	// The holder's contexts end before the first delete is sent: nobody else can
	// have the lock while they run.
	l.end(ErrReleased)
	err := l.hold.releaseAll(ctx)
	l.hold.c.locals.freed(l)
	if released := l.hold.c.cfg.Hooks.Released; released != nil {
		before.Err = err
		released(ctx, before)
	}
	return err
}

// releaseAll releases and returns as soon as the outcome is decided; the rest is
// done in the background.
func (h *hold) releaseAll(ctx context.Context) error {
	r := &returns{tally: Tally{Majority: h.c.majority}, ballots: h.c.pending(), decided: make(chan struct{})}
	h.release(ctx, r.count)
	// Not cut short by ctx: every answer is under a time-out, and a caller that was
	// cancelled still has to learn whether it held the lock.
	<-r.decided
	return r.verdict(h)
}

// returns is what the instances say to a release.
type returns struct {
	decided chan struct{} // closed when the outcome is certain

	mu      sync.Mutex
	over    bool
	tally   Tally
	ballots []Ballot
}

func (r *returns) count(i int, ballot Ballot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.ballots[i] = ballot
	r.tally.Count(ballot.Vote.Outcome)
	if r.certain() {
		r.over = true
		close(r.decided)
	}
}

// certain reports whether no answer to come changes the outcome. That it wasn't
// held is what the holder must hear, so an answer that may still prove it is waited
// for although the quorum is out of reach.
func (r *returns) certain() bool {
	t := &r.tally
	pending := t.N - t.Granted - t.Refused - t.Failed
	return t.Verdict() == Won || t.Refused >= t.Blocking() || t.Verdict() == Lost && t.Refused+pending < t.Blocking()
}

func (r *returns) verdict(h *hold) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tally.Verdict() == Won {
		return nil
	}
	verdict := ErrUnreachable
	if r.tally.Refused >= r.tally.Blocking() {
		verdict = ErrNotHeld
	}
	return &RoundError{Op: Release, Key: h.key, Verdict: verdict, Quorum: h.c.majority.Q, Votes: r.ballots}
}
