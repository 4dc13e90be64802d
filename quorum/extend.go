package quorum

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// Extend gives the lease its TTL (Terms.TTL) from now on. It needs a quorum of instances that are not in
// quarantine and on which the key is still the lease's. It also restores the lease on instances
// that lack it (after a restart, after a late grant, or after another client's key expired).
// These never count towards the quorum: otherwise an expired lease could be revived under an
// old token.
//
// The new validity counts from just before the extension was sent. If the extension isn't won, or
// Terms.MaxLife leaves nothing to gain, the error Is ErrNotExtended and the old deadline stands. In
// the first case another try may succeed. If so many instances say that the key is not the lease's
// that no quorum can have it, the lease ends at once, and the error Is ErrLost.
// After the deadline the error is ErrExpired, and no instance is asked. Other errors:
// ErrReleased, ErrHandedOff and ErrClosed if that ended the lease, ErrConfig for a nil lease,
// and ErrInterrupted with ctx's error, after which the outcome is unknown and the old deadline
// stands.
func (l *Lease) Extend(ctx context.Context) error {
	if l.none() {
		return errNoLease
	}
	return l.extend(ctx, 0)
}

// Keep is Extend, and has the keys stay for at least d from this extension and from each later one: then no
// other client gets the lock for that long, also if the lease is left (Leave) or the process ends.
// d may be longer than MaxTTL: whole milliseconds, at least Terms.TTL, at most ten years. The lease itself
// is valid for no longer than without Keep, and a Release frees the lock as ever. Terms.MaxLife doesn't
// hinder Keep. A lease that is handed off forgets d.
//
// Beyond MaxTTL what stays is no lease: a server that lost its data votes again after its quarantine.
// Package once says what can be built on it, for a job that must not be begun again. Errors are those of
// Extend, and ErrConfig for d. After an error the keys may stay where the extension arrived.
func (l *Lease) Keep(ctx context.Context, d time.Duration) error {
	if l.none() {
		return errNoLease
	}
	if err := validMillis("Keep's time", d); err != nil {
		return err
	}
	if d < l.terms.TTL {
		return fmt.Errorf("%w: Keep's time is %v, want at least TTL, which is %v", ErrConfig, d, l.terms.TTL)
	}
	return l.extend(ctx, d)
}

// extend extends the lease. If keep isn't zero, the extension is sent also if the lease gains nothing
// from it.
func (l *Lease) extend(ctx context.Context, keep time.Duration) error {
	if err := l.beginExtension(ctx); err != nil {
		return err
	}
	defer l.endExtension()
	if ctx.Err() != nil {
		return l.extendError(ErrInterrupted, causeOf(ctx), nil)
	}
	decided := make(chan *extension, 1)
	e, err := l.newExtension(ctx, keep, l.state.c.cfg.InstanceTimeout, decided)
	if err != nil {
		return err
	}
	l.state.c.send(e)
	select {
	case <-decided:
		return e.conclude(ctx, e.result())
	case <-ctx.Done():
		// It may still be won, but the holder doesn't learn that, and so must not count on
		// it.
		return e.conclude(ctx, l.extendError(ErrInterrupted, causeOf(ctx), e.snapshot()))
	}
}

// extension is a poll to extend a lease.
type extension struct {
	poll
	lease   *Lease
	cmd     wire.Request
	length  time.Duration // the validity that it gives, from start on
	capped  bool          // Terms.MaxLife has cut it
	start   drift.Instant
	timeout time.Duration     // of each request
	done    chan<- *extension // gets the extension; has room for it
}

// extensionBuffer is an extension and its ballots and requests in one piece of memory.
type extensionBuffer struct {
	extension
	ballotBuffer  [bufferedInstances]Ballot
	requestBuffer [bufferedInstances]request
}

// newExtension makes an extension to the terms' TTL, cut by MaxLife, or says why none is to be sent.
// The caller has begun the extension (beginExtension), so the cut is computed when the extension is
// sent, and not before a wait. timeout bounds each request to each instance.
func (l *Lease) newExtension(ctx context.Context, keep, timeout time.Duration, done chan<- *extension) (*extension, error) {
	c := l.state.c
	ttl, more := l.nextTTL()
	//guard:kept-is-no-lease  the time for which Keep has the keys stay is no validity
	length := c.cfg.Drift.Validity(ttl, 0)
	switch {
	//guard:expired-not-extended  a lease that has expired is not extended
	case l.Validity() <= 0:
		return nil, l.Err()
	//guard:extension-never-shortens  an extension that is shorter than the validity that is left isn't sent
	case !more && keep == 0:
		// It would leave the keys with less time than the holder was promised, even if
		// only a minority took it.
		return nil, l.extendError(fmt.Errorf("%w: its life may not exceed MaxLife, %v", ErrNotExtended, l.terms.MaxLife), nil, nil)
	}
	capped := ttl < l.terms.TTL
	l.mu.Lock()
	l.keep = max(l.keep, keep)
	//guard:kept-stays-kept  a later extension doesn't shorten the time for which Keep has the keys stay
	ttl = max(ttl, l.keep)
	l.mu.Unlock()
	c.tellStart(ctx, wire.Extend, l.state.keys, 1)
	e := &extensionBuffer{extension: extension{lease: l, length: length, capped: capped, timeout: timeout, done: done}}
	n := len(c.members)
	e.poll.init(l.state, context.WithoutCancel(ctx), &e.extension, buffer(e.ballotBuffer[:], n), buffer(e.requestBuffer[:], n))
	//guard:restore-is-no-grant  an instance where the lease is put back doesn't count for the extension
	//guard:extension-of-all  an instance counts for an extension only with all keys of the lease
	e.cmd = wire.Request{Op: wire.Extend, Key: e.state.key, Also: e.state.also, Value: e.state.value, TTL: ttl}
	return &e.extension, nil
}

// nextTTL is the TTL for an extension, within Terms.MaxLife; more is false if that leaves nothing to
// gain. Only a TTL that MaxLife has cut can leave nothing: no lease is valid for longer than its own TTL
// gives, and a lease that was resumed has the TTL of its handle.
func (l *Lease) nextTTL() (ttl time.Duration, more bool) {
	ttl = l.terms.TTL
	//guard:max-life  MaxLife bounds a lease that is kept alive
	if l.terms.MaxLife == 0 {
		return ttl, true
	}
	lived := drift.Elapsed(l.acquired, l.state.c.reader.Now())
	ttl = min(ttl, l.terms.MaxLife-lived).Truncate(time.Millisecond)
	if ttl == l.terms.TTL {
		return ttl, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	more = ttl > 0 && l.state.c.cfg.Drift.Validity(ttl, 0) > l.leftLocked()
	l.capped = l.capped || !more
	return ttl, more
}

// send sends one extension or several, to one instance after the other, so that each instance can
// carry them in one exchange.
func (c *core) send(all ...*extension) {
	//guard:extension-start  an extension reads the clocks before it sends anything
	start := c.reader.Now() // before anything is sent: no key lives shorter than its TTL from here
	for i := range c.members {
		for _, e := range all {
			e.sendTo(i, start)
		}
	}
	for _, e := range all {
		e.start = start
		e.moveOn()
	}
}

func (e *extension) sendTo(i int, now drift.Instant) {
	if e.state.crowded(i) {
		e.mu.Lock()
		e.countLocked(i, Ballot{Instance: e.state.c.members[i].name, Vote: wire.Vote{Unsent: true, Err: ErrOverloaded}})
		e.mu.Unlock()
		return
	}
	e.requests[i].timeout = e.timeout
	e.ask(i, now)
}

func (e *extension) firstRequest(i int) (*wire.Request, use) {
	if e.state.presence(i).Absent() {
		return nil, sentAnyway
	}
	return &e.cmd, sentAnyway
}

func (e *extension) answered(i int, second bool, ballot Ballot) {
	if !second {
		e.state.noteAnswer(i, wire.Extend, ballot.Vote)
		if ballot.Vote.Outcome == wire.Failed && !ballot.Vote.Unsent && !e.requests[i].carriedOut {
			e.state.noteLate(i, e.cmd.TTL)
		}
		return
	}
	e.state.noteAnswer(i, wire.Restore, ballot.Vote)
	if ballot.Vote.Outcome == wire.Granted {
		e.state.noteToken(i)
	}
}

// count takes in a vote. An instance keeps the key for what it granted only if nothing shortens it:
// an extension sets the TTL at its arrival. If an earlier one has no answer and a shorter TTL than one
// by Keep, it may arrive after that one, when the instance has hung. With an equal or a longer TTL the
// key only lives longer.
func (e *extension) count(i int, vote *wire.Vote) {
	//guard:late-shorter-extension  an instance at which a shorter extension may still arrive doesn't count for a longer one
	if late := e.state.shorter(i, e.cmd.TTL); late > 0 && vote.Outcome == wire.Granted {
		*vote = wire.Vote{Err: fmt.Errorf("%w: an earlier extension, to %v, which may still arrive and shorten this one, to %v", ErrTimeout, late, e.cmd.TTL)}
	}
	open := e.tally.Verdict() == majority.Pending
	if e.tally.Count(vote.Outcome) != majority.Pending && open {
		e.done <- e
	}
}

// secondRequest restores the lease on an instance that lacks it. Only a lease that was extended
// is restored, because the keys of any other would only block other clients. No lease is
// restored after its release.
func (e *extension) secondRequest(i int) (cmd *wire.Request, open bool) {
	cfg := &e.state.c.cfg
	//guard:restore-if-extended  an extension that failed puts nothing back
	//guard:restore-where-lacking  an extension puts the lease back where it is lacking
	restores := e.tally.Verdict() == majority.Won && e.state.needsRestore(i)
	if !restores {
		return nil, e.tally.Verdict() == majority.Pending
	}
	return &wire.Request{
		//guard:restore-of-all  a lease on several keys is put back with all of them
		Op: wire.Restore, Key: e.state.key, Also: e.state.also, Value: e.state.value, TTL: e.cmd.TTL,
		Fence: wire.Fence{On: cfg.Fencing == On, Token: e.lease.token, TTL: cfg.CounterTTL, Ahead: cfg.ahead()},
	}, false
}

// conclude reports how the extension ended.
func (e *extension) conclude(ctx context.Context, err error) error {
	l, hooks := e.lease, &e.state.c.cfg.Hooks
	if hooks.RoundDecided != nil {
		took := drift.Elapsed(e.start, e.state.c.reader.Now())
		hooks.RoundDecided(ctx, RoundEnd{Op: wire.Extend, Key: l.state.key, Also: slices.Clone(l.state.also), Try: 1, Started: e.start.Wall, Took: took, Validity: l.Validity(), Ballots: e.snapshot(), Err: err})
	}
	if err == nil && hooks.Extended != nil {
		hooks.Extended(ctx, l.event(nil))
	}
	return err
}

// result carries out the verdict.
func (e *extension) result() error {
	l := e.lease
	e.mu.Lock()
	tally := e.tally
	e.mu.Unlock()
	//guard:extension-needs-quorum  only a quorum extends a lease
	if tally.Verdict() == majority.Lost {
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
	return e.prolong()
}

// prolong sets the new deadline, unless the lease has ended meanwhile.
func (e *extension) prolong() error {
	l := e.lease
	//guard:late-replies  replies that come after the deadline extend nothing
	if l.Validity() <= 0 {
		return l.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	//guard:over-stays-over  a lease that was said to be over stays over
	if l.stage != held {
		return l.over
	}
	start, length := e.start, e.length
	if length-drift.Elapsed(start, l.state.c.reader.Now()) <= 0 {
		return l.extendError(fmt.Errorf("%w: %w", ErrNotExtended, ErrTooSlow), nil, e.snapshot())
	}
	if length-drift.Elapsed(start, l.state.c.reader.Now()) < l.leftLocked() {
		return nil // Keep had no more time to give
	}
	//guard:extension-from-send  the new validity counts from before the extension was sent
	l.start, l.length, l.capped = start, length, l.capped || e.capped
	return nil
}

func (l *Lease) extendError(verdict, cause error, votes []Ballot) *RoundError {
	err := l.state.c.roundError(wire.Extend, l.state.keys, verdict)
	err.Cause, err.Votes = cause, votes
	return err
}
