package quorum

import "context"

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
	type answer struct {
		i      int
		ballot Ballot
	}
	n := len(h.c.members)
	answers := make(chan answer, n)
	ballots := h.c.pending()
	h.release(ctx, func(i int, b Ballot) { answers <- answer{i, b} })

	tally := Tally{Majority: h.c.majority}
	// That it wasn't held is what the holder must hear, so an answer that may
	// still prove it is waited for although the quorum is out of reach.
	certain := func(pending int) bool {
		return tally.Verdict() == Won || tally.Refused >= tally.Blocking() || tally.Verdict() == Lost && tally.Refused+pending < tally.Blocking()
	}
	for pending := n; !certain(pending); pending-- {
		// Not cut short by ctx: every answer is under a time-out, and a caller
		// that was cancelled still has to learn whether it held the lock.
		a := <-answers
		ballots[a.i] = a.ballot
		tally.Count(a.ballot.Vote.Outcome)
	}
	if tally.Verdict() == Won {
		return nil
	}
	verdict := ErrUnreachable
	if tally.Refused >= tally.Blocking() {
		verdict = ErrNotHeld
	}
	return &RoundError{Op: Release, Key: h.key, Verdict: verdict, Quorum: h.c.majority.Q, Votes: ballots}
}
