package quorum

import (
	"context"
	"sync/atomic"
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
	err := l.giveBack(ctx)
	if released := l.hold.c.cfg.Hooks.Released; released != nil {
		before.Err = err
		released(ctx, before)
	}
	return err
}

// giveBack passes the lock on to the next in this process's line, or sets it free.
func (l *Lease) giveBack(ctx context.Context) error {
	locals, canCall := l.hold.c.locals, l.hold.c.canCall()
	if canCall {
		if s := locals.succeed(l); s != nil {
			if <-s.taken {
				locals.passed(l)
				return l.hold.await(s.answers)
			}
			// Who was to follow has given up.
		}
	}
	if !canCall || !locals.wanted(l) {
		err := l.hold.releaseAll(ctx, nil)
		locals.freed(l)
		return err
	}
	// This process has had its turns. Whoever is next here must know whether another
	// process was called, and is to be let in, before it tries.
	var left atomic.Int32
	left.Store(2)
	ready := func() {
		if left.Add(-1) == 0 {
			locals.freed(l)
		}
	}
	defer ready()
	return l.hold.releaseAll(ctx, ready)
}

// answer is what one instance says to a release.
type answer struct {
	i      int
	ballot Ballot
}

// releaseAll releases and returns as soon as the outcome is decided; the rest is
// done in the background. met is called when the instance at which waiters meet
// has answered.
func (h *hold) releaseAll(ctx context.Context, met func()) error {
	answers := make(chan answer, len(h.c.members))
	meeting := -1
	if met != nil {
		meeting = h.c.meetingPlace(h.key)
	}
	h.release(ctx, func(i int, b Ballot) {
		if b.Vote.Woke {
			h.c.locals.letIn(h.key)
		}
		if i == meeting {
			met()
		}
		answers <- answer{i, b}
	})
	return h.await(answers)
}

// await gives what a release comes to, from what the instances say.
func (h *hold) await(answers <-chan answer) error {
	n := len(h.c.members)
	ballots := h.c.pending()

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
