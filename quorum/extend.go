package quorum

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// Extend gives the lease a new TTL from now. It needs a quorum of instances that are not in
// quarantine and on which the key is still the lease's. It also restores the lease on instances
// that lack it (after a restart, after a late grant, or after another client's key expired).
// These never count towards the quorum: otherwise an expired lease could be revived under an
// old token.
//
// The new validity counts from just before the extension was sent. If the extension isn't won,
// or Terms.MaxLife leaves nothing to gain, the error Is ErrNotExtended and the old deadline
// stands. In the first case another try may succeed. If so many instances say that the key is
// not the lease's that no quorum can have it, the lease ends at once, and the error Is ErrLost.
// After the deadline the error is ErrExpired, and no instance is asked. Other errors:
// ErrReleased, ErrHandedOff and ErrClosed if that ended the lease, ErrConfig for a nil lease,
// and ErrInterrupted with ctx's error, after which the outcome is unknown and the old deadline
// stands.
func (l *Lease) Extend(ctx context.Context) error {
	if l == nil {
		return errNoLease
	}
	if _, more := l.nextTTL(); !more && l.Validity() > 0 {
		return l.extendError(fmt.Errorf("%w: its life may not exceed MaxLife, %v", ErrNotExtended, l.terms.MaxLife), nil, nil)
	}
	// Capped as in KeepAlive: a short extension by KeepAlive that arrives late must not leave
	// the key with less time than a longer one promised.
	return l.extend(ctx, l.cappedTTL, l.state.c.cfg.InstanceTimeout)
}

// extend calls askTTL when no other extension is under way, because MaxLife leaves less with
// time. timeout bounds each request to each instance.
func (l *Lease) extend(ctx context.Context, askTTL func() time.Duration, timeout time.Duration) error {
	extending := l.extensions()
	select {
	case extending <- struct{}{}:
		defer func() { <-extending }()
	case <-l.ended():
		return l.Err()
	case <-ctx.Done():
		return l.extendError(ErrInterrupted, causeOf(ctx), nil)
	}
	if ctx.Err() != nil {
		return l.extendError(ErrInterrupted, causeOf(ctx), nil)
	}
	c := l.state.c
	left := l.Validity()
	ttl := askTTL()
	length := c.cfg.Drift.Validity(ttl, 0)
	switch {
	//guard:expired-not-extended  a lease that has expired is not extended
	case left <= 0:
		return l.Err()
	//guard:extension-never-shortens  an extension that is shorter than the validity that is left isn't sent
	case length < left:
		// It would leave the keys with less time than the holder was promised, even if
		// only a minority took it.
		return nil
	}
	if c.cfg.Hooks.RoundStarted != nil {
		c.cfg.Hooks.RoundStarted(ctx, RoundStart{Op: wire.Extend, Key: l.Key(), Try: 1})
	}
	//guard:extension-start  an extension reads the clocks before it sends anything
	start := c.reader.Now() // before anything is sent: no key lives shorter than ttl from here
	e := l.newExtension(ctx, ttl, timeout)
	e.run(start)
	err := e.decide(ctx, start, length)
	if c.cfg.Hooks.RoundDecided != nil {
		took := drift.Elapsed(start, c.reader.Now())
		c.cfg.Hooks.RoundDecided(ctx, RoundEnd{Op: wire.Extend, Key: l.Key(), Try: 1, Started: start.Wall, Took: took, Validity: l.Validity(), Ballots: e.snapshot(), Err: err})
	}
	if err == nil && c.cfg.Hooks.Extended != nil {
		c.cfg.Hooks.Extended(ctx, l.event(nil))
	}
	return err
}

// extension is a poll to extend a lease.
type extension struct {
	poll
	lease   *Lease
	ttl     time.Duration
	timeout time.Duration
	verdict majority.Verdict // guarded by the poll's lock
}

func (l *Lease) newExtension(ctx context.Context, ttl, timeout time.Duration) *extension {
	e := &extension{lease: l, ttl: ttl, timeout: timeout}
	n := len(l.state.c.members)
	e.poll.init(l.state, context.WithoutCancel(ctx), e, make([]Ballot, n), make([]part, n))
	return e
}

func (e *extension) run(start drift.Instant) {
	for i := range e.parts {
		t := e.part(i)
		t.request.timeout = e.timeout
		if e.state.crowded(i) {
			e.mu.Lock()
			e.countLocked(i, Ballot{Instance: e.state.c.members[i].name, Vote: wire.Vote{Unsent: true, Err: ErrOverloaded}})
			e.mu.Unlock()
			continue
		}
		e.ask(i, start)
	}
	e.moveOn()
}

func (e *extension) firstRequest(i int) (wire.Request, use, wire.Outcome) {
	if e.state.presence(i).Absent() {
		return wire.Request{}, oldVote, wire.Refused
	}
	//guard:restore-is-no-grant  an instance where the lease is put back doesn't count for the extension
	return wire.Request{Op: wire.Extend, Key: e.state.key, Value: e.state.value, TTL: e.ttl}, oldVote, wire.Failed
}

func (e *extension) answered(i int, second bool, ballot Ballot) {
	if !second {
		e.state.note(i, wire.Extend, ballot.Vote)
		return
	}
	e.state.note(i, wire.Restore, ballot.Vote)
	if ballot.Vote.Outcome == wire.Granted {
		e.state.settle(i)
	}
}

func (e *extension) count(_ int, vote *wire.Vote) {
	verdict := e.tally.Count(vote.Outcome)
	if e.verdict == majority.Pending && verdict != majority.Pending {
		e.verdict = verdict
		close(e.decided)
	}
}

func (e *extension) open() bool { return e.verdict == majority.Pending }

// secondRequest restores the lease on an instance that lacks it. Only a lease that was extended
// is restored, because the keys of any other would only block other clients. No lease is
// restored after its release.
func (e *extension) secondRequest(i int) (wire.Request, bool) {
	cfg := &e.state.c.cfg
	//guard:restore-if-extended  an extension that failed puts nothing back
	//guard:restore-where-lacking  an extension puts the lease back where it is lacking
	restores := e.verdict == majority.Won && e.state.needsRestore(i)
	return wire.Request{
		Op: wire.Restore, Key: e.state.key, Value: e.state.value, TTL: e.ttl,
		Fence: wire.Fence{On: cfg.Fencing == On, Token: e.lease.token, TTL: cfg.CounterTTL, Set: cfg.Set, Ahead: cfg.ahead()},
	}, restores
}

// decide waits for the verdict and carries it out.
func (e *extension) decide(ctx context.Context, start drift.Instant, length time.Duration) error {
	l := e.lease
	select {
	case <-e.decided:
	case <-ctx.Done():
		// It may still be won, but the holder doesn't learn that, and so must not count on
		// it.
		return l.extendError(ErrInterrupted, causeOf(ctx), e.snapshot())
	}
	e.mu.Lock()
	verdict, tally := e.verdict, e.tally
	e.mu.Unlock()
	//guard:extension-needs-quorum  only a quorum extends a lease
	if verdict == majority.Lost {
		// So many instances say "not yours" that certainly no quorum has it. The holder
		// must not go on until the deadline.
		if tally.RefusalsDecide() {
			err := l.extendError(ErrLost, nil, e.snapshot())
			if !l.end(err) {
				return l.Err() // over before: it was released, and not lost
			}
			return err
		}
		//guard:failed-extension-keeps  a lease that couldn't be extended keeps its keys until its deadline
		return l.extendError(ErrNotExtended, nil, e.snapshot())
	}
	return l.prolong(start, length, e)
}

// prolong sets the new deadline, unless the lease has ended meanwhile.
func (l *Lease) prolong(start drift.Instant, length time.Duration, e *extension) error {
	//guard:late-replies  replies that come after the deadline extend nothing
	if l.Validity() <= 0 {
		return l.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	//guard:over-stays-over  a lease that was said to be over stays over
	if l.over != nil {
		return l.over
	}
	if length-drift.Elapsed(start, l.state.c.reader.Now()) <= 0 {
		return l.extendError(fmt.Errorf("%w: %w", ErrNotExtended, ErrTooSlow), nil, e.snapshot())
	}
	//guard:extension-from-send  the new validity counts from before the extension was sent
	l.start, l.length = start, length
	return nil
}

func (l *Lease) extendError(verdict, cause error, votes []Ballot) *RoundError {
	return &RoundError{Op: wire.Extend, Key: l.Key(), Verdict: verdict, Cause: cause, Quorum: l.state.c.majority.Q, Votes: votes}
}
