package quorum

import (
	"context"
	"sync"
	"sync/atomic"
)

// Release gives the lock back: it deletes the key on all instances where it may
// be, if it is still the lease's. It works on a context that has ended, too, and
// takes no longer than a few InstanceTimeouts.
//
// Nil means that a quorum still had it, or that it went to another goroutine of this
// process while it was valid (see Config.Cohorts). ErrNotHeld: it had expired or was taken
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
			switch <-s.taken {
			case followed:
				locals.passed(l)
				return s.ends.wait(l.hold)
			case inherited:
				locals.passed(l)
				return nil
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

// releaseAll releases and returns as soon as the outcome is decided; the rest is
// done in the background. met, if not nil, is called when the instance at which
// waiters meet has answered.
func (h *hold) releaseAll(ctx context.Context, met func()) error {
	r, meeting := newReturns(h), -1
	if met != nil {
		meeting = h.c.meetingPlace(h.key)
	}
	h.release(context.WithoutCancel(ctx), r.deletions, func(i int, b Ballot) {
		if b.Vote.Woke {
			h.c.locals.letIn(h.key)
		}
		if i == meeting {
			met()
		}
		r.count(i, b)
	})
	return r.wait(h)
}

// returns is what the instances say to a release.
type returns struct {
	decided chan struct{} // closed when the outcome is certain

	mu      sync.Mutex
	over    bool
	tally   Tally
	ballots []Ballot

	deletions []deletion // room for them
}

// returnsRoom is returns and what they have of each instance in one piece of memory.
type returnsRoom struct {
	returns
	ballotRoom   [usual]Ballot
	deletionRoom [usual]deletion
}

func newReturns(h *hold) *returns {
	r := &returnsRoom{returns: returns{tally: Tally{Majority: h.c.majority}, decided: make(chan struct{})}}
	n := len(h.c.members)
	r.ballots = h.c.pending(room(r.ballotRoom[:], n))
	r.deletions = room(r.deletionRoom[:], n)
	return &r.returns
}

// wait gives what the release comes to. It is not cut short by a context: every
// answer is under a time-out, and a caller that was cancelled still has to learn
// whether it held the lock.
func (r *returns) wait(h *hold) error {
	<-r.decided
	return r.verdict(h)
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
